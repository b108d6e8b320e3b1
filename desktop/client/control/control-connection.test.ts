import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { KNOCK_AGENT_MAX_LENGTH } from '../../../shared/control.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type FakeRelay, startFakeRelay, closedPort, closeServers, startTcp } from '../../testing/servers.ts';
import { toMessage } from '../messages.ts';
import { Network } from '../network/network.ts';
import { parseRelayAddress, type RelayAddress } from '../relay/relay-address.ts';
import { ControlConnection, type ControlEnd } from './control-connection.ts';

const KEY = `cvt_${'k'.repeat(32)}`;

/** A control connection to that relay, and what it reports. */
function connectTo(
  relay: RelayAddress,
  {
    network = new Network(),
    address,
    isCut = false,
  }: { readonly network?: Network; readonly address?: string; readonly isCut?: boolean } = {},
) {
  const visitors = { isBusy: false };
  const heard: string[] = [];
  const clock = new FakeClock();
  const told = new EventEmitter();
  const reports: unknown[][] = [];
  const report = (...event: [string, unknown?]): void => {
    reports.push(event);
    told.emit(event[0]);
  };
  const opened = once(told, 'open') as Promise<[string | undefined]>;
  const ended = (once(told, 'end') as Promise<[ControlEnd]>).then(([end]) => end);
  const connection = new ControlConnection(
    {
      relay,
      key: KEY,
      tunnelId: 'tunnel-1',
      network,
      clock,
      random: () => 0,
      address,
      isCut,
      isBusy: () => visitors.isBusy,
    },
    {
      onOpen: (from) => told.emit('open', from),
      onConnection: (id) => report('connection', id),
      onDrain: () => report('drain'),
      onKnock: (knock) => report('knock', knock),
      onProblem: (problem) => report('problem', problem),
      onSilent: () => heard.push('silence'),
      onHeard() {
        heard.push('heard');
        told.emit('heard');
      },
      onEnd: (end) => told.emit('end', end),
    },
  );
  return { clock, told, reports, opened, ended, connection, visitors, heard };
}

const PENDING = '8f14e45f-ceea-467f-a0e6-1c1d2e3f4a5b';
const KNOCK = {
  type: 'knock',
  id: '0b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  address: '2001:db8::7',
  agent: 'Mozilla/5.0 (X11; Linux x86_64)',
  at: '2026-07-10T12:00:00.000Z',
};
const PROBLEM = { type: 'problem', code: 'local-malformed', detail: 'SSH-2.0' };
const HUGE = 1024 * 1024;

