/**
 * Two machines without Node, npm and Python, and a cable between them: one becomes a relay as the tutorial says, and the
 * other gets a tunnel from an invitation. A third try has relay and client on one machine, as the first tutorial says.
 */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { notRun } from '../../shared/testing/posix.ts';
import { VERSION } from '../../shared/version.ts';
import { CHROMIUM, launchTrustingBrowser } from '../support/browser.ts';
import { Authority } from '../support/certificates.ts';
import { eventually } from '../support/deadline.ts';
import { emptySystem } from '../support/empty-system.ts';
import { hasNamespaces, Machine } from '../support/machine.ts';
import { commandsOf } from '../support/page-commands.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { DEBIAN_ARCHITECTURE, madePrograms, SYSTEM } from './made-programs.ts';

const STEP_MS = 600_000;
const TUTORIAL = 'start/your-own-relay.md';
const [RELAY_ADDRESS, CLIENT_ADDRESS] = ['192.0.2.1', '192.0.2.2'];
const HOSTS = `127.0.0.1 localhost\n${RELAY_ADDRESS} relay.test hello.tunnels.test\n`;
const AUTHORITY = '/usr/local/share/ca-certificates/test.crt';

describe('a machine without Node', function () {
  this.timeout(STEP_MS);
  const scope = suiteScope();
  let relay: Machine;
  let client: Machine;
  let browser: Browser;
  let authority: Authority;

  before(async function () {
    if (!hasNamespaces()) notRun(this, 'no namespaces here');
    const files = await emptySystem();
    const booted = await Promise.all([Machine.boot(scope, files), Machine.boot(scope, files)]);
    const [first = notRun(this, 'no namespaces here'), second = notRun(this, 'no namespaces here')] = booted;
    [relay, client] = [first, second];
    relay.connect(client, RELAY_ADDRESS, CLIENT_ADDRESS);
    authority = new Authority(scope);
    for (const { root } of booted.filter((machine) => machine !== undefined))
      writeFileSync(join(root, 'etc/hosts'), HOSTS);
    // A browser on the second machine, whose program is this one's.
    const program = join(temporaryDirectory(scope), 'chromium');
    writeFileSync(program, `#!/bin/sh\nexec nsenter --target ${client.pid} --net -- ${CHROMIUM} "$@"\n`, {
      mode: 0o755,
    });
    browser = await launchTrustingBrowser(scope, authority.pem.toString(), RELAY_ADDRESS, program);
    await client.type('useradd --create-home --shell /bin/sh ann');
  });

  /** Runs commands in a login shell of ann, on her machine. */
  function typeAsAnn(commands: string): Promise<string> {
    writeFileSync(join(client.root, 'home/ann/commands'), commands);
    return client.type('runuser -l ann -c "sh -e commands"', '/home/ann');
  }

  async function open(url: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(url);
    return page;
  }

  it('has nothing to run scripts with', async () => {
    for (const name of ['node', 'npm', 'python3', 'culvert'])
      assert.equal((await client.run('/', 'sh', '-c', `command -v ${name}`)).out, '');
  });

  it('becomes a relay as the tutorial says', async () => {
    const name = `culvert-relay_${VERSION}_${DEBIAN_ARCHITECTURE}.deb`;
    copyFileSync(join(madePrograms(), name), join(relay.root, 'root', name));
    for (const commands of commandsOf(TUTORIAL, '3. Install it')) await relay.type(commands);
    const files = authority.issue('relay.test', '*.tunnels.test');
    for (const [kind, file] of Object.entries(files))
      copyFileSync(file, join(relay.root, `etc/culvert/${kind}.pem`));
    await relay.type('chown culvert /etc/culvert/*.pem');
    const [settings = ''] = commandsOf(TUTORIAL, '5. Configure the relay');
    await relay.type(
      settings
        .replaceAll('example.com', 'test')
        // An authority on the internet issues no certificates here.
        .replace(
          /^CULVERT_ACME_EMAIL=.*$/m,
          'CULVERT_TLS_CERT=/etc/culvert/cert.pem\nCULVERT_TLS_KEY=/etc/culvert/key.pem',
        ),
    );
    const [start = ''] = commandsOf(TUTORIAL, '6. Start it');
    await relay.type(start);
    await eventually(STEP_MS, async () => assert.match(await relay.type(start), /"msg":"listening"/));
    const [, key = ''] = commandsOf(TUTORIAL, '7. Check it');
    assert.match(await relay.type(key), /^cvt_/);
  });

  it('gets a tunnel from an invitation', async () => {
    copyFileSync(authority.path, join(client.root, AUTHORITY));
    await client.type('update-ca-certificates');
    await typeAsAnn(`echo 'export CULVERT_CA=${AUTHORITY} PATH="$HOME/.local/bin:$PATH"' >>~/.profile
      mkdir site && echo '<!doctype html><title>My work</title>' >site/index.html`);
    const invitation = await relay.type('relay invite create --account ann');
    const begun = performance.now();
    const page = await open(invitation.trim().split('\n').at(-1) ?? '');
    const line = await page.getByText(/^curl .*install\.sh \| sh -s -- /).textContent();
    await typeAsAnn(line ?? '');
    const installed = performance.now();
    await typeAsAnn('nohup culvert share site --name hello >log 2>&1 </dev/null & echo $! >client');
    await eventually(STEP_MS, async () =>
      assert.match(await typeAsAnn('cat log'), /https:\/\/hello\.tunnels\.test/),
    );
    const visited = await open('https://hello.tunnels.test/');
    assert.equal(await visited.title(), 'My work');
    const [install, rest] = [installed - begun, performance.now() - installed].map((ms) =>
      (ms / 1000).toFixed(1),
    );
    console.log(
      `      from the invitation to the program: ${install} s, and to the page in Chromium: ${rest} s`,
    );
  });

  it('runs relay and client side by side, as the tutorial about the first tunnel says', async () => {
    const page = 'start/first-tunnel.md';
    for (const part of [`culvert-relay-${SYSTEM}`, 'downloads'])
      cpSync(join(madePrograms(), part), join(client.root, 'home/ann/dist-programs', part), {
        recursive: true,
      });
    const [start = '', install = ''] = commandsOf(page, '2. Start a relay');
    await typeAsAnn('kill $(cat client)');
    await eventually(STEP_MS, () => typeAsAnn('! kill -0 $(cat client) 2>/dev/null && rm -r .config .local'));
    await typeAsAnn(`nohup ${start.trim()} >relay-log 2>&1 </dev/null &`);
    await eventually(STEP_MS, async () => assert.match(await typeAsAnn('cat relay-log'), /^listening on /m));
    await typeAsAnn(install);
    const [folder = ''] = commandsOf(page, '3. Start a site');
    // There is no Python here.
    await typeAsAnn(folder.replace(/^python3 .*$/m, ''));
    // Without a terminal, the key is in a file.
    await typeAsAnn('culvert login --relay http://localhost:8080 <.culvert/first-key');
    const [, request = ''] = commandsOf(page, '4. Open the tunnel');
    await typeAsAnn('nohup culvert share hello --name hello >log 2>&1 </dev/null &');
    await eventually(STEP_MS, async () => assert.equal(await typeAsAnn(request), 'Hello from my laptop'));
    assert.match(await typeAsAnn('culvert inspect'), /GET +\/ +200/);
  });
});
