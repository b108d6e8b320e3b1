/**
 * `culvert service` under systemd: a user manager of its own, in a mount namespace in which systemd looks booted. Needs
 * root for that. launchd and the Task Scheduler are not run; their definitions are checked by parsers for their formats.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { notRun } from '../../shared/testing/posix.ts';
import { launchAgent, scheduledTask, systemdUnit } from '../../desktop/cli/service/system-services.ts';
import { createAccount } from '../support/accounts.ts';
import { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { hasNamespaces, insideOf } from '../support/machine.ts';
import { CULVERT_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { startEchoService } from '../support/services/echo.ts';

const NASTY = 'a b %h $HOME ${X} "q" \'r\' é <&>';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where the manager sees the project: programs below /tmp, where a checkout may be, cannot be services. */
const SEEN = '/mnt';
const NODE = seen(process.execPath);
const PROGRAM = seen(CULVERT_SCRIPT);
const MANAGER =
  'mount --bind "$PROJECT" "$SEEN" && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR" && exec /lib/systemd/systemd --user';
const WAIT_MS = 60_000;

function seen(path: string): string {
  return path.startsWith(ROOT) ? join(SEEN, path.slice(ROOT.length)) : path;
}

/** A machine with a user manager. Commands run beside it, with a home that is not that of the test. */
async function startManager(scope: Scope) {
  const home = join(temporaryDirectory(scope), NASTY);
  mkdirSync(home);
  const environment = { PATH: process.env['PATH'], HOME: home, XDG_RUNTIME_DIR: '/run/culvert-test' };
  const manager = new Child('unshare', ['--mount', 'sh', '-c', MANAGER], {
    environment: { ...environment, PROJECT: ROOT, SEEN },
  });
  scope.defer(() =>
    manager.stop('SIGTERM').then(
      () => undefined,
      () => undefined,
    ),
  );
  const run = insideOf(manager.pid, ['--mount'], environment);
  const isReady = async (): Promise<boolean> =>
    (await run('/', 'systemctl', '--user', 'show-environment')).code === 0;
  const started = await eventually(20_000, async () => {
    assert.ok(manager.hasExited || (await isReady()));
    return !manager.hasExited;
  }).catch(() => false);
  return { home, started, run };
}

