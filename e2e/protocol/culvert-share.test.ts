import assert from 'node:assert/strict';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tunnel } from '../../shared/tunnel.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { openFilesOf } from '../support/processes.ts';
import { type Environment, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

describe('culvert share', () => {
  const { scope, relay, pool } = sharedRelaySuite();

  function folder(): string {
    const path = join(temporaryDirectory(scope), 'site');
    mkdirSync(join(path, 'docs'), { recursive: true });
    writeFileSync(join(path, 'index.html'), '<h1>shared</h1>');
    writeFileSync(join(path, 'docs', 'digits.svg'), '0123456789');
    writeFileSync(join(path, '.env'), 'secret');
    symlinkSync('/etc/passwd', join(path, 'docs', 'passwd'));
    return path;
  }

  async function share(args: readonly string[], more: Environment = {}) {
    const { key, api } = await pool.take();
    const child = spawnCulvert(scope, ['share', ...args], {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: key,
      ...more,
    });
    return { child, api };
  }

  it('serves the files of a folder to visitors, and nothing else', async () => {
    const { child, api } = await share([folder(), '--json', '--name', 'shared-folder', '--ttl', '2h']);
    const { tunnel } = await child.line((line) => JSON.parse(line) as { tunnel: Tunnel });
    assert.deepEqual([tunnel.slug, tunnel.ttl], ['shared-folder', '2h0m0s']);
    const get = (target: string, headers: readonly (readonly [string, string])[] = [], method = 'GET') =>
      visit(relay.port, { host: hostOf(tunnel, relay), target, headers, method });
    assert.equal((await get('/')).text, '<h1>shared</h1>');
    const listed = (await get('/docs/')).text;
    assert.ok(listed.includes('digits.svg') && !listed.includes('passwd'));
    const part = await get('/docs/digits.svg', [['Range', 'bytes=2-4']]);
    assert.deepEqual([part.status, part.text], [206, '234']);
    const type = part.head.fields.find(([name]) => name.toLowerCase() === 'content-type');
    assert.equal(type?.[1], 'image/svg+xml');
    for (const target of ['/.env', '/%2eenv', '/docs/passwd', '/..%2f..%2fetc/passwd'])
      assert.equal((await get(target)).status, 404, target);
    assert.equal((await get('/', [], 'DELETE')).status, 405);
    const past = await fetch(`http://127.0.0.1:${tunnel.local_port}/`);
    assert.deepEqual([past.status, await past.text()], [403, 'Not through the tunnel\n']);
    assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
    await assert.rejects(fetch(`http://127.0.0.1:${tunnel.local_port}/`));
    assert.deepEqual(await api.list(), []);
  });

  it('keeps no file open, whether it was sent or not', async () => {
    const path = folder();
    const { child } = await share([path, '--json']);
    const { tunnel } = await child.line((line) => JSON.parse(line) as { tunnel: Tunnel });
    const host = hostOf(tunnel, relay);
    const { head } = await visit(relay.port, { host, target: '/docs/digits.svg' });
    const etag = head.fields.find(([name]) => name.toLowerCase() === 'etag')?.[1] ?? '';
    for (const [method, ...headers] of [
      ['HEAD'],
      ['GET', ['Range', 'bytes=2-4']],
      ['GET', ['Range', 'bytes=99-']],
      ['GET', ['If-None-Match', etag]],
    ] as const)
      await visit(relay.port, { host, target: '/docs/digits.svg', method, headers });
    await eventually(10_000, () =>
      assert.deepEqual(
        openFilesOf(child.pid).filter((file) => file.startsWith(path)),
        [],
      ),
    );
  });

  it('sends nothing from outside, however fast files and links replace each other', async () => {
    const path = folder();
    const { child } = await share([path, '--json']);
    const { tunnel } = await child.line((line) => JSON.parse(line) as { tunnel: Tunnel });
    const host = hostOf(tunnel, relay);
    let round = 0;
    const swap = (): void => {
      round += 1;
      const draft = join(path, `draft${round}`);
      if (round % 2 === 0) writeFileSync(draft, 'inside');
      else symlinkSync('/etc/passwd', draft);
      renameSync(draft, join(path, 'changing.txt'));
    };
    swap();
    const timer = setInterval(swap, 1);
    scope.defer(() => clearInterval(timer));
    const seen = new Map<number, number>();
    for (let count = 0; count < 200; count += 1) {
      const { status, text } = await visit(relay.port, { host, target: '/changing.txt' });
      assert.ok(!text.includes('root:'), text);
      if (status === 200) assert.equal(text, 'inside');
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
    clearInterval(timer);
    assert.ok((seen.get(200) ?? 0) > 0 && (seen.get(404) ?? 0) > 0, JSON.stringify([...seen]));
  });

  it('records requests, shows them, and repeats them', async () => {
    const place = temporaryDirectory(scope);
    const runtime = { XDG_RUNTIME_DIR: place, TMPDIR: place };
    const { child } = await share([folder(), '--json', '--name', 'watched-folder'], runtime);
    await child.line((line) => line);
    const host = `watched-folder.localhost:${relay.port}`;
    assert.equal((await visit(relay.port, { host, target: '/docs/digits.svg?x=1' })).text, '0123456789');
    const inspect = async (...args: string[]) => {
      const inspector = spawnCulvert(scope, ['inspect', ...args], runtime);
      const { code } = await inspector.exit();
      return { code, text: inspector.lines.join('\n') + inspector.stderr };
    };
    await eventually(10_000, async () =>
      assert.match((await inspect('list')).text, /^1 .* GET +\/docs\/digits\.svg\?x=1 +200/m),
    );
    const again = await inspect('replay', '1');
    assert.equal(again.code, 0);
    assert.match(again.text, /HTTP\/1\.1 200 OK[^]*image\/svg\+xml[^]*0123456789/);
  });

  it('prints the folder, and admits a visitor with the password', async () => {
    const path = folder();
    const { child } = await share([path, '--name', 'locked-folder', '--password', 'open sesame']);
    await child.line((line) => (line === `Forwards to  ${path}` ? line : undefined));
    const host = `locked-folder.localhost:${relay.port}`;
    assert.equal((await visit(relay.port, { host, target: '/docs/digits.svg' })).status, 401);
    assert.equal((await child.stop('SIGINT')).code, 0);
  });
});
