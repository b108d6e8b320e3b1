import assert from 'node:assert/strict';
import { IDLE_ATTEMPT } from '../../testing/attempts.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { closeServers, startTcp } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import type { DataSource } from '../data/data-dialer.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { localPort } from '../local/local-service.ts';
import { RelayRefusal } from '../relay/errors.ts';
import { type ConnectionProblem, Connections } from './connections.ts';
import { HostedConnections, HostMap, serviceOfRequest } from './hosted-connections.ts';

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
  const hosts = new HostMap({ urls }, PORTS, 80);
  const cases: [host: string, port: number][] = [
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
  ];
  for (const [host, port] of cases)
    it(`forwards ${host || 'an empty host'} to ${port}`, () => {
      assert.equal(hosts.portOf(host), port);
    });

  it('knows the hosts of a wildcard domain', () => {
    const own = new HostMap({ urls: { ...urls, wildcard: 'https://*.example.com' } }, PORTS, 80);
    const found = ['api.example.com', 'x.example.com', 'example.com', 'api--shop.tunnels.test'];
    assert.deepEqual(
      found.map((host) => own.portOf(host)),
      [3001, 3000, 80, 3001],
    );
  });

  it('forwards hosts without a port of their own to that of the tunnel', () => {
    assert.equal(new HostMap({ urls }, { api: 3001 }, 80).portOf('x--shop.tunnels.test'), 80);
  });
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
  const cases: [head: string, port: number][] = [
    ['Host: api--shop.tunnels.test\r\n', 3001],
    ['Host: localhost:3001\r\nX-Forwarded-Host: api--shop.tunnels.test\r\n', 3001],
    ['Host: shop.tunnels.test\r\n', 80],
    ['broken', 80],
  ];
  for (const [head, port] of cases)
    it(`finds ${port} for ${head.trim()}`, () => {
      assert.equal(find(Buffer.from(`GET / HTTP/1.1\r\n${head}\r\n`)).target.port, port);
    });
});
