import assert from 'node:assert/strict';
import { on, once } from 'node:events';
import * as fs from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { WebSocket, WebSocketServer } from 'ws';
import { describeOnPosix } from '../../../shared/testing/posix.ts';
import { toMessage } from '../messages.ts';
import { EditRefused, type RequestEdit } from './edit.ts';
import { CallRefused } from '../methods/method.ts';
import { PROTOCOL } from '../methods/peer.ts';
import {
  findTunnels,
  type FoundTunnel,
  Inspector,
  type OtherVersion,
  INSPECT_BACKLOG_MAX_BYTES,
} from './inspector.ts';
import {
  InspectorServer,
  INSPECT_CALLS_MAX,
  INSPECT_REQUEST_MAX_BYTES,
  INSPECTORS_MAX,
} from './inspector-server.ts';
import { type RequestSummary, SEARCH_MAX_CHARS } from './records.ts';
import { type PrepareReplay, ReplayRefused } from './replay.ts';
import { RequestLog } from './request-log.ts';
import { runtimeFolder, type RuntimeFolder } from './runtime-folder.ts';
import { LogSearch } from './search.ts';
import type { InspectedTunnel } from '../methods/log-methods.ts';
import { KEPT_BODY_MAX_BYTES } from '../config/tunnel-spec.ts';

const REQUEST = 'POST /?token=abc HTTP/1.1\r\nContent-Length: 3\r\n\r\n\0\xff!';
const REPLAYER = {
  replay: (id: number) => Promise.resolve(id + 1),
  replayEdited: (id: number, { body }: RequestEdit) => Promise.resolve(id + (body?.length ?? 0)),
};
const EDIT: RequestEdit = { method: 'PUT', target: '/', fields: [['X', '1']], body: Buffer.from([0, 255]) };
const IMPORTED = { ...EDIT, body: new Uint8Array([0, 255]), isCut: false, response: undefined };
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

function record(log: RequestLog): void {
  const recording = log.open();
  recording.toLocal(Buffer.from(REQUEST, 'latin1'));
  recording.toVisitor(Buffer.from(OK));
}

function tunnelOf(log: RequestLog, slug = 'demo'): InspectedTunnel {
  const tunnel = { id: `id-${slug}`, slug, public_url: `http://${slug}.localhost` };
  return { tunnel, localHost: `${slug}.localhost`, log, search: new LogSearch(log), replayer: REPLAYER };
}

function isRefusal(code: string): (error: unknown) => boolean {
  return (error) => error instanceof CallRefused && error.code === code;
}

