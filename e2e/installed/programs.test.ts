/** The single-file programs in a root directory that has nothing but them and the system's libraries. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Child } from '../support/child.ts';
import { type Environment, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { madePrograms, SYSTEM } from './made-programs.ts';

const BUILD_MS = 600_000;

describe('the single-file programs', function () {
  this.timeout(BUILD_MS);
  const scope = suiteScope();
  let root: string;

  before(() => {
    const programs = madePrograms();
    root = temporaryDirectory(scope);
    for (const folder of ['bin', 'etc', 'dev']) mkdirSync(join(root, folder));
    writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
    // An empty file is enough for programs that start others without input and output.
    writeFileSync(join(root, 'dev/null'), '');
    for (const name of ['culvert', 'culvert-relay'])
      copyFileSync(join(programs, `${name}-${SYSTEM}`), join(root, 'bin', name));
    const libraries = execFileSync('ldd', [join(root, 'bin/culvert')], { encoding: 'utf8' });
    for (const [path] of libraries.matchAll(/\/\S+\.so\S*/g)) {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      copyFileSync(path, join(root, path));
    }
  });

  /** Runs a program in that root directory, without any variable of this process. */
  function run(words: string, environment: Environment): Child {
    const chroot = ['/usr/sbin/chroot', root, ...words.split(' ')];
    const [program = '', ...args] = process.getuid?.() === 0 ? chroot : ['/usr/bin/unshare', '-r', ...chroot];
    const child = new Child(program, args, { environment: { PATH: '/bin', HOME: '/', ...environment } });
    scope.defer(() => child.end());
    return child;
  }

  it('serve a tunnel while the relay is replaced, administer it, show the window, and update themselves', async () => {
    const service = await startHttpService(scope, (_, response) => response.end('from the service'));
    const free = { CULVERT_HOST: '127.0.0.1', CULVERT_PORT: '0', CULVERT_DOWNLOADS: '/downloads' };
    const relay = run('/bin/culvert-relay', free);
    const [, url = ''] = await relay.printed(/^listening on (\S+)$/m);
    const settings = { ...free, CULVERT_PORT: new URL(url).port };
    const login = {
      CULVERT_RELAY: url,
      CULVERT_API_KEY: readFileSync(join(root, '.culvert/first-key'), 'utf8').trim(),
    };
    const client = run(`/bin/culvert http ${service.port} --json`, login);
    const [, address = ''] = await client.printed(/"subdomain":"([^"]+)"/);
    assert.equal(await page(url, address), 'from the service');

    const next = run('/bin/culvert-relay serve --replace', { ...settings, CULVERT_WORKERS: '3' });
    await next.printed(/^listening on /m);
    assert.equal((await relay.exit()).code, 0);
    assert.equal(await page(url, address), 'from the service');

    const accounts = run('/bin/culvert-relay account list', settings);
    assert.match(await accounts.finished(BUILD_MS), /^default +dev /m);
    const window = run('/bin/culvert ui --no-open --port 0', login);
    const [, link = ''] = await window.printed(/^(http:\S+)#/m);
    assert.match(await page(link, link), /^<!doctype html>/);

    // One byte more is another program, and runs.
    const another = Buffer.concat([readFileSync(join(root, 'bin/culvert')), Buffer.from('\n')]);
    mkdirSync(join(root, 'downloads'));
    const download = join(root, `downloads/culvert-${SYSTEM}`);
    writeFileSync(`${download}.gz`, gzipSync(another, { level: 1 }));
    writeFileSync(`${download}.sha256`, createHash('sha256').update(another).digest('hex'));
    const { CULVERT_API_KEY, ...relayOnly } = login;
    const loggedIn = run(`/bin/culvert login --key ${CULVERT_API_KEY}`, relayOnly);
    assert.match(await loggedIn.finished(BUILD_MS), /^Signed in to /);
    const update = run('/bin/culvert update', {});
    assert.match(await update.finished(BUILD_MS), /^Updated culvert from \S+ to \S+: \/bin\/culvert$/m);
    assert.deepEqual(readFileSync(join(root, 'bin/culvert')), another);
    const again = run('/bin/culvert update', {});
    assert.match(await again.finished(BUILD_MS), / is what http:\S+ hands out\.$/m);
  });
});

/** The start page of a host, from an address. */
async function page(from: string, address: string): Promise<string> {
  const { host } = new URL(address);
  return (await visit(Number(new URL(from).port), { host })).body.toString();
}
