import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openPage } from '../compat/project.ts';
import { startBrowser } from '../support/browser.ts';
import { runScript } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { Relay, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const MOCHA = join(ROOT, 'node_modules/mocha/bin/mocha.js');

const PROGRAM = `
import { createServer } from 'node:http';
import { expose, type Tunnel, type TunnelRequest } from '@culvert/culvert';
import culvert from '@culvert/culvert/vite';
import { defineConfig } from 'vite';

export default defineConfig({ plugins: [culvert({ name: 'shop' })] });
await using tunnel: Tunnel = await expose({ port: 3000, name: 'shop' });
tunnel.on('request', ({ method, status }: TunnelRequest) => console.log(method, status));
const other = await expose(createServer(), { ttl: '30m', signal: AbortSignal.timeout(1000) });
await other.close();
// @ts-expect-error there is no such option
await expose({ port: 3000, subdomain: 'shop' });
`;

const APPS = `
import express from 'express';
import Koa from 'koa';
import { expose } from '@culvert/culvert';

await using first = await expose(express());
const second = await expose(new Koa(), { name: 'koa', access: { password: 'mild-oak-fern' } });
await second.close();
`;

/** Prints the addresses of both, and ends on request. */
const SERVING = `
import express from 'express';
import Koa from 'koa';
import { expose } from '@culvert/culvert';

const app = express();
app.use(express.json());
app.post('/sum/:of', (request, response) => response.json({ sum: request.params.of, got: request.body }));
const koa = new Koa();
koa.use(async (context, next) => {
  await next();
  context.set('X-Koa', 'yes');
});
koa.use((context) => (context.body = { path: context.path, host: context.host }));

const ended = new AbortController();
process.once('SIGTERM', () => ended.abort());
const tunnels = [
  await expose(app, { name: 'with-express', signal: ended.signal }),
  await expose(koa, { name: 'with-koa', signal: ended.signal }),
];
for (const { url } of tunnels) console.log('at ' + url);
`;

const TEST = `
import assert from 'node:assert/strict';
import { expose } from '@culvert/culvert';

describe('a webhook', () => {
  it('reaches this process', async () => {
    const tunnel = await expose((request, response) => response.end('hello ' + request.url));
    const { port } = new URL(tunnel.url);
    const response = await fetch('http://localhost:' + port + '/t/' + new URL(tunnel.url).hostname.split('.')[0] + '/x');
    assert.equal(await response.text(), 'hello /x');
    await tunnel.close();
  });
});
`;

const viteConfig = (more: string): string =>
  `import culvert from '@culvert/culvert/vite';\nexport default { plugins: [culvert({ name: 'shop' })], ${more} };\n`;

/** `npm pack`, and what a project does after installing the result. */
describe("the library in a user's project (docs/reference/library.md)", () => {
  const scope = suiteScope();
  let project: string;
  let relay: Relay;
  let environment: Record<string, string>;

  before(async function () {
    this.timeout(240_000);
    const folder = temporaryDirectory(scope);
    project = join(folder, 'project');
    mkdirSync(project);
    const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
    const env = { ...process.env, PATH: path };
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT, env });
    const packed = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
    writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}');
    const types = ['@types/node@24', '@types/express@5', '@types/koa@3'];
    const wanted = [join(folder, packed), 'vite@7', 'express@5', 'koa@3', ...types];
    await run('npm', ['install', '--no-audit', '--no-fund', ...wanted], { cwd: project, env });
    relay = await Relay.start(scope);
    environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: relay.bootstrapKey };
  });

  for (const [resolution, ...module] of [
    ['NodeNext', '--module', 'nodenext'],
    ['Bundler', '--module', 'esnext', '--moduleResolution', 'bundler'],
  ] as const)
    it(`has correct types in a strict compiler with module resolution ${resolution}`, async () => {
      writeFileSync(join(project, 'program.ts'), PROGRAM);
      writeFileSync(join(project, 'apps.ts'), APPS);
      const options = ['--noEmit', '--strict', '--target', 'es2024', '--types', 'node', '--esModuleInterop'];
      const lib = ['--lib', 'es2024,dom,esnext.disposable'];
      // The types of Koa and Express contradict each other if both are installed.
      for (const files of [['program.ts'], ['--skipLibCheck', 'apps.ts']]) {
        const args = [TSC, ...options, ...module, ...lib, ...files];
        const { stdout } = await run(process.execPath, args, { cwd: project }).catch(
          (error: { stdout: string }) => assert.fail(error.stdout),
        );
        assert.equal(stdout, '');
      }
    });

  it('serves an app of Express and one of Koa, and lets their process end', async () => {
    const script = join(project, 'serving.js');
    writeFileSync(script, SERVING);
    const child = runScript(script, [], environment);
    scope.defer(() => child.stop('SIGKILL'));
    const url = await child.line((line) => /^at (\S+with-koa\S+)$/.exec(line)?.[1], 60_000);
    const at = (name: string): string => new URL(url).host.replace('with-koa', name);
    const json: [string, string] = ['Content-Type', 'application/json'];
    const sent = { method: 'POST', target: '/sum/7', headers: [json], body: '{"a":[1]}' };
    const answer = await visit(relay.port, { host: at('with-express'), ...sent });
    assert.deepEqual(JSON.parse(answer.text), { sum: '7', got: { a: [1] } });
    const { text, head } = await visit(relay.port, { host: at('with-koa'), target: '/x?y' });
    assert.deepEqual(JSON.parse(text), { path: '/x', host: at('with-koa') });
    assert.ok(head.fields.some(([name, value]) => name.toLowerCase() === 'x-koa' && value === 'yes'));
    assert.deepEqual(await child.stop('SIGTERM'), { code: 0, signal: null });
  });

  it('serves in mocha, and lets mocha end', async () => {
    writeFileSync(join(project, 'webhook.test.js'), TEST);
    const env = { ...process.env, ...environment };
    const { stdout } = await run(process.execPath, [MOCHA, '--timeout', '60000', 'webhook.test.js'], {
      cwd: project,
      env,
    });
    assert.match(stdout, /1 passing/);
  });

  it('shows the public address below those of Vite, lets visitors through, reloads hot, and comes back after a restart', async () => {
    const write = (name: string, text: string): void => writeFileSync(join(project, name), text);
    write('index.html', '<p id="text"></p><script type="module" src="/main.js"></script>');
    write('text.js', "export const text = 'before';");
    write(
      'main.js',
      `import { text } from './text.js';
      const show = (text) => (document.querySelector('#text').textContent = text);
      show(text);
      document.title = 'ready';
      import.meta.hot.accept('./text.js', (changed) => show(changed.text));`,
    );
    write('vite.config.js', viteConfig(''));
    const program = join(project, 'node_modules/vite/bin/vite.js');
    const vite = runScript(program, [project, '--host', '127.0.0.1', '--port', '0'], {
      ...environment,
      NO_COLOR: '1',
    });
    scope.defer(() => vite.stop('SIGKILL'));
    const url = await vite.line((line) => /Public: +(http:\S+)$/.exec(line)?.[1], 60_000);
    assert.equal(new URL(url).hostname, 'shop.localhost');
    const page = await visit(relay.port, { host: new URL(url).host, target: '/' });
    assert.match(page.text, /<p id="text"><\/p>/);
    const browser = await startBrowser(scope);
    const watched = await openPage(browser, url);
    await watched.page.locator('#text', { hasText: 'before' }).waitFor();
    await eventually(30_000, () => assert.match(watched.messages.join(), /"connected"/));
    await watched.page.evaluate("document.documentElement.setAttribute('data-loaded-once', '')");
    write('text.js', "export const text = 'after';");
    await watched.page.locator('#text', { hasText: 'after' }).waitFor();
    assert.equal(await watched.page.locator('html[data-loaded-once]').count(), 1, 'the page was reloaded');
    assert.ok(watched.webSockets.every((socket) => new URL(socket).host === new URL(url).host));
    write('vite.config.js', viteConfig("define: { __NEW__: '1' }"));
    let shown = 0;
    await vite.line((line) => (line.includes(`Public:  ${url}`) && ++shown === 2 ? true : undefined), 60_000);
    assert.equal((await visit(relay.port, { host: new URL(url).host, target: '/' })).status, 200);
    assert.doesNotMatch(vite.lines.join('\n') + vite.stderr, /Another client/);
    await vite.stop('SIGTERM');
    const access = { Authorization: `Bearer ${relay.bootstrapKey}` };
    const left = await fetch(`${relay.url}/v1/tunnels`, { headers: access });
    assert.ok(!(await left.text()).includes('"shop"'), 'the tunnel is closed with Vite');
  });
});
