import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { WebSocket } from 'ws';
import { type FakeRelay, startFakeRelay, closeServers, listen } from '../testing/servers.ts';
import type { TunnelSession, TunnelState } from './control/tunnel-session.ts';
import { localPort } from './local/local-service.ts';
import { textOf } from './messages.ts';
import { createTunnelClient } from './tunnel-client.ts';

const TUNNEL_ID = '0b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f';

/** Sends a request over a data socket, and waits for the response. */
async function ask(socket: WebSocket, target: string): Promise<string> {
  socket.send(Buffer.from(`GET /${target} HTTP/1.1\r\nHost: a\r\n\r\n`));
  let answer = '';
  while (!answer.includes('you asked for')) {
    const [message] = (await once(socket, 'message')) as [Buffer];
    answer += message.toString();
  }
  return answer;
}

/** A visitor on a trunk: OPEN, DATA and the bytes of a request (protocol.md section 10.2). */
function visitor(id: number, target: string): Buffer {
  const request = Buffer.from(`GET /${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const header = Buffer.alloc(18);
  header.writeUInt32BE(id, 1);
  header.writeUInt8(1, 9);
  header.writeUInt32BE(id, 10);
  header.writeUInt32BE(request.length, 14);
  return Buffer.concat([header, request]);
}

/** The data that each stream of a trunk has carried so far. */
function answersOn(trunk: WebSocket): ReadonlyMap<number, string> {
  const answers = new Map<number, string>();
  let bytes = Buffer.alloc(0);
  trunk.on('message', (message: Buffer) => {
    bytes = Buffer.concat([bytes, message]);
    while (bytes.length >= 9) {
      const [isData, id, size] = [bytes[0] === 1, bytes.readUInt32BE(1), bytes.readUInt32BE(5)];
      const end = 9 + (isData ? size : 0);
      if (bytes.length < end) return;
      answers.set(id, (answers.get(id) ?? '') + bytes.subarray(9, end).toString());
      bytes = bytes.subarray(end);
    }
  });
  return answers;
}

/** The whole engine, with a relay played by the test and a local service that echoes the targets of its requests. */
describe('createTunnelClient', () => {
  let relay: FakeRelay;
  let session: TunnelSession;
  const states = new EventEmitter();

  beforeEach(async () => {
    relay = await startFakeRelay();
    const site = createServer((request, response) => response.end(`you asked for ${request.url}`));
    session = createTunnelClient({
      relay: relay.address,
      key: `cvt_${'k'.repeat(32)}`,
      tunnelId: TUNNEL_ID,
      local: localPort(await listen(site)),
      onState: (state) => states.emit(state.name, state),
      onProblem: ({ text }) => assert.fail(textOf(text)),
      onKnock: (knock) => states.emit('knock', knock),
    });
  });

  afterEach(() => {
    session.stop();
    states.removeAllListeners();
    closeServers();
  });

  async function goOnline(): Promise<WebSocket> {
    const control = relay.control();
    const online = once(states, 'online');
    session.start();
    await online;
    return control;
  }

  async function visit(control: WebSocket, path: string): Promise<{ socket: WebSocket; answer: string }> {
    const accepted = relay.data();
    const id = randomUUID();
    control.send(JSON.stringify({ type: 'connection', id }));
    const { socket, target } = await accepted;
    assert.equal(target, `/ws/data?id=${id}`);
    return { socket, answer: await ask(socket, path) };
  }

  it('serves several visitors from the local port at the same time', async () => {
    const control = await goOnline();
    const first = await visit(control, 'one');
    const second = await visit(control, 'two');
    assert.match(first.answer, /^HTTP\/1\.1 200 OK\r\n[^]*you asked for \/one$/);
    assert.match(second.answer, /you asked for \/two$/);
  });

  it('opens a trunk and serves several of its visitors at the same time', async () => {
    const opened = relay.trunk();
    await goOnline();
    const { socket, target } = await opened;
    assert.equal(target, `/ws/trunk?tunnel_id=${TUNNEL_ID}`);
    const answers = answersOn(socket);
    socket.send(Buffer.concat([visitor(1, 'one'), visitor(2, 'two')]));
    for (const [id, wanted] of [
      [1, '/one'],
      [2, '/two'],
    ] as const) {
      while (answers.get(id)?.endsWith(`you asked for ${wanted}`) !== true) await once(socket, 'message');
      assert.match(answers.get(id) ?? '', /^HTTP\/1\.1 200 OK\r\n/);
    }
  });

  it('serves announced visitors if the relay accepts no trunk', async () => {
    const opened = relay.trunk();
    const control = await goOnline();
    (await opened).socket.terminate();
    assert.match((await visit(control, 'one')).answer, /you asked for \/one$/);
  });

  it('reports approval requests of the open control connection', async () => {
    const control = await goOnline();
    const message = {
      type: 'knock',
      id: 'k1',
      address: '192.0.2.7',
      agent: '',
      at: '2026-07-10T12:00:00.000Z',
    };
    const knocked = once(states, 'knock');
    control.send(JSON.stringify(message));
    assert.deepEqual(await knocked, [message]);
  });

  it('keeps open connections while the control connection is away', async () => {
    const control = await goOnline();
    const { socket } = await visit(control, 'one');
    const away = once(states, 'reconnecting');
    control.terminate();
    await away;
    socket.send(Buffer.from('GET /again HTTP/1.1\r\nHost: a\r\n\r\n'));
    const [message] = (await once(socket, 'message')) as [Buffer];
    assert.match(message.toString(), /^HTTP\/1\.1 200 OK/);
  });

  it('replaces the control connection when woken, and cuts no visitor', async () => {
    const control = await goOnline();
    const { socket } = await visit(control, 'one');
    const next = relay.control();
    const left = once(control, 'close') as Promise<[number]>;
    session.wake();
    assert.equal((await left)[0], 1000);
    assert.equal(session.state.name, 'online');
    assert.match(await ask(socket, 'again'), /you asked for \/again$/);
    assert.match((await visit(await next, 'two')).answer, /you asked for \/two$/);
  });

  it('cuts open connections when the tunnel is gone', async () => {
    const control = await goOnline();
    const { socket } = await visit(control, 'one');
    const offline = once(states, 'offline') as Promise<[TunnelState & { name: 'offline' }]>;
    const cut = once(socket, 'close');
    control.close(4001);
    const [{ reason }] = await offline;
    assert.equal(reason, 'closed');
    await cut;
  });
});
