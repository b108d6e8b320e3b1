/**
 * `culvert ui` under attack: by pages of other origins, names that are rebound to this machine, other programs and
 * users of this machine, and too much of everything (docs/concepts/security-model.md).
 */
import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { RawConnection, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

describe('culvert ui', () => {
  const scope = suiteScope();
  let home: string;
  let port: number;
  let token: string;
  let pid: number;
  let host: string;
  let origin: string;
  let session: { cookie: string; key: string };
  const output = (): string => child.output;
  let child: ReturnType<typeof spawnCulvert>;
  /** a second start, and the token of the link that it shows */
  let again: ReturnType<typeof spawnCulvert>;
  let fresh: string;

  const environment = (): Record<string, string> => ({
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    APPDATA: home,
  });

  before(async () => {
    home = temporaryDirectory(scope);
    child = spawnCulvert(scope, ['ui', '--port', '0', '--no-open'], environment());
    const link = new URL(await child.line((line) => /^http:\S+$/.exec(line)?.[0]));
    port = Number(link.port);
    token = link.hash.slice(1);
    pid = child.pid;
    host = link.host;
    origin = link.origin;
    session = await newSession(token);
    again = spawnCulvert(scope, ['ui', '--port', '0', '--no-open'], environment());
    fresh = new URL(await again.line((line) => /^http:\S+$/.exec(line)?.[0])).hash.slice(1);
  });

  /** Sends a request as a browser does, except for what a test changes. */
  function ask(
    path: string,
    { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: object; body?: string } = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        { host: '127.0.0.1', port, path, method, agent: false, headers: { host, ...headers } },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
          );
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  const exchange = (given: string, headers: object = {}) =>
    ask('/session', { method: 'POST', body: given, headers: { origin, ...headers } });

  async function newSession(given: string) {
    const { status, headers, body } = await exchange(given);
    assert.equal(status, 200);
    return { cookie: String(headers['set-cookie']).split(';')[0] ?? '', key: body };
  }

  /** @returns the socket once it is open, or the status that refuses it */
  function connect(headers: object = {}, protocols: string[] = ['culvert', session.key], path = '/main') {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, {
      headers: { host, origin, cookie: session.cookie, ...headers },
    });
    scope.defer(() => socket.terminate());
    return new Promise<WebSocket | number>((resolve, reject) => {
      socket.on('open', () => resolve(socket));
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
      socket.on('error', reject);
    });
  }

  async function opened(): Promise<WebSocket> {
    const socket = await connect();
    if (typeof socket === 'number') throw new Error(`refused with ${socket}`);
    return socket;
  }

  it('gives its files a policy, and no other origin a way to read or frame them', async () => {
    const { status, headers } = await ask('/');
    assert.equal(status, 200);
    const policy = String(headers['content-security-policy']);
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      `connect-src 'self' ws://${host}`,
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ])
      assert.ok(policy.split('; ').includes(part), part);
    assert.equal(headers['x-frame-options'], 'DENY');
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['access-control-allow-origin'], undefined);
  });

  it('serves only the files of the window', async () => {
    for (const path of [
      '/about.json',
      '/../cli.js',
      '/%2e%2e/cli.js',
      '//etc/passwd',
      '/main.js/',
      '/window/main.js',
    ])
      assert.equal((await ask(path)).status, 404, path);
    assert.equal((await ask('/', { method: 'PUT', headers: { origin } })).status, 405);
  });

  it('refuses other origins, whatever they know', async () => {
    for (const other of [
      'https://evil.example',
      'null',
      `http://localhost:${port}`,
      'http://127.0.0.1:3000',
      `https://${host}`,
    ]) {
      assert.equal(await connect({ origin: other }), 403, other);
      assert.equal((await exchange(fresh, { origin: other })).status, 403, other);
      assert.equal((await ask('/main.js', { headers: { origin: other } })).status, 403, other);
    }
    const withoutOrigin = await ask('/session', { method: 'POST', body: fresh });
    assert.equal(withoutOrigin.status, 403);
    for (const site of ['cross-site', 'same-site'])
      for (const dest of ['script', 'iframe', 'empty'])
        assert.equal(
          (await ask('/main.js', { headers: { 'sec-fetch-site': site, 'sec-fetch-dest': dest } })).status,
          403,
        );
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    assert.equal((await ask('/', { headers: link })).status, 200);
  });

  it('exchanges a token once, for a cookie that no script can read, and a key; both are needed', async () => {
    const first = await exchange(fresh);
    assert.equal(first.status, 200);
    assert.match(
      String(first.headers['set-cookie']),
      new RegExp(`^culvert-${port}=[\\w-]{22}; Path=/; HttpOnly; SameSite=Strict$`),
    );
    assert.match(first.body, /^[\w-]{22}$/);
    assert.match(fresh, /^[\w-]{22}$/);
    for (const used of [fresh, token, '', 'x', 'x'.repeat(10_000)])
      assert.equal((await exchange(used)).status, 403);
    for (const [what, headers, key] of [
      ['nothing', { cookie: '' }, 'none'],
      ['the cookie alone, as another server of this machine gets it', {}, 'none'],
      ['the key alone', { cookie: '' }, session.key],
      ['the cookie of one session and the key of another', {}, first.body],
      ['a token', { cookie: `culvert-${port}=${token}` }, token],
    ] as const)
      assert.equal(await connect(headers, ['culvert', key]), 401, what);
    assert.equal(await connect({}, undefined, '/other'), 404);
    (await opened()).close();
  });

  it('refuses names that are rebound to this machine', async () => {
    for (const name of [
      `evil.example:${port}`,
      'evil.example',
      `127.0.0.1.evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `evil.example@127.0.0.1:${port}`,
      `192.0.2.7:${port}`,
      `0.0.0.0:${port}`,
      '',
    ]) {
      const rebound = { host: name, origin: `http://${name}` };
      assert.equal((await ask('/', { headers: rebound })).status, 403, name);
      assert.equal(await connect(rebound), 403, name);
    }
    const twice = await visit(port, { host, headers: [['Host', 'evil.example']] });
    assert.ok(twice.status === 403 || twice.status === 400, String(twice.status));
    // An SSH forward gives it another port.
    assert.equal((await ask('/', { headers: { host: 'localhost:5050' } })).status, 200);
  });

  it('checks payloads as the app does, and has no channel that takes paths or ends the program', async () => {
    const socket = await opened();
    // An answer may arrive together with a change of the state.
    const messages = on(socket, 'message', { close: ['close'] }) as AsyncIterableIterator<[Buffer]>;
    const call = async (id: number, channel: string, payload?: unknown) => {
      socket.send(JSON.stringify({ kind: 'call', id, method: channel, payload }));
      for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
        const message = JSON.parse(next.value[0].toString()) as {
          kind: string;
          id?: number;
          answer?: object;
        };
        if (message.kind === 'answer' && message.id === id)
          return message.answer as { ok: boolean; error?: { code: string } };
      }
      throw new Error('the connection was closed');
    };
    assert.equal((await call(1, 'snapshot:get')).ok, true);
    assert.equal((await call(2, 'tunnel:stop', { key: 7 })).error?.code, 'bad-payload');
    assert.equal((await call(3, 'tunnel:stop', { key: 'a', more: 1 })).error?.code, 'bad-payload');
    for (const [index, channel] of [
      'folder:drop',
      'app:quit',
      'app:update',
      '__proto__',
      'toString',
    ].entries())
      assert.equal(
        (await call(10 + index, channel, { paths: ['/'] })).error?.code,
        'no-such-method',
        channel,
      );
    socket.close();
  });

  it('cuts off a page that sends too much, or what no page sends', async () => {
    const calls = Array.from({ length: 65 }, (_, id) =>
      JSON.stringify({
        kind: 'call',
        id,
        method: 'session:sign-in',
        payload: { relay: 'http://127.0.0.1:9', key: 'x', keep: 'session' },
      }),
    );
    for (const [what, messages, code] of [
      ['no JSON', ['hello'], 1008],
      ['no message', ['null'], 1008],
      ['a message of no kind', ['{"kind":"eval"}'], 1008],
      [
        'calls without an end',
        [...calls, ...calls.map(() => '{"kind":"call","id":1,"method":"app:about"}')],
        1008,
      ],
      [
        'bytes that belong to nothing',
        Array.from({ length: 33 }, () => Buffer.alloc(1024 * 1024 + 64)),
        1008,
      ],
      ['a frame above 32 MiB', ['x'.repeat(34 * 1024 * 1024)], 1009],
    ] as const) {
      const socket = await opened();
      socket.on('error', () => undefined);
      for (const message of messages) socket.send(message);
      const [closed] = (await once(socket, 'close')) as [number];
      // The server may have closed before it read everything, which resets the connection.
      assert.ok(closed === code || (code === 1009 && closed === 1006), `${what}: ${closed}`);
    }
  });

  it('serves at most 16 pages', async () => {
    const pages: WebSocket[] = [];
    for (let count = 0; count < 16; count += 1) pages.push(await opened());
    assert.equal(await connect(), 503);
    for (const page of pages) page.terminate();
  });

  it('gives nothing away to many who guess, and serves its user after them', async () => {
    const tries = [
      () => exchange(Math.random().toString(36).padEnd(22, 'x').slice(0, 22)),
      () => ask('/', { headers: { host: 'evil.example' } }),
      () => ask('/session', { headers: { cookie: `culvert-${port}=guess`, 'x-culvert-key': 'guess' } }),
    ];
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(tries.flatMap((attempt) => Array.from({ length: 16 }, attempt)));
      for (const { status, body } of answers) {
        assert.ok(status === 403 || status === 200, String(status));
        assert.notEqual(body, 'open');
      }
    }
    (await opened()).close();
  });

  it('is not held up by connections that send nothing', async () => {
    const idle = await Promise.all(Array.from({ length: 40 }, () => RawConnection.open(scope, port)));
    await Promise.all(idle.map((connection) => connection.write('GET / HTTP/1.1\r\nHost: ')));
    assert.equal((await ask('/')).status, 200);
    for (const { socket } of idle) socket.destroy();
  });

  it('keeps its files from other users, and its tokens out of what it prints', async () => {
    const folder = join(home, 'config', 'Culvert');
    assert.equal((await stat(folder)).mode & 0o077, 0);
    for (const file of await readdir(folder))
      assert.equal((await stat(join(folder, file))).mode & 0o077, 0, file);
    assert.equal(output().split(token).length, 2, 'the token is printed once');
    assert.equal(output().includes(session.key), false);
    assert.equal(output().includes(session.cookie), false);
  });

  it('has one instance for a home folder, and listens only where this machine can reach it', async () => {
    assert.deepEqual(await again.exit(), { code: 0, signal: null });
    assert.match(again.stderr, new RegExp(`already running as process ${pid}`));
    assert.ok(again.output.includes(`http://127.0.0.1:${port}/#`));
    const open = spawnCulvert(scope, ['ui', '--host', '0.0.0.0'], environment());
    assert.deepEqual(await open.exit(), { code: 2, signal: null });
    assert.match(open.stderr, /--host 0\.0\.0\.0 would let other machines.*--insecure-remote/);
  });

  it('takes over from one that was killed, and not from one that is stopped', async () => {
    const own = temporaryDirectory(scope);
    const env = { HOME: own, XDG_CONFIG_HOME: join(own, 'config'), APPDATA: own };
    const first = spawnCulvert(scope, ['ui', '--port', '0', '--no-open'], env);
    await first.line((line) => /^http:\S+$/.exec(line)?.[0]);
    first.kill('SIGSTOP');
    const second = spawnCulvert(scope, ['ui', '--port', '0', '--no-open'], env);
    assert.deepEqual(await second.exit(), { code: 1, signal: null });
    assert.match(second.stderr, /does not answer/);
    await first.stop('SIGKILL');
    const third = spawnCulvert(scope, ['ui', '--port', '0', '--no-open'], env);
    await third.line((line) => /^http:\S+$/.exec(line)?.[0]);
    assert.deepEqual(await third.stop('SIGINT'), { code: 0, signal: null });
  });
});
