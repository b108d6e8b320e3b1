import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectSocket, createServer, type Server, Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { certificate, newKey, pemOf, publicKeyOf } from '../certificates/acme/x509.ts';
import { LISTEN_BACKLOG } from '../listeners.ts';
import { EdgeFixture, type FakeStream, TestVisitor, until } from '../testing/edge-fixture.ts';
import { Edge } from './edge.ts';
import { bind, boundPort, listen, type Pair } from './listener.ts';
import { DEADLINE_TICK_MS, DRAIN_IDLE_MS } from './timeouts.ts';

async function selfSigned(name: string): Promise<Pair> {
  const key = await newKey();
  const content = { names: [name], publicKey: publicKeyOf(key), extensions: [] };
  const cert = certificate({ ...content, from: Date.now() - 60_000, until: Date.now() + 3_600_000 }, key);
  return { cert, key: pemOf(key) };
}

/** Whether a whole request has arrived on the stream. */
function isAsked(stream: FakeStream): boolean {
  return stream.received.endsWith('\r\n\r\n');
}

describe('Edge', () => {
  let fixture: EdgeFixture;
  let server: Server;
  let edge: Edge;
  let accepted: Socket[];
  let visitors: TestVisitor[];
  /** of visitors that were served */
  let streams: FakeStream[];

  beforeEach(async () => {
    fixture = new EdgeFixture();
    server = await bind('127.0.0.1', 0);
    accepted = [];
    visitors = [];
    streams = [];
    server.on('connection', (socket: Socket) => accepted.push(socket));
    edge = new Edge(server, fixture.upstreams, { visitors: 2, newcomers: 5 }, fixture.addresses);
  });

  afterEach(() => {
    edge.destroy();
    for (const { socket } of visitors) socket.destroy();
    for (const socket of fixture.given) socket.destroy();
  });

  async function connect(): Promise<TestVisitor> {
    const visitor = await TestVisitor.connect(boundPort(server));
    visitors.push(visitor);
    return visitor;
  }

  /** Serves a visitor of the tunnel once, so that its connection waits for the next request. */
  async function served(visitor: TestVisitor): Promise<TestVisitor> {
    visitor.get('abc.localhost');
    await until(() => fixture.dials.length === 1 || streams.some(isAsked));
    if (fixture.dials.length === 1) streams.push(fixture.openStream());
    const stream = streams.find(isAsked);
    stream?.answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere');
    if (stream !== undefined) stream.received = '';
    await visitor.receives('here');
    return visitor;
  }

  /** Starts as many requests as there are slots. */
  async function fill(): Promise<TestVisitor[]> {
    const both = [await connect(), await connect()];
    for (const visitor of both) visitor.get('abc.localhost');
    await until(() => fixture.dials.length === 2);
    return both;
  }

  it('refuses visitors beyond the limit', async () => {
    await fill();
    const third = await connect();
    third.get('abc.localhost');
    const response = await third.receives('Try again in a moment.');
    assert.match(
      response,
      /^HTTP\/1\.1 503 [^]*Culvert-Error: relay-busy\r\n[^]*Retry-After: 5\r\n[^]*Connection: close\r\n/,
    );
    await third.ended;
    assert.equal(fixture.dials.length, 2);
  });

  it('keeps serving connections with a slot, even from one tunnel to another', async () => {
    const [first] = await fill();
    fixture.openStream().answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere');
    await first?.receives('here');
    first?.get('abc.localhost', '/', 'Connection: close\r\n');
    await until(() => fixture.dials.length === 1);
    assert.equal(first?.text, '');
  });

  it('closes idle connections when slots are short, longest idle first', async () => {
    const [first, second] = [await connect(), await connect()];
    await served(first);
    await served(second);
    await served(first);
    const third = await served(await connect());
    await second.ended;
    assert.equal(second.text, '');
    assert.match((await served(first)).text, /^$/);
    third.get('abc.localhost', '/', 'X-In-The-Middle:');
    await until(() => (accepted[2]?.bytesRead ?? 0) > 80);
    await served(await connect());
    assert.match(await third.receives('relay-busy'), /^HTTP\/1\.1 503 /);
  });

  it('assigns no slot to visitors that the relay itself responds to', async () => {
    const own = [await connect(), await connect(), await connect()];
    for (const [index, visitor] of own.entries()) {
      if (index === 0) visitor.get('nobody.localhost');
      else visitor.get('localhost');
      await visitor.receives(index === 0 ? 'tunnel-unknown' : 'api');
    }
    await fill();
    for (const visitor of own) {
      visitor.get('nobody.localhost');
      await visitor.receives('tunnel-unknown');
    }
    assert.equal(fixture.dials.length, 2);
  });

  it('says why the tunnel could not be reached, and releases the slot', async () => {
    for (const [fault, status] of [
      ['tunnel-offline', 503],
      ['client-timeout', 504],
    ] as const) {
      const visitor = await connect();
      visitor.get('abc.localhost');
      await until(() => fixture.dials.length === 1);
      fixture.dials.shift()?.failed(fault);
      assert.match(await visitor.receives(fault), new RegExp(`^HTTP/1\\.1 ${status} `));
    }
    await fill();
    assert.equal(fixture.dials.length, 2);
  });

  it('accepts visitors again after one has disconnected', async () => {
    const [first] = await fill();
    first?.socket.resetAndDestroy();
    await until(() => accepted[0]?.destroyed === true);
    const third = await connect();
    third.get('abc.localhost');
    await until(() => fixture.dials.length === 3);
    assert.equal(third.text, '');
  });

  it('still serves its own API', async () => {
    await fill();
    const third = await connect();
    third.get('localhost');
    assert.match(await third.receives('api'), /^HTTP\/1\.1 200 OK\r\n/);
  });

  it('accepts clients, whose sockets do not count as visitors', async () => {
    await fill();
    for (let count = 0; count < 5; count += 1) {
      const client = await connect();
      client.get('localhost', '/ws/data?id=x', 'Connection: upgrade\r\nUpgrade: websocket\r\n');
      await client.receives('101 Switching Protocols');
    }
    assert.equal(fixture.given.length, 5);
  });

  it('cuts the oldest connection without a request to accept new ones', async () => {
    await fill();
    const silent: TestVisitor[] = [];
    for (let count = 0; count < 5; count += 1) silent.push(await connect());
    const client = await connect();
    await silent[0]?.ended;
    client.get('localhost', '/ws/data?id=x', 'Connection: upgrade\r\nUpgrade: websocket\r\n');
    await client.receives('101 Switching Protocols');
    assert.deepEqual(
      accepted.slice(2, 5).map((socket) => socket.destroyed),
      [true, false, false],
    );
  });

  it('hands over to other cluster members: serves open connections to their ends, and refuses new ones', async () => {
    const [first, second] = [await connect(), await connect()];
    first.get('abc.localhost');
    await until(() => fixture.dials.length === 1);
    fixture.step = 0.1;
    await edge.handOver();
    fixture.step = 0;
    assert.equal(server.listening, false);
    second.get('abc.localhost');
    await until(() => fixture.dials.length === 2);
    for (const visitor of [first, second]) {
      fixture.openStream().answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere');
      assert.match(await visitor.receives('here'), /^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n/);
      await visitor.ended;
      visitor.socket.destroy();
    }
    await edge.empty();
  });

  it('holds requests back during a handoff, those of the API only after the current ones have been answered', async () => {
    const visitor = await connect();
    visitor.get('localhost', '/v1/tunnels');
    const late = await connect();
    await until(() => accepted.length === 2);
    await visitor.receives('api');
    assert.equal(await edge.hold(), true);
    late.get('abc.localhost');
    const newcomer = await connect();
    newcomer.get('abc.localhost');
    await until(() => accepted.length === 3 && accepted.every(({ bytesRead }) => bytesRead > 0));
    assert.equal(fixture.dials.length, 0);
    edge.resume();
    await until(() => fixture.dials.length === 2);
  });

  it('recalls a scheduled request to the API during a handoff', async () => {
    const visitor = await connect();
    await until(() => accepted.length === 1);
    const turn = once(accepted[0] ?? server, 'data');
    visitor.get('localhost', '/v1/tunnels');
    await turn;
    // It would be scheduled in the next iteration of the event loop.
    assert.equal(await edge.hold(), true);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(visitor.text, '');
    edge.resume();
    await visitor.receives('api');
  });

  it('serves a connection from the previous relay for one response', async () => {
    const before = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(before, 'listening');
    const near = connectSocket(boundPort(before), '127.0.0.1');
    const [far] = (await once(before, 'connection')) as [Socket];
    before.close();
    accepted.push(near);
    edge.adopt(far, { address: '192.0.2.1', proto: 'https', trusted: false });
    near.write('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
    await until(() => fixture.dials.length === 1);
    const stream = fixture.openStream();
    assert.match(stream.received, /X-Forwarded-For: 192\.0\.2\.1\r\n[\s\S]*X-Forwarded-Proto: https\r\n/);
    stream.answer('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere');
    const [head] = (await once(near, 'data')) as [Buffer];
    assert.match(String(head), /Connection: close/);
    near.destroy();
  });

  it('closes its listener 20 ms after the latest connection, or half of that for each 100 ms of waiting', async () => {
    const regular = Array.from({ length: 100 }, (_, index) => index * 4);
    const handOvers = [
      { arrivals: [], earliest: 17, latest: 18 },
      { arrivals: [1, 5, 15], earliest: 30, latest: 32 },
      { arrivals: regular, earliest: 230, latest: 240 },
    ];
    for (const { arrivals, earliest, latest } of handOvers) {
      edge.destroy();
      server = await bind('127.0.0.1', 0);
      edge = new Edge(server, fixture.upstreams, { visitors: 2, newcomers: 3 }, fixture.addresses);
      fixture.now = 0;
      fixture.step = 0.05;
      const handedOver = edge.handOver();
      for (const at of arrivals) {
        while (server.listening && fixture.now < at) await nextTurn();
        if (server.listening) edge.acceptRaw(new Socket(), () => undefined);
      }
      await handedOver;
      fixture.step = 0;
      assert.ok(fixture.now >= earliest && fixture.now <= latest, `${arrivals.length}: ${fixture.now} ms`);
    }
  });

  it('closes its listener after an iteration of less than 0.2 ms, of twice that for each 500 ms of waiting, and after 5 s', async () => {
    const handOvers = [
      { turnMs: 0.19, earliest: 0, latest: 20 },
      { turnMs: 0.21, earliest: 30, latest: 50 },
      { turnMs: 1, earliest: 1100, latest: 1200 },
      { turnMs: 100, earliest: 4000, latest: 5000 },
      { turnMs: 250, earliest: 5000, latest: 6000 },
    ];
    for (const { turnMs, earliest, latest } of handOvers) {
      edge.destroy();
      server = await bind('127.0.0.1', 0);
      edge = new Edge(server, fixture.upstreams, { visitors: 2, newcomers: 3 }, fixture.addresses);
      fixture.now = 0;
      fixture.step = turnMs;
      await edge.handOver();
      fixture.step = 0;
      assert.ok(fixture.now >= earliest && fixture.now <= latest, `turns of ${turnMs} ms: ${fixture.now} ms`);
    }
  });

  it('holds new requests back while it has waited for 500 ms to close its listener, and serves them afterwards', async () => {
    const near = connectSocket(boundPort(server), '127.0.0.1');
    await once(server, 'connection');
    let dialsAtClose: number | undefined;
    const close = server.close.bind(server);
    server.close = (callback) => {
      dialsAtClose ??= fixture.dials.length;
      return close(callback);
    };
    fixture.now = 0;
    fixture.step = 0.6;
    const handedOver = edge.handOver();
    while (fixture.now < 520) await nextTurn();
    near.write('GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n');
    await handedOver;
    fixture.step = 0;
    assert.equal(dialsAtClose, 0);
    await until(() => fixture.dials.length === 1);
    near.destroy();
  });

  it('closes no idle connection at shutdown whose next request has arrived while the relay was busy', async () => {
    const visitor = await served(await connect());
    fixture.step = 0.1;
    await edge.handOver();
    fixture.step = 0;
    fixture.now += DRAIN_IDLE_MS;
    visitor.get('abc.localhost');
    const begin = performance.now();
    while (performance.now() - begin < DEADLINE_TICK_MS);
    await until(() => fixture.dials.length === 1 || streams.some(isAsked));
  });

  describe('with TLS', () => {
    let pair: Pair;

    before(async () => (pair = await selfSigned('abc.localhost')));

    beforeEach(async () => {
      edge.destroy();
      const guide = {
        context: () => createSecureContext(pair),
        prepare: () => undefined,
        challenge: () => Promise.resolve(undefined),
      };
      const using = { tickets: undefined, guide, pair };
      const listening = await listen(
        { tls: undefined, http2: true },
        using,
        () => {},
        async (opened) => {
          opened.listen(0, '127.0.0.1');
          await once(opened, 'listening');
        },
      );
      ({ server } = listening);
      edge = new Edge(server, fixture.upstreams, { visitors: 2, newcomers: 3 }, fixture.addresses, listening);
    });

    for (const [request, status, location] of [
      ['GET /a?b HTTP/1.1\r\nHost: abc.localhost:8443\r\n\r\n', 308, 'https://abc.localhost:8443/a?b'],
      ['POST / HTTP/1.0\r\nHost: [::1]\r\nContent-Length: 3\r\n\r\nabc', 308, 'https://[::1]/'],
      ['GET / HTTP/1.0\r\n\r\n', 400, undefined],
      ['GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 400, undefined],
      ['GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', 400, undefined],
      ['GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n', 400, undefined],
      [`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 400, undefined],
    ] as const)
      it(`answers ${status} to plain HTTP: ${request.slice(0, 50)}`, async () => {
        const visitor = await connect();
        for (const piece of [request.slice(0, 1), request.slice(1, 30), request.slice(30)]) {
          visitor.socket.write(piece);
          await nextTurn();
        }
        await visitor.ended;
        assert.match(visitor.text, new RegExp(`^HTTP/1\\.1 ${status} `));
        assert.equal(/\r\nLocation: (.*)\r\n/.exec(visitor.text)?.[1], location);
      });

    it('closes the oldest of too many connections that are neither', async () => {
      const open = [await connect(), await connect(), await connect()];
      open[0]?.socket.write('GET');
      const { ended = assert.fail() } = open[0] ?? {};
      open.push(await connect());
      await ended;
      assert.equal(open[1]?.socket.destroyed, false);
    });

    it('cuts no HTTP/2 stream whose response has begun, however long either side is silent', async () => {
      const session = connectHttp2(`https://127.0.0.1:${boundPort(server)}`, { rejectUnauthorized: false });
      const request = session.request({ ':method': 'POST', ':authority': 'abc.localhost' });
      request.write('asked');
      await until(() => fixture.dials.length === 1);
      const stream = fixture.openStream();
      await until(() => stream.received.includes('asked'));
      stream.answer('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      await once(request, 'response');
      // Until these bytes arrive, the relay may still wait for the client to confirm its settings.
      request.write('more');
      await until(() => stream.received.includes('more'));
      fixture.now += 24 * 3600_000;
      await sleep(2 * DEADLINE_TICK_MS);
      stream.answer('4\r\nlate\r\n');
      assert.equal(String((await once(request, 'data'))[0]), 'late');
      request.write('again');
      await until(() => stream.received.includes('again'));
      session.destroy();
    });
  });

  it('accepts a whole burst of connections, and serves all of them at shutdown', async () => {
    edge.destroy();
    server = await bind('127.0.0.1', 0);
    edge = new Edge(
      server,
      fixture.upstreams,
      { visitors: 2 * LISTEN_BACKLOG, newcomers: LISTEN_BACKLOG },
      fixture.addresses,
    );
    const request = 'GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n';
    const port = boundPort(server);
    const sockets = Array.from({ length: LISTEN_BACKLOG }, () => connectSocket(port, '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => {}).write(request);
    // The system has accepted all of them, and the relay none: Node connects in the next tick.
    await new Promise((resolve) => process.nextTick(resolve));
    fixture.step = 0.1;
    const settled = edge.settle();
    // A thousand connections take a while on a busy machine.
    await until(() => fixture.dials.length === LISTEN_BACKLOG, 120_000);
    while (fixture.dials.length > 0) fixture.openStream().answer('HTTP/1.1 204 No Content\r\n\r\n');
    await settled;
    for (const socket of sockets) socket.destroy();
  });
});