describe('culvert service with systemd', () => {
  const { scope, relay } = relaySuite();
  let machine: Awaited<ReturnType<typeof startManager>>;
  let folder: string;
  let unit: string;
  let key: string;

  const culvert = (...args: string[]) => machine.run(folder, NODE, PROGRAM, 'service', ...args);
  const files = () =>
    readdirSync(machine.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const visitors = async (name: string) =>
    (await visit(relay.port, { host: `${name}.localhost:${relay.port}`, target: '/hello' })).status;
  const online = (name: string) => eventually(WAIT_MS, async () => assert.equal(await visitors(name), 200));

  before(async function () {
    if (!hasNamespaces()) notRun(this, 'needs root');
    machine = await startManager(scope);
    if (!machine.started) notRun(this, 'no namespaces here');
    ({ key } = await createAccount(relay));
    const { port } = await startEchoService(scope);
    folder = join(machine.home, `${NASTY}\n[Service]\nExecStart=/bin/false \\`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, 'culvert.yml'),
      `tunnels:\n  web: {port: ${port}, name: svc-web}\n  api: {port: ${port}, name: svc-api, auth: "ann:\${ANN_PASSWORD}"}\n`,
    );
    const config = join(machine.home, '.config', 'culvert');
    mkdirSync(config, { recursive: true, mode: 0o700 });
    writeFileSync(join(config, 'login.json'), JSON.stringify({ relay: relay.url, key }), { mode: 0o600 });
  });

  it('is not installed without the variables that culvert.yml uses, and writes nothing then', async () => {
    const before = files();
    const { code, err } = await culvert('install');
    assert.equal(code, 2);
    assert.match(err, /ANN_PASSWORD/);
    assert.deepEqual(files(), before);
    const { code: status, out } = await culvert('status', '--json');
    assert.equal(status, 1);
    assert.equal((JSON.parse(out) as { installed: boolean }).installed, false);
    assert.equal((await culvert('uninstall')).code, 0);
  });

  it('opens the tunnels of a folder with any name, and keeps secrets out of the unit', async () => {
    const { code, out, err } = await machine.run(
      folder,
      'env',
      'ANN_PASSWORD=correct horse',
      NODE,
      PROGRAM,
      'service',
      'install',
    );
    assert.equal(code, 0, err);
    const [, name = ''] = /^Service +(\S+)$/m.exec(out) ?? [];
    assert.match(out, /^Starts +now, and when you log in\. .*: sudo loginctl enable-linger /m);
    assert.match(out, /^Keeps +ANN_PASSWORD \(in .*\.json\)$/m);
    unit = join(machine.home, '.config', 'systemd', 'user', `${name}.service`);
    const text = readFileSync(unit, 'utf8');
    assert.doesNotMatch(text, /correct horse|cvt_/);
    assert.equal(text.match(/^ExecStart=/gm)?.length, 1);
    const record = join(machine.home, '.config', 'culvert', 'services', `${name}.json`);
    assert.equal(statSync(record).mode & 0o777, 0o600);
    await online('svc-web');
    await eventually(WAIT_MS, async () => assert.equal(await visitors('svc-api'), 401));
    const status = await culvert('status');
    assert.match(status.out, /^State +running$/m);
    assert.match(status.out, new RegExp(`^Log +journalctl --user -u ${name}$`, 'm'));
    assert.equal(status.code, 0);
  });

  const show = async (property: string) => {
    const wanted = [basename(unit), `--property=${property}`, '--value'];
    return (await machine.run('/', 'systemctl', '--user', 'show', ...wanted)).out.trim();
  };

  it('is started again after it was killed', async () => {
    process.kill(Number(await show('MainPID')), 'SIGKILL');
    await eventually(WAIT_MS, async () => assert.equal(await show('NRestarts'), '1'));
    await online('svc-web');
  });

  it('stays while the relay is away, and opens its tunnels when it starts before the relay', async () => {
    await relay.stop('SIGTERM');
    await machine.run('/', 'systemctl', '--user', 'restart', basename(unit));
    const pid = await show('MainPID');
    await relay.restart();
    await online('svc-web');
    assert.equal(await show('MainPID'), pid);
  });

  it('is updated and restarted if it is installed twice', async () => {
    const pid = await show('MainPID');
    writeFileSync(
      join(folder, 'culvert.yml'),
      'tunnels:\n  web: {port: 1, name: svc-web}\n  random: {port: 1}\n',
    );
    const { code, out, err } = await culvert('install', 'web', '--json');
    assert.equal(code, 0, err);
    assert.deepEqual((JSON.parse(out) as { tunnels: string[] }).tunnels, ['web']);
    assert.notEqual(await show('MainPID'), pid);
    await eventually(WAIT_MS, async () => assert.equal(await visitors('svc-web'), 502));
  });

  it('stays closed if its tunnel is closed', async () => {
    await machine.run(folder, NODE, PROGRAM, 'close', 'svc-web');
    await eventually(WAIT_MS, async () => {
      const { code, out } = await culvert('status');
      assert.equal(code, 1);
      assert.match(out, /^State +failed \(exit code 4: The tunnel was closed or has expired\)$/m);
    });
    assert.equal((await culvert('install')).code, 0);
    await eventually(WAIT_MS, async () => assert.equal(await visitors('svc-web'), 502));
  });

  it('closes its tunnels and leaves nothing behind when it is removed, also for a project that is gone', async () => {
    rmSync(folder, { recursive: true });
    const moved = await machine.run(machine.home, NODE, PROGRAM, 'service', 'status');
    assert.match(moved.out, /Installed for other projects/);
    const uninstall = [PROGRAM, 'service', 'uninstall', '--config', join(folder, 'culvert.yml')];
    const { code, err } = await machine.run(machine.home, NODE, ...uninstall);
    assert.equal(code, 0, err);
    assert.equal(existsSync(unit), false);
    assert.deepEqual(
      files().filter((file) => !file.endsWith('login.json')),
      [],
    );
    assert.equal(await visitors('svc-web'), 503);
  });
});

describe('the definition of a service', () => {
  const scope = suiteScope();
  const service = {
    name: 'culvert-shop-0123abcd',
    description: `/${NASTY}\n[Service]\nExecStart=/bin/false \\`,
    command: ['/bin/echo', `/${NASTY} \\/cli.js`, 'service', 'run', 'culvert-shop-0123abcd'],
    env: { XDG_CONFIG_HOME: `/${NASTY}\\` },
  };

  function check(program: string, args: string[], file: string, bytes: Buffer | string): string {
    const path = join(temporaryDirectory(scope), file);
    writeFileSync(path, bytes);
    const env = { ...process.env, XDG_RUNTIME_DIR: temporaryDirectory(scope) };
    const { status, stdout, stderr } = spawnSync(program, [...args, path], { env, encoding: 'utf8' });
    assert.equal(`${status} ${stderr}`, '0 ');
    return stdout;
  }

  it('is accepted by systemd-analyze', () => {
    check('systemd-analyze', ['--user', 'verify'], `${service.name}.service`, systemdUnit(service));
  });

  it('is a property list', () => {
    const binary = join(temporaryDirectory(scope), 'agent.bin');
    check('plistutil', ['-o', binary, '-i'], 'agent.plist', launchAgent(service, `/${NASTY}/log`));
    const read = check('plistutil', ['-o', '-', '-i'], 'agent.bin', readFileSync(binary));
    const escaped = NASTY.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    for (const word of [`/${escaped} \\/cli.js`, 'culvert-shop-0123abcd', `/${escaped}\\`, `/${escaped}/log`])
      assert.ok(read.includes(`<string>${word}</string>`), read);
  });

  it('is a task', () => {
    for (const beforeLogin of [true, false]) {
      const bytes = Buffer.from(`\u{feff}${scheduledTask(service, `A\\${NASTY}`, beforeLogin)}`, 'utf16le');
      const command = check(
        'xmllint',
        ['--xpath', "string(//*[local-name()='Arguments'])"],
        'task.xml',
        bytes,
      );
      assert.ok(command.includes(`"/${NASTY.replaceAll('"', '\\"')} \\/cli.js" "service" "run"`), command);
    }
  });
});
