import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream, IDLE_ATTEMPT } from '../../testing/fake-stream.ts';
import { closedPort, closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import type { DataHandler } from '../data/data-dialer.ts';
import { RequestLog } from '../inspector/request-log.ts';
import type { RequestSummary } from '../inspector/records.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { localPort } from '../local/local-service.ts';
import { RelayRefusal } from '../relay/errors.ts';
import { type ConnectionProblem, Connections } from './connections.ts';

const PEERS = '203.0.113.7:51234 192.0.2.1:10022';

interface World {
  readonly clock: FakeClock;
  readonly connections: Connections;
  readonly stream: FakeStream;
  /** the service's end */
  readonly service: Promise<Socket>;
  readonly problems: ConnectionProblem[];
  /** the only connection, as the log has it */
  logged(): RequestSummary;
}

/** @param port of the service; by default, one whose connections the test uses */
async function setUp({ proxyProtocol = false, port }: { proxyProtocol?: boolean; port?: number } = {}) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const log = new RequestLog(clock);
  const connected = Promise.withResolvers<void>();
  log.watch(({ connectedMs }) => connectedMs !== undefined && connected.resolve());
  const problems: ConnectionProblem[] = [];
  const accepted = Promise.withResolvers<Socket>();
  const local = port ?? (await startTcp((socket) => accepted.resolve(socket)));
  const raw = { protocol: 'tcp', remotePort: undefined, proxyProtocol } as const;
  const stream = new FakeStream();
  stream.peers = PEERS;
  const announced = Promise.withResolvers<DataHandler>();
  const connections = new Connections({
    data: {
      open(_id, handler) {
        announced.resolve(handler);
        return IDLE_ATTEMPT;
      },
    },
    local: new LocalDialer({ ...localPort(local), raw }, deadlines),
    deadlines,
    recorder: log,
    onProblem: (problem) => problems.push(problem),
  });
  const world: World = {
    clock,
    connections,
    stream,
    service: accepted.promise,
    problems,
    logged: () => log.list()[0] ?? assert.fail('nothing is logged'),
  };
  return { ...world, announced: announced.promise, connected: connected.promise };
}

/** A visitor on a trunk, and the service's end of its connection. */
async function visit(options?: Parameters<typeof setUp>[0]) {
  const world = await setUp(options);
  world.connections.acceptStream(world.stream, Buffer.alloc(0));
  await world.connected;
  return { ...world, service: await world.service };
}

async function received(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString('latin1');
}

async function untilOver({ connections }: Pick<World, 'connections'>): Promise<void> {
  while (connections.size > 0) await turn();
}

