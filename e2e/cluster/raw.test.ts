import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls, createServer } from 'node:tls';
import { Authority } from '../support/certificates.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually, within } from '../support/deadline.ts';
import { startBalancer } from '../support/native-server.ts';
import { Culvert, type Environment } from '../support/programs.ts';
import { RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { SpecClient } from '../support/spec-client/client.ts';
import { closedPort, startRawService } from '../support/services/listen.ts';

const VISITORS = 40;

/** Relays that share the ports of TCP tunnels, among which the system distributes visitors. */
describe('TCP tunnels of two relays', () => {
  const scope = suiteScope();
  let cluster: RelayCluster;

  async function startCluster(settings: Environment = {}): Promise<RelayCluster> {
    const first = 16_000 + ((await closedPort()) % 14_000);
    return await RelayCluster.start(scope, 2, {
      CULVERT_TCP_PORTS: `${first}-${first + 20}`,
      CULVERT_REUSE_PORT: 'true',
      ...settings,
    });
  }

  before(async () => {
    cluster = await startCluster();
  });

  /** What a visitor gets that sends everything before it reads. */
  async function visit(port: number): Promise<string> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    scope.defer(() => socket.destroy());
    socket.end('request');
    return await text(socket);
  }

  it('are served by each of them, for a client at one of them', async () => {
    const service = await startRawService(scope, (socket) => {
      socket.write('banner ');
      socket.once('data', (bytes: Buffer) => socket.end(bytes));
    });
    const request = { local_port: service.port, protocol: 'tcp' };
    const { tunnel } = await SpecClient.start(scope, cluster.relay(0), cluster.key, request);
    const port = Number(new URL(tunnel.public_url).port);
    const visitAll = async (): Promise<void> => {
      const answers = await Promise.all(Array.from({ length: VISITORS }, () => visit(port)));
      assert.deepEqual([...new Set(answers)], ['banner request']);
    };
    await eventually(60_000, visitAll);
    await cluster.relay(1).stop();
    await visitAll();
    await cluster.relay(1).restart();
    await eventually(60_000, visitAll);
    const { requests } = await cluster.api(1).get(tunnel.id);
    assert.ok(requests > 0);
  }).timeout(300_000);

  for (const [carriers, trunks] of [
    ['trunks', '2'],
    ['data sockets', '0'],
  ] as const)
    it(`pass half-closes on in both directions at each of them, over ${carriers} that arrive at any`, async () => {
      const relays = await startCluster({ CULVERT_TRUNKS: trunks, CULVERT_ACCESS_LOG: 'stderr' });
      const balancer = await closedPort();
      await startBalancer(
        scope,
        balancer,
        relays.relays.map((relay) => relay.port),
      );
      const received: string[] = [];
      // Ends once the visitor has, or first if it is told to.
      const service = await startRawService(scope, (socket) => {
        let all = '';
        socket.setEncoding('utf8').on('data', (bytes: string) => {
          all += bytes;
          if (all === 'you first') socket.end('bye');
        });
        socket.once('end', () => {
          received.push(all);
          if (socket.writable) socket.end(`got ${all}`);
        });
      });
      const words = ['tcp', String(service.port)];
      const { tunnel } = await Culvert.run(scope, { url: `http://127.0.0.1:${balancer}` }, relays.key, words);
      const port = Number(new URL(tunnel.public_url).port);
      const late = async (): Promise<string> => {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
        scope.defer(() => socket.destroy());
        const visitor = RawConnection.over(socket);
        await visitor.write('you first');
        const answer = await visitor.reader.exactly(3);
        assert.equal(await visitor.ending, 'end');
        await visitor.write(' and more');
        visitor.halfClose();
        return String(answer);
      };
      const servedBy = (index: number): number =>
        relays
          .relay(index)
          .child.stderr.split('\n')
          .filter((line) => line.includes('"outcome":"answered"') && line.includes(tunnel.id)).length;
      await eventually(60_000, async () => {
        await Promise.all(Array.from({ length: VISITORS }, () => visit(port)));
        for (const index of [0, 1]) assert.ok(servedBy(index) > 0, `relay ${index}`);
      });
      received.length = 0;
      const visits = Array.from({ length: VISITORS }, (_, index) => (index % 2 ? visit(port) : late()));
      assert.deepEqual([...new Set(await Promise.all(visits))].toSorted(), ['bye', 'got request']);
      await eventually(20_000, () => assert.equal(received.length, VISITORS));
      assert.deepEqual([...new Set(received)].toSorted(), ['request', 'you first and more']);
    }).timeout(200_000);

  it('have different ports, also if both create them at the same time', async () => {
    const create = (index: number) => cluster.api(index % 2).create({ local_port: 9, protocol: 'tcp' });
    await cluster.relay(0).administer('account', 'set-plan', '--name', 'default', '--plan', 'team');
    const tunnels = await eventually(60_000, () => Promise.all([create(0), create(1), create(2)]));
    assert.equal(new Set(tunnels.map(({ public_url }) => public_url)).size, 3);
  }).timeout(200_000);
});

describe('TLS tunnels of two relays', () => {
  const scope = suiteScope();

  it('are found by the first message of a handshake with either of them, as soon as they are created', async () => {
    const authority = new Authority(scope);
    const { cert, key } = authority.issue();
    const cluster = await RelayCluster.start(scope, 2, { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key });
    const own = authority.issue('own.localhost');
    const server = createServer({ cert: readFileSync(own.cert), key: readFileSync(own.key) }, (socket) => {
      socket.on('error', () => socket.destroy());
      socket.pipe(socket);
    });
    server.listen(0, '127.0.0.1');
    scope.defer(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const trust = { NODE_EXTRA_CA_CERTS: authority.path };
    const words = ['tls', String(port), '--name', 'own'];
    await Culvert.run(scope, cluster.relay(0), cluster.key, words, trust);
    for (const relay of [cluster.relay(1), cluster.relay(0)]) {
      const to = { port: relay.port, host: '127.0.0.1', servername: 'own.localhost', ca: authority.pem };
      const visitor = connectTls(to);
      scope.defer(() => visitor.destroy());
      await within(20_000, 'handshake', once(visitor, 'secureConnect'));
      assert.ok(visitor.getPeerCertificate().subjectaltname?.includes('own.localhost'));
      visitor.end('echo');
      assert.equal(await within(20_000, 'echo', text(visitor)), 'echo');
    }
  }).timeout(200_000);
});
