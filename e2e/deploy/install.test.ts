import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Tunnel } from '../../shared/tunnel.ts';
import { VERSION } from '../../shared/version.ts';
import { runScript } from '../support/child.ts';
import { newApiKey, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { startEchoService } from '../support/services/echo.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Bytes of everything that `npm install -g` installs. Electron alone would be forty times that. */
const INSTALLED_MAX_BYTES = 7 * 1024 * 1024;
/**
 * Bytes of the package itself. The window for browsers is a fifth of it; bufferutil's builds, and the agent with which
 * the library's `fetch` reaches tunnels, are a tenth each.
 */
const PACKAGE_MAX_BYTES = 2_000_000;
/** Nothing listens there: a server may have no way out. */
const NO_REGISTRY = 'http://127.0.0.1:9/';

/** npm's description of a package it created. */
interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** `npm pack` and a plain global install of the result, without a registry and with an empty cache. */
describe('the npm package', function () {
  const scope = suiteScope();
  let packed: Packed;
  let prefix: string;
  let env: Record<string, string>;

  before(async () => {
    const folder = temporaryDirectory(scope);
    prefix = join(folder, 'prefix');
    // Programs and npm run on the Node that runs the test.
    const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
    env = { PATH: path, CULVERT_DATA_DIR: join(folder, 'data') };
    // The build exists, and other tests may be using it.
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
    const { stdout } = await run('npm', pack, { cwd: ROOT, env: { ...process.env, ...env } });
    packed = readPacked(stdout);
    const file = join(folder, packed.filename);
    const install = ['install', '--global', '--prefix', prefix, '--cache', join(folder, 'cache')];
    await run('npm', [...install, '--registry', NO_REGISTRY, file], {
      cwd: folder,
      env: { ...process.env, ...env },
    });
  });

  function program(name: string): string {
    return join(prefix, 'bin', name);
  }

  it('contains the programs and what is needed to deploy them, and no tests or sources', () => {
    const paths = packed.files.map(({ path }) => path);
    for (const path of [
      'README.md',
      'LICENSE',
      'dist/NOTICES.txt',
      'CHANGELOG.md',
      'server/deploy/culvert-relay.service',
      'desktop/agents/SKILL.md',
      'desktop/agents/llms.txt',
    ])
      assert.ok(paths.includes(path), path);
    const other = paths.filter(
      (path) =>
        !/^(?:dist\/(?:server|desktop|desktop\/library)\/[\w-]+\.js|dist\/desktop\/library\/types\/\w+\.d\.ts|dist\/desktop\/window\/(?:index\.html|main\.js|main\.css|about\.json)|dist\/server\/[\w-]+\.cjs|dist\/NOTICES\.txt|server\/deploy\/.*|desktop\/agents\/(?:SKILL\.md|llms\.txt)|node_modules\/(?:bufferutil|node-gyp-build)\/.*|[A-Z]+\.md|LICENSE|package\.json)$/.test(
          path,
        ),
    );
    assert.deepEqual(other, []);
    assert.ok(packed.size < PACKAGE_MAX_BYTES, `${packed.size} bytes`);
  });

  it('has few dependencies: none of the desktop app, none with native builds or install scripts', () => {
    const files = filesBelow(prefix);
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
    assert.ok(bytes < INSTALLED_MAX_BYTES, `${bytes} bytes`);
    // Optional: the programs also work without its native code. It ships builds for most machines.
    const needed = files.filter((file) => !/\/node_modules\/(?:bufferutil|node-gyp-build)\//.test(file));
    const packages = needed.filter((file) => /node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/.test(file));
    assert.deepEqual(
      packages.filter((file) => /\/electron[^/]*\/package\.json$/.test(file)),
      [],
    );
    assert.deepEqual(
      needed.filter((file) => file.endsWith('.node')),
      [],
    );
    assert.deepEqual(
      packages.filter((file) => /"(?:pre|post)?install":/.test(readFileSync(file, 'utf8'))),
      [],
    );
  });

  it('installs both programs as commands', async () => {
    for (const name of ['culvert-relay', 'culvert']) {
      const { stdout, stderr } = await run(program(name), ['--version'], { env });
      assert.deepEqual([stdout, stderr], [`${name} ${VERSION}\n`, '']);
    }
  });

  it('serves a visitor', async () => {
    const key = newApiKey();
    const settings = { ...env, CULVERT_PORT: '0', CULVERT_BOOTSTRAP_KEY: key };
    const relay = runScript(program('culvert-relay'), [], settings);
    scope.defer(() => relay.stop('SIGKILL'));
    const url = await relay.line((line) => /^listening on (http:\S+)$/.exec(line)?.[1]);
    const service = await startEchoService(scope);
    const client = runScript(program('culvert'), ['http', String(service.port), '--json'], {
      ...env,
      CULVERT_RELAY: url,
      CULVERT_API_KEY: key,
    });
    scope.defer(() => client.stop('SIGKILL'));
    const { tunnel } = await client.line((line) => JSON.parse(line) as { tunnel: Tunnel });
    const { status } = await visit(Number(new URL(url).port), { host: `${tunnel.slug}.localhost` });
    assert.equal(status, 200);
    assert.deepEqual(await client.stop('SIGINT'), { code: 0, signal: null });
    assert.deepEqual(await relay.stop(), { code: 0, signal: null });
    // Node warns about features that may change. An operator must not see that.
    assert.doesNotMatch(relay.stderr + client.stderr, /Warning/);
  });
});

/** npm lists its packages in an array or below their names, depending on its version. */
function readPacked(output: string): Packed {
  const [packed] = Object.values(JSON.parse(output) as Record<string, Packed>);
  return packed ?? assert.fail(`npm pack said ${output}`);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