describeOnPosix('looking at a running process', () => {
  let base: string;
  let folder: RuntimeFolder;
  const cleanup: (() => void)[] = [];

  beforeEach(() => {
    base = fs.mkdtempSync(join(tmpdir(), 'culvert-test-'));
    cleanup.push(() => fs.rmSync(base, { recursive: true, force: true }));
    folder = runtimeFolder({ XDG_RUNTIME_DIR: base, TMPDIR: base }, 'linux');
  });
  afterEach(() => {
    for (const action of cleanup.splice(0).toReversed()) action();
  });

  async function serve(tunnel = tunnelOf(new RequestLog()), pid?: number): Promise<InspectorServer> {
    const server = new InspectorServer(folder, pid);
    cleanup.push(() => server.stop());
    server.add(tunnel);
    await server.start();
    return server;
  }

  async function onlyTunnel(): Promise<FoundTunnel> {
    const [tunnel, ...more] = await findTunnels(folder);
    assert.ok(tunnel !== undefined && more.length === 0);
    return tunnel;
  }

  /** Looks into the process of a tunnel. */
  async function inspect(tunnel: InspectedTunnel): Promise<Inspector> {
    await serve(tunnel);
    return new Inspector(await onlyTunnel());
  }

  it('lists, shows and repeats requests, without secrets unless requested', async () => {
    const log = new RequestLog();
    record(log);
    await serve(tunnelOf(log));
    const found = await onlyTunnel();
    assert.deepEqual([found.slug, found.publicUrl], ['demo', 'http://demo.localhost']);
    const inspector = new Inspector(found);
    assert.equal(
      JSON.stringify(await inspector.call('log:list', { reveal: false })),
      JSON.stringify(log.list()),
    );
    assert.equal((await inspector.call('log:list', { reveal: true }))[0]?.target, '/?token=abc');
    const detail = await inspector.call('log:detail', { id: 1, reveal: false });
    assert.equal(detail.request.startLine, 'POST /?token=[redacted] HTTP/1.1');
    assert.deepEqual([...detail.request.body], [0, 0xff, 0x21]);
    assert.equal((await inspector.call('log:detail', { id: 1, reveal: true })).target, '/?token=abc');
    assert.equal(await inspector.call('log:replay', { id: 1 }), 2);
  });

  it('finds words in headers and bodies, but never a secret', async () => {
    const log = new RequestLog();
    record(log);
    const inspector = await inspect(tunnelOf(log));
    const found = async (words: string): Promise<readonly number[]> =>
      (await inspector.call('log:search', { words })).ids;
    assert.deepEqual(await found('POST content-length'), [1]);
    assert.deepEqual(await found('abc'), []);
    await assert.rejects(found('x'.repeat(SEARCH_MAX_CHARS + 1)), isRefusal('bad-payload'));
  });

  it('shows the largest bodies', async () => {
    const log = new RequestLog(undefined, undefined, () => KEPT_BODY_MAX_BYTES);
    const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${KEPT_BODY_MAX_BYTES}\r\n\r\n`;
    const body = Buffer.alloc(KEPT_BODY_MAX_BYTES, 0xff);
    const recording = log.open();
    recording.toLocal(Buffer.concat([Buffer.from(head), body]));
    recording.toVisitor(Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`));
    recording.toVisitor(body);
    const { request, response } = await (
      await inspect(tunnelOf(log))
    ).call('log:detail', { id: 1, reveal: false });
    assert.deepEqual([request.body.length, response?.body.length], [body.length, body.length]);
  });

  it('sends edited requests and adds imported ones, with bodies as bytes', async () => {
    const log = new RequestLog();
    const inspector = await inspect(tunnelOf(log));
    assert.equal(await inspector.call('log:edit', { id: 5, edit: EDIT }), 7);
    assert.equal(await inspector.call('log:edit', { id: 5, edit: { ...EDIT, body: undefined } }), 5);
    const body = Buffer.from([255]);
    const response = { status: 201, reason: 'Made', fields: [], body, isCut: false, durationMs: 3 };
    assert.equal(await inspector.call('log:import', { request: { ...IMPORTED, response } }), 1);
    const {
      request,
      response: answer,
      isImported,
    } = await inspector.call('log:detail', { id: 1, reveal: true });
    assert.deepEqual([[...request.body], [...(answer?.body ?? [])], isImported], [[0, 255], [255], true]);
    assert.equal(request.fields[0]?.[1], 'demo.localhost');
  });

  it('signs an edited webhook again, with a secret that its sender could have', async () => {
    const log = new RequestLog();
    const webhook =
      'POST / HTTP/1.1\r\nHost: x\r\nStripe-Signature: t=1,v1=00\r\nContent-Length: 2\r\n\r\nhi';
    const prepared: string[] = [];
    const replayEdited = (_: number, __: RequestEdit, prepare?: PrepareReplay): Promise<number> => {
      prepared.push(
        String(prepare?.(Buffer.from(prepared.length === 2 ? 'GET / HTTP/1.1\r\n\r\n' : webhook))),
      );
      return Promise.resolve(2);
    };
    const inspector = await inspect({ ...tunnelOf(log), replayer: { ...REPLAYER, replayEdited } });
    await inspector.call('log:edit', { id: 1, edit: EDIT });
    await inspector.call('log:edit', { id: 1, edit: EDIT, secret: 'whsec_test' });
    assert.equal(prepared[0], 'undefined');
    assert.match(prepared[1] ?? '', /Stripe-Signature: t=\d{10},v1=[\da-f]{64}\r\n[^]*hi$/);
    await assert.rejects(
      inspector.call('log:edit', { id: 1, edit: EDIT, secret: 'whsec_test' }),
      isRefusal('not-a-webhook'),
    );
    await assert.rejects(
      inspector.call('log:edit', { id: 1, edit: EDIT, secret: 'with blank' }),
      isRefusal('not-a-webhook'),
    );
  });

  it('has the messages of a WebSocket, as bytes', async () => {
    const log = new RequestLog();
    const inspector = await inspect(tunnelOf(log));
    const recording = log.open();
    recording.toLocal(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    recording.toVisitor(
      Buffer.from('HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n\x82\x01\0', 'latin1'),
    );
    const { count, messages } = await inspector.call('log:messages', { id: 1 });
    assert.deepEqual([count, messages.length, [...(messages[0]?.body ?? [])]], [1, 1, [0]]);
    record(log);
    await assert.rejects(inspector.call('log:messages', { id: 2 }), isRefusal('unknown-request'));
  });

  it('reports requests as they arrive, until the watch or the process ends', async () => {
    const log = new RequestLog();
    const server = await serve(tunnelOf(log));
    const inspector = new Inspector(await onlyTunnel());
    const seen: RequestSummary[] = [];
    const begun = Promise.withResolvers<void>();
    const ended = new AbortController();
    const watches = [
      inspector.follow(false, (summary) => (seen.push(summary), begun.resolve()), ended.signal),
      inspector.follow(true, () => ended.abort(), new AbortController().signal),
    ];
    const timer = setInterval(() => record(log), 5);
    cleanup.push(() => clearInterval(timer));
    await begun.promise;
    assert.equal(seen[0]?.target, '/?token=[redacted]');
    await watches[0];
    server.stop();
    await watches[1];
  });

  it('gives the reason for a refusal', async () => {
    const log = new RequestLog();
    const problems = [{ part: 'method', said: toMessage('edit.connect') }];
    const replayer = {
      replay: () => Promise.reject(new ReplayRefused('truncated', 'Too long.')),
      replayEdited: () => Promise.reject(new EditRefused(problems)),
    };
    const tunnel = { ...tunnelOf(log), replayer };
    const server = await serve(tunnel);
    const inspector = new Inspector(await onlyTunnel());
    await assert.rejects(
      inspector.call('log:detail', { id: 9, reveal: false }),
      isRefusal('unknown-request'),
    );
    await assert.rejects(inspector.call('log:replay', { id: 1 }), isRefusal('truncated'));
    await assert.rejects(inspector.call('log:edit', { id: 1, edit: EDIT }), isRefusal('edit-refused'));
    await assert.rejects(
      inspector.call('log:import', { request: { ...IMPORTED, method: 'A B' } }),
      isRefusal('edit-refused'),
    );
    await assert.rejects(inspector.call('log:detail', { id: 0.5, reveal: false }), isRefusal('bad-payload'));
    server.remove(tunnel);
    await assert.rejects(inspector.call('log:list', { reveal: false }), isRefusal('unknown-tunnel'));
  });

  it('is private to this user, and leaves no files behind', async () => {
    const server = await serve();
    const { path } = await onlyTunnel();
    assert.equal(fs.statSync(join(base, 'culvert')).mode & 0o777, 0o700);
    assert.equal(fs.statSync(path).mode & 0o777, 0o600);
    fs.chmodSync(join(base, 'culvert'), 0o755);
    folder.pathOf(1);
    assert.equal(fs.statSync(join(base, 'culvert')).mode & 0o777, 0o700);
    server.stop();
    assert.deepEqual(folder.paths(), []);
  });

  it('does not use a folder that another user may have created', () => {
    const other = join(base, 'other');
    fs.mkdirSync(other);
    fs.symlinkSync(base, join(other, 'culvert'));
    fs.symlinkSync(base, join(other, `culvert-${userInfo().uid}`));
    const unusable = runtimeFolder({ XDG_RUNTIME_DIR: other, TMPDIR: other }, 'linux');
    assert.throws(() => unusable.pathOf(1), /does not belong to this user/);
    assert.deepEqual(unusable.paths(), []);
  });

  it('finds processes that were started without a login session', async () => {
    const daemon = new InspectorServer(runtimeFolder({ TMPDIR: base }, 'linux'), 7);
    cleanup.push(() => daemon.stop());
    daemon.add(tunnelOf(new RequestLog(), 'daemon'));
    await daemon.start();
    await serve(tunnelOf(new RequestLog(), 'shell'), 8);
    const slugs = (await findTunnels(folder)).map(({ slug }) => slug);
    assert.deepEqual(slugs.sort(), ['daemon', 'shell']);
  });

  it('removes the sockets of processes that have ended, and no others', async () => {
    await serve(tunnelOf(new RequestLog(), 'one'), 1);
    const stale = folder.pathOf(2);
    const server = createServer().listen(stale);
    await new Promise((resolve) => server.once('listening', resolve));
    // As left behind by a killed process: closing would remove the file.
    fs.linkSync(stale, `${stale}.kept`);
    await new Promise((resolve) => server.close(resolve));
    fs.renameSync(`${stale}.kept`, stale);
    await serve(tunnelOf(new RequestLog(), 'three'), 3);
    const slugs = (await findTunnels(folder)).map(({ slug }) => slug);
    assert.deepEqual(slugs.sort(), ['one', 'three']);
    assert.equal(fs.existsSync(stale), false);
  });

  /** Connects as another program of this user does. */
  function open(path: string): WebSocket {
    const socket = new WebSocket('ws://process/', { createConnection: () => connect(path) });
    cleanup.push(() => socket.terminate());
    return socket.on('error', () => {});
  }

  it('cuts off what sends garbage, too much, or too many calls, and serves others', async () => {
    const log = new RequestLog();
    await serve(tunnelOf(log));
    const { path, id: key } = await onlyTunnel();
    const follow = JSON.stringify({
      kind: 'call',
      id: 1,
      method: 'log:follow',
      payload: { key, reveal: false },
    });
    for (const [what, messages, code] of [
      ['no JSON', ['hello'], 1008],
      ['no message', ['{"kind":"eval"}'], 1008],
      ['calls without an end', Array.from({ length: INSPECT_CALLS_MAX + 1 }, () => follow), 1008],
      ['bytes without an end', Array.from({ length: 3 }, () => Buffer.alloc(800 * 1024)), 1008],
      ['a long message', ['x'.repeat(INSPECT_REQUEST_MAX_BYTES + 1)], 1009],
    ] as const) {
      const socket = open(path);
      socket.on('open', () => messages.forEach((message) => socket.send(message)));
      const [closed] = (await once(socket, 'close')) as [number];
      assert.equal(closed, code, what);
    }
    const socket = connect(path, () => socket.write('{"op":"tunnels"}\n')).on('error', () => {});
    await once(socket.resume(), 'close');
    assert.equal((await onlyTunnel()).slug, 'demo');
  });

  it('has no other methods than those of the table', async () => {
    await serve();
    const socket = open((await onlyTunnel()).path);
    const messages = on(socket, 'message') as AsyncIterableIterator<[Buffer]>;
    await messages.next();
    for (const method of ['log:clear', 'tunnel:create', '__proto__', 'toString']) {
      socket.send(JSON.stringify({ kind: 'call', id: 7, method }));
      const { value } = (await messages.next()) as { value: [Buffer] };
      assert.match(
        value[0].toString(),
        /"id":7,"answer":\{"ok":false,"error":\{"code":"no-such-method"/,
        method,
      );
    }
  });

  it('says in words that a process has another version, and what to do', async () => {
    const http = createHttpServer().listen(folder.pathOf(1));
    const sockets = new WebSocketServer({ server: http });
    cleanup.push(() => http.close());
    sockets.on('connection', (socket) => {
      cleanup.push(() => socket.terminate());
      socket.send(JSON.stringify({ kind: 'hello', protocol: PROTOCOL + 1, version: '9.9.9' }));
    });
    const other = createServer((socket) => socket.on('error', () => {}).end('{"ok":false}\n'));
    cleanup.push(() => other.close());
    await once(other.listen(folder.pathOf(2)), 'listening');
    await serve(tunnelOf(new RequestLog()), 3);
    const seen: OtherVersion[] = [];
    const found = await findTunnels(folder, (why) => seen.push(why));
    assert.deepEqual(
      found.map(({ slug }) => slug),
      ['demo'],
    );
    assert.equal(seen.length, 2);
    assert.match(seen.map(String).join(), /another version serves it: 9\.9\.9, .*Restart that process/);
  });

  it('gives up on a process whose answer never ends', async () => {
    const server = createServer((socket) => {
      const chunk = Buffer.alloc(1024 * 1024, 'x');
      const go = (): void => void socket.write(chunk, (error) => !error && go());
      socket.on('error', () => {});
      go();
    });
    cleanup.push(() => server.close());
    await new Promise<void>((resolve) => server.listen(folder.pathOf(1), resolve));
    const inspector = new Inspector({ path: folder.pathOf(1), id: '', slug: '', publicUrl: '' });
    await assert.rejects(inspector.call('log:list', { reveal: false }), CallRefused);
  });

  it('is limited to 16 clients at a time', async () => {
    await serve();
    const { path } = await onlyTunnel();
    for (let n = 0; n < INSPECTORS_MAX; n++) {
      const socket = connect(path);
      cleanup.push(() => socket.destroy());
      await new Promise((resolve) => socket.once('connect', resolve));
    }
    assert.deepEqual(await findTunnels(folder), []);
  });

  it('disconnects a watcher that is further behind than the limit', async () => {
    const log = new RequestLog();
    await serve(tunnelOf(log));
    const { path, id } = await onlyTunnel();
    const socket = open(path);
    await once(socket, 'message');
    socket.pause();
    const payload = { key: id, reveal: false };
    socket.send(JSON.stringify({ kind: 'call', id: 1, method: 'log:follow', payload }));
    const subscribed = Promise.withResolvers<void>();
    const original = log.subscribe.bind(log);
    log.subscribe = (...args) => (subscribed.resolve(), original(...args));
    await subscribed.promise;
    // Twice the limit, plus what the system buffers for a socket.
    const count = (2 * INSPECT_BACKLOG_MAX_BYTES) / 200;
    for (let n = 0; n < count; n++) record(log);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    let received = 0;
    socket.on('message', ({ length }: Buffer) => (received += length));
    socket.resume();
    await closed;
    assert.ok(received < 2 * INSPECT_BACKLOG_MAX_BYTES, `${received} bytes`);
  });
});