describe('ControlConnection', () => {
  afterEach(closeServers);

  let relay: FakeRelay;
  beforeEach(async () => {
    relay = await startFakeRelay();
  });

  /** An open connection and the relay's end of it. */
  async function open(): Promise<ReturnType<typeof connectTo> & { socket: WebSocket }> {
    const accepted = relay.control();
    const client = connectTo(relay.address);
    await client.opened;
    return { ...client, socket: await accepted };
  }

  it('authenticates, offers no compression and reports the address of the relay', async () => {
    const { opened, socket } = await open();
    assert.deepEqual(relay.keys, [`Bearer ${KEY}`]);
    assert.equal(socket.extensions, '');
    assert.deepEqual(await opened, ['127.0.0.1']);
  });

  const NO_IDS = ['1', '\ud800', '', `${PENDING}&key=1`, `${PENDING}\n`, 7, null, [PENDING], undefined];
  const NO_KNOCKS = Object.entries({
    id: ['../account', '', 7],
    address: ['my neighbour', undefined],
    agent: [null],
    at: ['now', '1', '2026-99-10T12:00:00.000Z'],
  }).flatMap(([field, values]) => values.map((value) => ({ ...KNOCK, [field]: value })));
  const [LONG, CUT] = [2000, KNOCK_AGENT_MAX_LENGTH].map((length) => ({
    ...KNOCK,
    agent: 'x'.repeat(length),
  }));
  const NO_PROBLEMS = [{ code: 'unknown' }, { detail: '\x1b[31m' }, { detail: 7 }].map((change) => ({
    ...PROBLEM,
    ...change,
  }));

  for (const [what, messages, reported] of [
    ['nothing for messages it does not know', [{ type: 'news', id: '0' }, []], []],
    // Anything but a UUID could not be put into an address, or would change it.
    ['nothing for an id that no connection has', NO_IDS.map((id) => ({ type: 'connection', id })), []],
    ['that the relay is shutting down, and stays open', [{ type: 'drain' }], [['drain']]],
    [
      'approval requests, and ignores malformed ones',
      [...NO_KNOCKS, LONG, KNOCK],
      [
        ['knock', CUT],
        ['knock', KNOCK],
      ],
    ],
    ['problems that the relay has found', [...NO_PROBLEMS, PROBLEM], [['problem', PROBLEM]]],
  ] as const)
    it(`reports ${what}`, async () => {
      const { socket, told, reports } = await open();
      socket.send(Buffer.from('binary'));
      for (const message of messages) socket.send(JSON.stringify(message));
      socket.send(JSON.stringify({ type: 'connection', id: PENDING }));
      await once(told, 'connection');
      assert.deepEqual(reports, [...reported, ['connection', PENDING]]);
    });

  it('answers pings', async () => {
    const { socket } = await open();
    socket.ping('are you there');
    const [payload] = (await once(socket, 'pong')) as [Buffer];
    assert.equal(payload.toString(), 'are you there');
  });

  const tooLarge = JSON.stringify({ type: 'connection', id: 'x'.repeat(5000) });
  for (const [what, act] of [
    ['when the connection breaks', (socket) => socket.terminate()],
    ['at a message that is not JSON', (socket) => socket.send('{')],
    ['at a message that is too large', (socket) => socket.send(tooLarge)],
  ] as const satisfies [string, (socket: WebSocket) => void][])
    it(`reports a loss ${what}`, async () => {
      const { socket, ended } = await open();
      act(socket);
      assert.equal((await ended).kind, 'lost');
    });

  it('reports the close code of the relay', async () => {
    const { socket, ended } = await open();
    socket.close(4001);
    assert.deepEqual(await ended, { kind: 'closed', code: 4001, reason: '' });
  });

  it('reports a loss after 75 s without data, not before', async () => {
    const { socket, clock, ended, told } = await open();
    clock.advance(14_000);
    socket.ping();
    await once(told, 'heard');
    // From here on it answers no pings.
    socket.pause();
    clock.advance(74_999);
    assert.equal(clock.waiting[0], 1);
    clock.advance(1);
    assert.deepEqual(await ended, { kind: 'lost', why: toMessage('network.tooSilent') });
  });

  it('pings every 15 s, and every 5 s while there are visitors', async () => {
    const { socket, clock, visitors, told } = await open();
    const pings: number[] = [];
    socket.on('ping', () => pings.push(clock.monotonic()));
    for (const [isBusy, seconds] of [
      [false, 30],
      [true, 15],
      [false, 15],
    ] as const) {
      visitors.isBusy = isBusy;
      for (let passed = 0; passed < seconds; passed += 5) {
        clock.advance(5000);
        if (isBusy || passed % 15 === 10) await once(told, 'heard');
      }
    }
    assert.deepEqual(pings, [15_000, 30_000, 35_000, 40_000, 45_000, 60_000]);
  });

  it('reports that a ping is unanswered for 3 s, again every 5 s, and that something was heard', async () => {
    const { socket, clock, heard, told } = await open();
    let pings = 0;
    socket.on('ping', () => (pings += 1));
    socket.pause();
    clock.advance(17_999);
    assert.deepEqual(heard, []);
    clock.advance(1);
    assert.deepEqual(heard, ['silence']);
    clock.advance(10_000);
    assert.deepEqual(heard, ['silence', 'silence', 'silence']);
    socket.resume();
    await once(told, 'heard');
    // One ping is enough while it is unanswered.
    assert.equal(pings, 1);
    clock.advance(2000);
    await once(told, 'heard');
    assert.deepEqual(heard.slice(3), ['heard', 'heard']);
  });

  it('pings immediately when asked to, unless an answer is due', async () => {
    const { socket, connection, heard, clock } = await open();
    let pings = 0;
    socket.on('ping', () => (pings += 1));
    connection.probe();
    connection.probe();
    clock.advance(3000);
    assert.deepEqual(heard, ['silence']);
    connection.probe();
    await once(socket, 'ping');
    connection.close();
    await once(socket, 'close');
    assert.equal(pings, 1);
  });

  for (const isCut of [true, false])
    it(`opens ${isCut ? 'another connection' : 'no other'} beside one that hangs if the line was ${isCut ? '' : 'not '}cut`, async () => {
      const hanging: Socket[] = [];
      const port = await startTcp((socket) => {
        hanging.push(socket);
        if (hanging.length <= 2) return;
        const upstream = connect(relay.address.port, '127.0.0.1').on('error', () => {});
        socket.pipe(upstream).pipe(socket);
      });
      const { clock, opened, connection } = connectTo(parseRelayAddress(`http://127.0.0.1:${port}`), {
        isCut,
      });
      const arrived = async (count: number): Promise<void> => {
        while (hanging.length < count || clock.waiting.length === 0) await turn();
      };
      await arrived(1);
      while (!connection.mayHaveArrived) await turn();
      clock.advance(1000);
      if (isCut) {
        await arrived(2);
        clock.advance(1000);
        await opened;
        assert.equal(connection.strays, 2);
        assert.equal(hanging.length, 3);
      } else {
        clock.advance(8000);
        await turn();
        assert.deepEqual([hanging.length, connection.strays], [1, 0]);
      }
      connection.close();
    });

  it('may have arrived as soon as its request is sent', async () => {
    const accepted = relay.control();
    const { connection, told } = connectTo(relay.address);
    assert.equal(connection.mayHaveArrived, false);
    connection.probe();
    await accepted;
    assert.equal(connection.mayHaveArrived, true);
    connection.close();
    told.on('end', () => assert.fail('onEnd was called'));
  });

  for (const [what, length, body, message] of [
    ['with Retry-After', 31, '{"error":"service unavailable"}', 'service unavailable'],
    ['that breaks off', 999, '{"error":', 'it responded with status 503'],
    ['without end, which it does not read', HUGE, 'x'.repeat(HUGE), 'it responded with status 503'],
  ] as const)
    it(`reports a refusal ${what}`, async () => {
      relay.refuseWith(`HTTP/1.1 503 No\r\nRetry-After: 3\r\nContent-Length: ${length}\r\n\r\n${body}`);
      const end = await connectTo(relay.address).ended;
      assert.equal(end.kind, 'refused');
      const { refusal } = end;
      assert.deepEqual([refusal.status, refusal.message, refusal.retryAfterMs], [503, message, 3000]);
    });

  it('dials by name first, then twice by the known address of the relay, and so on', () => {
    const dialled: (string | undefined)[] = [];
    const network = {
      connect(_relay: unknown, options: { readonly address?: string }) {
        dialled.push(options.address);
        return { cancel() {} };
      },
    } as unknown as Network;
    const address = '192.0.2.1';
    const { connection, clock } = connectTo(relay.address, { network, address });
    clock.advance(9000);
    assert.deepEqual(dialled, [undefined, address, address, undefined, address, address]);
    connection.close();
    assert.deepEqual(clock.waiting, []);
  });

  it('reports a loss if nothing listens, or something other than a WebSocket server', async () => {
    const refused = await connectTo(parseRelayAddress(`http://127.0.0.1:${await closedPort()}`)).ended;
    assert.deepEqual(refused, { kind: 'lost', why: toMessage('network.refused'), isOffline: false });
    const port = await startTcp((socket) => socket.end('hello\r\n\r\n'));
    assert.equal((await connectTo(parseRelayAddress(`http://127.0.0.1:${port}`)).ended).kind, 'lost');
  });

  it('reports nothing after it is closed, and closes with 1000', async () => {
    const { socket, connection, told, clock } = await open();
    told.on('end', () => assert.fail('onEnd was called'));
    const closed = once(socket, 'close') as Promise<[number]>;
    connection.close();
    const [code] = await closed;
    assert.equal(code, 1000);
    assert.ok(clock.waiting.length <= 1);
  });

  it("waits at most 1 s for the relay's Close frame", async () => {
    const { socket, connection, clock } = await open();
    socket.pause();
    connection.close();
    clock.advance(999);
    assert.equal(clock.waiting.length, 1);
    clock.advance(1);
    assert.equal(clock.waiting.length, 0);
    socket.resume();
    // Its TCP connection ended before it could respond.
    await once(socket, 'close');
  });

  it('gives up after 10 s, even if the relay keeps sending slowly', async () => {
    const clients: ReturnType<typeof connectTo>[] = [];
    const port = await startTcp((socket) => {
      socket.resume();
      socket.write('HTTP/1.1 101 Switching Protocols\r\n');
      clients[0]?.clock.advance(9999);
      socket.write('Upgrade: websocket\r\n');
      clients[0]?.clock.advance(1);
    });
    const client = connectTo(parseRelayAddress(`http://127.0.0.1:${port}`));
    clients.push(client);
    const lost = { kind: 'lost', why: toMessage('network.silent'), isSilent: true };
    assert.deepEqual(await client.ended, lost);
    assert.deepEqual(client.clock.waiting, []);
  });
});
