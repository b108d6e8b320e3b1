/** `culvert inspect`: which details of a running `culvert`'s requests are visible, and to whom. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAccount } from '../support/accounts.ts';
import type { Child } from '../support/child.ts';
import { assertAtLimit, eventually, timed } from '../support/deadline.ts';
import {
  Culvert,
  type Environment,
  type Relay,
  spawnCulvert,
  temporaryDirectory,
} from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelay } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';

const run = promisify(execFile);

interface Listed {
  readonly number: number;
  readonly method: string;
  readonly target: string;
  readonly status: number | null;
  readonly replay_of: number | null;
}

describe('culvert inspect', () => {
  const scope = suiteScope();
  let relay: Relay;
  let culvert: Culvert;
  let key: string;
  let runtime: string;
  const seen: string[] = [];

  before(async () => {
    relay = await sharedRelay();
    ({ key } = await createAccount(relay));
    runtime = temporaryDirectory(scope);
    const service = await startHttpService(scope, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        seen.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
        response.setHeader('Set-Cookie', 'sid=s3cret; HttpOnly');
        response.end(`got ${body.length}`);
      });
    });
    culvert = await start(service.port, 'inspected');
    await visit(relay.port, {
      method: 'POST',
      target: '/hook?token=s3cret&a=1',
      host: 'inspected.localhost',
      headers: [['Authorization', 'Bearer s3cret']],
      body: '{"event":"paid"}',
    });
  });

  /** An environment without files of other processes of this user. */
  function environment(folder = runtime): Environment {
    return { XDG_RUNTIME_DIR: folder, TMPDIR: folder };
  }

  async function start(port: number, name: string): Promise<Culvert> {
    return await Culvert.start(scope, relay, key, port, ['--name', name], environment());
  }

  function inspect(...args: string[]): Child {
    return spawnCulvert(scope, ['inspect', ...args], environment());
  }

  async function output(...args: string[]): Promise<string> {
    const child = inspect(...args);
    const { code } = await child.exit();
    assert.equal(code, 0, child.stderr);
    return child.lines.join('\n');
  }

  async function list(...args: string[]): Promise<readonly Listed[]> {
    const text = await output('list', '--json', ...args);
    return (JSON.parse(text) as { requests: readonly Listed[] }).requests;
  }

  it('lists, shows and reveals requests', async () => {
    const text = await output();
    assert.match(text, /1 +\S+ +POST +\/hook\?token=\[redacted\]&a=1 +200 /);
    const shown = await output('show', '1');
    assert.match(shown, /authorization: bearer \[redacted\]/i);
    assert.match(shown, /\{\n {2}"event": "paid"\n\}/);
    assert.match(shown, /Set-Cookie: sid=\[redacted\]; HttpOnly/);
    assert.match(shown, /got 16/);
    assert.doesNotMatch(text + shown, /s3cret/);
    const curl = inspect('show', '1', '--curl');
    await curl.exit();
    assert.doesNotMatch(curl.output, /s3cret/);
    assert.match(curl.stderr, /shown as \[redacted\].*"culvert inspect show 1 --curl --reveal"/);
    for (const form of [
      ['show', '1', '--json'],
      ['list', '--json'],
    ])
      assert.doesNotMatch(await output(...form), /s3cret/, form.join(' '));
    assert.equal((await output('show', '1', '--reveal')).match(/s3cret/g)?.length, 4);
  });

  it('repeats a request as it was, and records the repetition', async () => {
    const before = seen.length;
    assert.match(await output('replay', '1'), /\(again 1\)[^]*got 16/);
    assert.equal(seen.length, before + 1);
    assert.equal(seen.at(-1), seen[0]);
    assert.ok((await list()).some(({ replay_of }) => replay_of === 1));
  });

  it('finds words of the list, of headers and bodies, but no secrets', async () => {
    assert.match(await output('--filter', 'post HOOK 200'), /POST +\/hook/);
    assert.match(await output('list', '--search', 'paid HttpOnly'), /POST +\/hook/);
    assert.equal(await output('list', '--search', 's3cret', '--reveal'), 'No requests match this search.');
  });

  it('prints a curl command that repeats the request', async () => {
    const command = await output('show', '1', '--curl', '--reveal');
    const before = seen.length;
    await run('sh', ['-c', `${command} --silent --resolve '*:${relay.port}:127.0.0.1'`]);
    assert.equal(seen.length, before + 1);
    assert.equal(seen.at(-1), seen[0]);
  });

  it('prints no control characters from a visitor, in any form', async () => {
    const socket = connect(relay.port, '127.0.0.1');
    scope.defer(() => socket.destroy());
    socket.write(
      Buffer.from(
        'GET /c1-\x9b31m\x85 HTTP/1.1\r\nHost: inspected.localhost\r\nX-C1: \x9b2J\r\nConnection: close\r\n\r\n',
        'latin1',
      ),
    );
    await once(socket.resume(), 'close');
    const asked = (await list()).find(({ target }) => target.startsWith('/c1-'));
    const number = String(asked?.number ?? assert.fail('the request is not in the list'));
    assert.equal(asked?.target, '/c1-\x9b31m\x85');
    for (const form of [
      ['list', '--json'],
      ['show', number],
      ['show', number, '--curl'],
    ]) {
      const text = await output(...form);
      assert.match(text, /c1-/, form.join(' '));
      assert.doesNotMatch(text, /[\u{80}-\u{9f}]|[^\P{Cc}\n]/u, form.join(' '));
    }
  });

  it('watches requests as they arrive', async () => {
    const watch = inspect('watch', '--json');
    const line = watch.line((text) => {
      const request = JSON.parse(text) as Listed;
      return request.target === '/watched' && request.status === 200 ? request : undefined;
    });
    const poll = setInterval(() => {
      void visit(relay.port, { target: '/watched', host: 'inspected.localhost' }).catch(() => undefined);
    }, 100);
    scope.defer(() => clearInterval(poll));
    assert.equal((await line).method, 'GET');
    clearInterval(poll);
    assert.deepEqual(await watch.stop('SIGINT'), { code: 0, signal: null });
  });

  it("records Culvert's own response when nothing listens on the port", async () => {
    const port = await closedPort();
    const client = await start(port, 'refusing');
    const refused = await visit(relay.port, { host: 'refusing.localhost' });
    assert.equal(refused.status, 502);
    const [only] = await list('--tunnel', 'refusing');
    assert.deepEqual([only?.status, only?.number], [502, 1]);
    const replay = inspect('replay', '1', '--tunnel', client.tunnel.id);
    assert.equal((await replay.exit()).code, 1);
    assert.match(replay.stderr, new RegExp(`Nothing is listening on port ${port}`));
    const unclear = inspect('list');
    assert.equal((await unclear.exit()).code, 1);
    assert.match(unclear.stderr, /Several tunnels are running: .*Choose one with --tunnel/);
    await client.stop();
    assert.ok((await list()).length > 0);
  });

  it('repeats a large body only if --keep-bodies keeps all of it', async () => {
    const service = await startHttpService(scope, (request, response) => {
      let size = 0;
      request.on('data', (chunk: Buffer) => (size += chunk.length));
      request.on('end', () => response.end(`got ${size}`));
    });
    for (const [name, options] of [
      ['kept', ['--keep-bodies', '1MB']],
      ['cut', []],
    ] as const) {
      const all = ['--name', name, ...options];
      const client = await Culvert.start(scope, relay, key, service.port, all, environment());
      await visit(relay.port, {
        method: 'POST',
        target: '/large',
        host: `${name}.localhost`,
        body: `${'x'.repeat(300_000)}needle`,
      });
      const replay = inspect('replay', '1', '--tunnel', name);
      const { code } = await replay.exit();
      assert.equal(code, name === 'kept' ? 0 : 1, replay.stderr);
      if (name === 'kept') assert.match(replay.lines.join('\n'), /got 300006/);
      else assert.match(replay.stderr, /only 256 KiB of its body was recorded/);
      const found = await list('--search', 'needle', '--tunnel', name);
      assert.equal(found.length, name === 'kept' ? 2 : 0);
      await client.stop();
    }
  });

  it('ignores processes that were killed, and removes their files', async () => {
    const service = await startHttpService(scope, (_request, response) => response.end());
    const client = await start(service.port, 'killed-one');
    const path = join(runtime, 'culvert', `${client.child.pid}.sock`);
    await client.child.stop('SIGKILL');
    assert.ok(statSync(path).isSocket());
    await output();
    assert.throws(() => statSync(path));
  });

  it('is available only to the user who runs culvert', async () => {
    const folder = join(runtime, 'culvert');
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(folder), [`${culvert.child.pid}.sock`]);
    assert.equal(statSync(join(folder, `${culvert.child.pid}.sock`)).mode & 0o777, 0o600);
  });

  it('is not available if its folder cannot be created, and the tunnel is served without it', async () => {
    const service = await startHttpService(scope, (_request, response) => response.end());
    const client = await Culvert.start(scope, relay, key, service.port, [], environment('/dev/null'));
    assert.match(client.child.stderr, /"culvert inspect" cannot find this process: /);
    await client.stop();
  });

  it('reports that there is nothing to inspect', async () => {
    const child = spawnCulvert(scope, ['inspect'], environment(temporaryDirectory(scope)));
    assert.equal((await child.exit()).code, 1);
    assert.match(child.stderr, /^culvert: You have no tunnels running on this machine\. Start one /);
  });

  it('cuts a connection that sends no request for 5 s', async () => {
    const { ms } = await timed(async () => {
      const socket = connect(join(runtime, 'culvert', `${culvert.child.pid}.sock`)).resume();
      scope.defer(() => socket.destroy());
      await once(socket, 'close');
    });
    assertAtLimit(ms, 5000);
  });

  it('leaves no files', async () => {
    await culvert.stop();
    await eventually(20_000, () => assert.deepEqual(readdirSync(join(runtime, 'culvert')), []));
  });
});
