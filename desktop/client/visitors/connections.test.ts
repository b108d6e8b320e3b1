import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { HostHeader } from '../../../shared/value-rules.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { IDLE_ATTEMPT, FakeStream } from '../../testing/fake-stream.ts';
import { closedPort, closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import type { DataSource } from '../data/data-dialer.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { localPort } from '../local/local-service.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import {
  type ConnectionProblem,
  Connections,
  HostedConnections,
  HostMap,
  serviceOfRequest,
  CONNECTIONS_MAX,
  CONTROL_BUSY_FOR_MS,
} from './connections.ts';

function setUp(port: number, open: DataSource['open'], hostHeader: HostHeader = 'keep') {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const problems: ConnectionProblem[] = [];
  const connections = new Connections({
    data: { open },
    local: new LocalDialer({ ...localPort(port), hostHeader }, deadlines),
    deadlines,
    onProblem: (problem) => problems.push(problem),
  });
  return { clock, connections, problems, codes: () => problems.map(({ code }) => code) };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** A visitor's request to that port. */
function visit(port: number) {
  const stream = new FakeStream();
  const world = setUp(port, opens(stream));
  world.connections.acceptStream(stream, Buffer.from(GET));
  return { ...world, stream };
}

/** Opens this data socket for every visitor. */
function opens(stream: FakeStream): DataSource['open'] {
  return (_id, handler) => {
    setImmediate(() => handler.opened(stream));
    return IDLE_ATTEMPT;
  };
}

describe('Connections', () => {
  afterEach(closeServers);

  it('pipes a visitor to the local service, and forgets the connection at its end', async () => {
    const port = await startTcp((socket) =>
      socket.on('data', (chunk) => socket.end(`got ${chunk.toString()}`)),
    );
    const stream = new FakeStream();
    const { connections, problems } = setUp(port, opens(stream));
    connections.accept('1');
    assert.equal(connections.size, 1);
    await stream.until(({ paused }) => !paused);
    stream.receive('hello');
    await stream.until(({ ended }) => ended !== undefined);
    assert.equal(stream.sent, 'got hello');
    assert.equal(stream.ended, 1000);
    assert.deepEqual(problems, []);
  });

  it('is busy with a visitor, and for a minute afterwards', async () => {
    const stream = new FakeStream();
    const { clock, connections } = setUp(await closedPort(), opens(stream));
    assert.equal(connections.isBusy, false);
    connections.accept('1');
    assert.equal(connections.isBusy, true);
    await stream.until(({ paused }) => !paused);
    stream.receive(GET);
    await stream.until(({ ended }) => ended !== undefined);
    clock.advance(CONTROL_BUSY_FOR_MS - 1);
    assert.deepEqual([connections.size, connections.isBusy], [0, true]);
    clock.advance(1);
    assert.equal(connections.isBusy, false);
  });

  it('responds instead of a service that closes without a response, and reports it', async () => {
    const port = await startTcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const { connections, stream, codes } = visit(port);
    await stream.until(({ ended }) => ended !== undefined);
    assert.match(stream.sent, /^HTTP\/1\.1 502 [^]*Culvert-Error: local-reset/);
    assert.deepEqual([codes(), stream.ended, connections.size], [['local-reset'], 1000, 0]);
  });

  for (const [name, error, code] of [
    ['a visitor that has left', new RelayRefusal(404, 'connection not found'), 'visitor-gone'],
    ['a relay that refuses', new RelayRefusal(503, 'service unavailable'), 'data-refused'],
    ['a relay that is away', new RelayUnreachable('it did not respond in time'), 'data-failed'],
  ] as const)
    it(`reports ${name}, and forgets the connection`, async () => {
      const port = await startTcp((socket) => socket.resume());
      const { connections, codes } = setUp(port, (_id, handler) => {
        setImmediate(() => handler.failed(error));
        return IDLE_ATTEMPT;
      });
      connections.accept('1');
      while (connections.size > 0) await turn();
      assert.deepEqual(codes(), [code]);
    });

  it('rejects visitors beyond the limit', () => {
    const { connections, codes } = setUp(1, () => IDLE_ATTEMPT);
    for (let count = 0; count < CONNECTIONS_MAX; count++) connections.accept(String(count));
    assert.deepEqual(codes(), []);
    connections.accept('one more');
    assert.deepEqual(codes(), ['too-many-connections']);
    connections.cut();
  });

  it('cuts everything, including connections being opened', async () => {
    let cancelled = 0;
    const port = await startTcp((socket) => socket.resume());
    const { connections, problems } = setUp(port, () => ({ cancel: () => (cancelled += 1) }));
    connections.accept('1');
    connections.accept('2');
    connections.cut();
    assert.deepEqual([cancelled, connections.size], [2, 0]);
    assert.deepEqual(problems, []);
  });

  it('reports once that a visitor has been waiting for 30 s, and lets the visitor wait', async () => {
    const asked = Promise.withResolvers<Socket>();
    const port = await startTcp((socket) => socket.once('data', () => asked.resolve(socket)));
    const { clock, stream, codes } = visit(port);
    const service = await asked.promise;
    clock.advance(25_000);
    assert.deepEqual(codes(), []);
    clock.advance(120_000);
    assert.deepEqual(codes(), ['local-slow']);
    service.end('HTTP/1.1 200 OK\r\n\r\nlate');
    await stream.until(({ ended }) => ended === 1000);
    assert.match(stream.sent, /late$/);
  });

  const BLOCKED = 'HTTP/1.1 403 Forbidden\r\n\r\nBlocked request. This host ("a") is';
  for (const [hostHeader, answer, setting] of [
    ['keep', BLOCKED, 'Vite'],
    ['keep', 'Unauthorized', 'Next.js'],
    ['local', BLOCKED, undefined],
  ] as const)
    it(`reports ${setting ?? 'no setting'} for a service that refuses the host name, with ${hostHeader}`, async () => {
      const port = await startTcp((socket) => socket.once('data', () => socket.end(answer)));
      const stream = new FakeStream();
      const { connections, problems, codes } = setUp(port, opens(stream), hostHeader);
      connections.acceptStream(stream, Buffer.from('GET /_next/hmr HTTP/1.1\r\nHost: a\r\n\r\n'));
      await stream.until(({ ended }) => ended !== undefined);
      assert.deepEqual(codes(), setting === undefined ? [] : ['host-blocked']);
      if (setting !== undefined) assert.match(JSON.stringify(problems), new RegExp(setting));
    });
});

const PORTS = { api: 3001, 'a--b': 3002, '*': 3000 };

/** A service that answers with its name, and what it got. */
function startNamed(name: string): Promise<number> {
  return startTcp((socket) => socket.on('data', (chunk) => socket.end(`${name} got ${chunk.toString()}`)));
}

function request(host: string): string {
  return `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
}

describe('HostMap', () => {
  const urls = {
    subdomain: 'https://shop.tunnels.test:8443',
    wildcard: 'https://*--shop.tunnels.test:8443',
  };
  const own = { ...urls, wildcard: 'https://*.example.com' };
  for (const [host, port, map = new HostMap({ urls }, PORTS, 80)] of [
    ['api--shop.tunnels.test', 3001],
    ['API--Shop.tunnels.test.:8443', 3001],
    ['a--b--shop.tunnels.test', 3002],
    ['b--shop.tunnels.test', 3000],
    ['x--api--shop.tunnels.test', 3000],
    ['constructor--shop.tunnels.test', 3000],
    ['shop.tunnels.test', 80],
    ['shop.acme.tunnels.test', 80],
    ['api.shop.tunnels.test', 80],
    ['api.example.com', 80],
    ['', 80],
    ['api.example.com', 3001, new HostMap({ urls: own }, PORTS, 80)],
    ['x.example.com', 3000, new HostMap({ urls: own }, PORTS, 80)],
    ['example.com', 80, new HostMap({ urls: own }, PORTS, 80)],
    ['api--shop.tunnels.test', 3001, new HostMap({ urls: own }, PORTS, 80)],
    ['x--shop.tunnels.test', 80, new HostMap({ urls }, { api: 3001 }, 80)],
  ] as const)
    it(`forwards ${host || 'an empty host'} to ${port}`, () => assert.equal(map.portOf(host), port));
});

describe('HostedConnections', () => {
  let problems: ConnectionProblem[];
  let open: DataSource['open'];
  let hosted: HostedConnections;
  let stream: FakeStream;

  beforeEach(async () => {
    problems = [];
    stream = new FakeStream();
    open = (_id, handler) => {
      setImmediate(() => handler.opened(stream));
      return IDLE_ATTEMPT;
    };
    const [main, api] = await Promise.all([startNamed('main'), startNamed('api')]);
    const deadlines = new Deadlines(new FakeClock());
    const to = (port: number): Connections =>
      new Connections({
        data: { open: (id, handler) => open(id, handler) },
        local: new LocalDialer(localPort(port), deadlines),
        deadlines,
        onProblem: (problem) => problems.push(problem),
      });
    const connections = to(main);
    hosted = new HostedConnections({
      data: { open: (id, handler) => open(id, handler) },
      hosts: new HostMap({ urls: { subdomain: 'http://shop.test' } }, { api }, main),
      byPort: new Map([
        [main, connections],
        [api, to(api)],
      ]),
      main: connections,
    });
  });

  afterEach(closeServers);

  it('passes a visitor to the service of its host, with all that it sent', async () => {
    const text = `${request('api--shop.test')}more`;
    hosted.acceptStream(stream, Buffer.from(text));
    await stream.until(({ ended }) => ended !== undefined);
    assert.equal(stream.sent, `api got ${text}`);
    assert.equal(hosted.isBusy, true);
  });

  it('waits for the rest of a head, over a data socket', async () => {
    hosted.accept('1');
    assert.equal(hosted.isBusy, true);
    await stream.until(({ paused }) => !paused);
    const text = request('api--shop.test');
    stream.receive(text.slice(0, 30));
    stream.receive(text.slice(30));
    await stream.until(({ ended }) => ended !== undefined);
    assert.equal(stream.sent, `api got ${text}`);
  });

  it('passes anything other than a request to the main service', async () => {
    hosted.acceptStream(stream, Buffer.from('no request\r\n\r\n'));
    await stream.until(({ ended }) => ended !== undefined);
    assert.match(stream.sent, /^main got /);
  });

  it('forgets a visitor who leaves early, and reports one that could not be reached', () => {
    hosted.acceptStream(stream, Buffer.from('GET'));
    assert.equal(hosted.isBusy, true);
    stream.closeByRelay(1006);
    assert.equal(hosted.isBusy, false);
    open = (_id, handler) => {
      handler.failed(new RelayRefusal(404, 'gone'));
      return IDLE_ATTEMPT;
    };
    hosted.accept('2');
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['visitor-gone'],
    );
  });

  it('cuts visitors who wait', () => {
    hosted.acceptStream(stream, Buffer.from('GET'));
    hosted.cut();
    assert.equal(stream.ended, 'cut');
    assert.equal(hosted.isBusy, false);
  });
});

describe('serviceOfRequest', () => {
  const local = localPort(80);
  const deadlines = new Deadlines(new FakeClock());
  const urls = { subdomain: 'https://shop.tunnels.test' };
  const find = serviceOfRequest(local, { tunnel: { urls }, ports: PORTS }, deadlines);
  for (const [head, port] of [
    ['Host: api--shop.tunnels.test\r\n', 3001],
    ['Host: localhost:3001\r\nX-Forwarded-Host: api--shop.tunnels.test\r\n', 3001],
    ['Host: shop.tunnels.test\r\n', 80],
    ['broken', 80],
  ] as const)
    it(`finds ${port} for ${head.trim()}`, () =>
      assert.equal(find(Buffer.from(`GET / HTTP/1.1\r\n${head}\r\n`)).target.port, port));
});
