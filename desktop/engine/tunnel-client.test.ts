import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { WebSocket } from 'ws';
import { type FakeRelay, startFakeRelay } from '../testing/fake-relay.ts';
import { closeServers, listen } from '../testing/servers.ts';
import type { TunnelSession, TunnelState } from './control/tunnel-session.ts';
import { localPort } from './local/local-target.ts';
import { createTunnelClient } from './tunnel-client.ts';

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

/** The whole engine, with a relay that the test plays and a local service that echoes the targets of its requests. */
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
      tunnelId: '0b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
      local: localPort(await listen(site)),
      onState: (state) => states.emit(state.name, state),
      onProblem: ({ text }) => assert.fail(text),
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

  async function visit(control: WebSocket, id: string): Promise<{ socket: WebSocket; answer: string }> {
    const accepted = relay.data();
    control.send(JSON.stringify({ type: 'connection', id }));
    const { socket, target } = await accepted;
    assert.equal(target, `/ws/data?id=${id}`);
    return { socket, answer: await ask(socket, id) };
  }

  it('serves visitors from the local port, several at once', async () => {
    const control = await goOnline();
    const first = await visit(control, 'one');
    const second = await visit(control, 'two');
    assert.match(first.answer, /^HTTP\/1\.1 200 OK\r\n[^]*you asked for \/one$/);
    assert.match(second.answer, /you asked for \/two$/);
  });

  it('serves a visitor who comes over a data socket offered ahead', async () => {
    const offered = relay.warm();
    await goOnline();
    assert.match(await ask(await offered, 'warm'), /^HTTP\/1\.1 200 OK\r\n[^]*you asked for \/warm$/);
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

  it('changes the control connection when it is woken, and cuts nobody', async () => {
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