describe('RawConnection', () => {
  afterEach(closeServers);

  it('lets the service speak first, and passes bytes both ways as they are', async () => {
    const world = await visit();
    const { stream, service } = world;
    service.write('SSH-2.0-server\r\n');
    await stream.until(({ sent }) => sent === 'SSH-2.0-server\r\n');
    stream.receive('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(await received(service), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const { method, target, connection, bytesIn, bytesOut } = world.logged();
    assert.deepEqual([method, target, connection], ['TCP', '203.0.113.7:51234', 'open']);
    assert.deepEqual([bytesIn, bytesOut], [27, 16]);
  });

  it('passes on what the visitor sends while the local connection is being opened, its end included', async () => {
    const world = await setUp();
    const { stream } = world;
    world.connections.acceptStream(stream, Buffer.from('early '));
    stream.receive('bird');
    assert.equal(stream.paused, true);
    stream.endByRelay();
    const service = await world.service;
    let text = '';
    for await (const chunk of service.setEncoding('latin1')) text += chunk;
    assert.deepEqual([text, stream.paused], ['early bird', false]);
    service.end('answer');
    await stream.until(({ ended }) => ended !== undefined);
    assert.deepEqual([stream.sent, stream.ended], ['answer', 1000]);
    await untilOver(world);
    assert.equal(world.logged().connection, 'done');
  });

  it('ends each direction for itself', async () => {
    const world = await visit();
    const { stream, service } = world;
    service.end('all');
    await stream.until(({ sent }) => sent === 'all<eof>');
    stream.receive('more');
    assert.equal(await received(service), 'more');
    assert.equal(stream.ended, undefined);
    stream.endByRelay();
    await once(service, 'end');
    await untilOver(world);
    assert.deepEqual(
      [stream.ended, world.logged().connection, world.logged().isBroken],
      [1000, 'done', false],
    );
  });

  it('answers a visitor that has sent everything when its data socket opens', async () => {
    const world = await setUp();
    const { stream } = world;
    world.connections.accept('id', PEERS);
    const handler = await world.announced;
    await world.connected;
    const attach = stream.attach.bind(stream);
    stream.attach = (reader) => {
      attach(reader);
      stream.receive('request');
      stream.endByRelay();
    };
    handler.opened(stream);
    const service = await world.service;
    assert.equal(await received(service), 'request');
    await once(service, 'end');
    service.end('answer');
    await stream.until(({ ended }) => ended !== undefined);
    assert.deepEqual([stream.sent, stream.ended], ['answer', 1000]);
    await untilOver(world);
    assert.equal(world.logged().target, '203.0.113.7:51234');
  });

  it('begins with a PROXY header that is not counted, if the service wants it', async () => {
    const world = await visit({ proxyProtocol: true });
    const header = Buffer.from(await received(world.service), 'latin1').toString('hex');
    assert.equal(header, '0d0a0d0a000d0a515549540a2111000ccb007107c0000201c8222726');
    world.stream.receive('x');
    assert.deepEqual([await received(world.service), world.logged().bytesIn], ['x', 1]);
  });

  it('resets the visitor if nothing listens, and reports that as for HTTP', async () => {
    const world = await setUp({ port: await closedPort() });
    world.connections.acceptStream(world.stream, Buffer.alloc(0));
    await world.stream.until(({ ended }) => ended !== undefined);
    assert.deepEqual([world.stream.sent, world.stream.ended], ['', 1011]);
    assert.deepEqual(
      world.problems.map(({ code }) => code),
      ['local-refused'],
    );
    assert.deepEqual([world.connections.size, world.logged().connection], [0, 'refused']);
  });

  it('opens the data socket of a visitor whose service is gone, to tell the relay', async () => {
    const world = await setUp({ port: await closedPort() });
    world.connections.accept('id');
    const handler = await world.announced;
    while (world.problems.length === 0) await turn();
    assert.equal(world.connections.size, 1);
    handler.opened(world.stream);
    assert.deepEqual([world.stream.ended, world.connections.size], [1011, 0]);
  });

  it('resets the visitor after what a service has sent that resets', async () => {
    const world = await visit();
    world.service.write('partial');
    await world.stream.until(({ sent }) => sent === 'partial');
    world.service.resetAndDestroy();
    await world.stream.until(({ ended }) => ended !== undefined);
    await untilOver(world);
    assert.deepEqual([world.stream.ended, world.logged().connection], [1011, 'service-reset']);
    assert.equal(world.logged().isBroken, true);
  });

  for (const [code, how] of [
    [1001, 'visitor-reset'],
    [1006, 'cut'],
  ] as const)
    it(`resets the service when the stream ends with ${code}`, async () => {
      const world = await visit();
      const failed = once(world.service, 'error');
      world.service.resume();
      world.stream.closeByRelay(code);
      const [error] = (await failed) as [NodeJS.ErrnoException];
      assert.equal(error.code, 'ECONNRESET');
      await untilOver(world);
      assert.equal(world.logged().connection, how);
    });

  it('gives the service 10 s to end after a clean end of the relay, and drops what it sends', async () => {
    const world = await visit();
    world.stream.closeByRelay(1000);
    world.service.resume();
    await once(world.service, 'end');
    world.service.write('unheard');
    world.clock.advance(9000);
    assert.equal(world.connections.size, 1);
    world.clock.advance(1500);
    await untilOver(world);
    assert.deepEqual([world.stream.sent, world.logged().connection], ['', 'done']);
  });

  it('forgets a visitor whose data socket cannot be opened, and resets the service', async () => {
    const world = await setUp();
    world.connections.accept('id');
    const handler = await world.announced;
    const service = await world.service;
    await world.connected;
    const failed = once(service, 'error');
    service.resume();
    handler.failed(new RelayRefusal(404, 'connection not found'));
    await failed;
    assert.deepEqual(
      world.problems.map(({ code }) => code),
      ['visitor-gone'],
    );
    await untilOver(world);
  });

  it('stops the service while the visitor does not read, and the visitor while the service does not', async () => {
    const world = await visit();
    const { stream, service } = world;
    stream.room = false;
    service.write(Buffer.alloc(8 * 1024 * 1024));
    await stream.until(({ sent }) => sent.length > 0);
    for (let count = 0; count < 50; count += 1) await turn();
    const { length } = stream.sent;
    for (let count = 0; count < 50; count += 1) await turn();
    assert.equal(stream.sent.length, length);
    stream.drain();
    await stream.until(({ sent }) => sent.length === 8 * 1024 * 1024);
    service.pause();
    while (!stream.paused) stream.receive(Buffer.alloc(256 * 1024));
    world.clock.advance(11_000);
    assert.equal(stream.looks, 2);
    service.resume();
    await stream.until(({ paused }) => !paused);
  });

  it('cuts both ends', async () => {
    const world = await visit();
    const failed = once(world.service, 'error');
    world.service.resume();
    world.connections.cut();
    await failed;
    assert.deepEqual([world.stream.ended, world.connections.size], ['cut', 0]);
    assert.equal(world.logged().connection, 'cut');
  });
});
