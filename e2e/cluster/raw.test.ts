import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { suiteScope } from '../support/scope.ts';
import { SpecClient } from '../support/spec-client/client.ts';
import { closedPort, startRawService } from '../support/services/listen.ts';

const VISITORS = 40;

/** Relays that share the ports of TCP tunnels, among which the system distributes visitors. */
describe('TCP tunnels of two relays', () => {
  const scope = suiteScope();
  let cluster: RelayCluster;

  before(async () => {
    const first = 16_000 + ((await closedPort()) % 14_000);
    cluster = await RelayCluster.start(scope, 2, {
      CULVERT_TCP_PORTS: `${first}-${first + 20}`,
      CULVERT_REUSE_PORT: 'true',
    });
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

  it('have different ports, also if both create them at the same time', async () => {
    const create = (index: number) => cluster.api(index % 2).create({ local_port: 9, protocol: 'tcp' });
    await cluster.relay(0).administer('account', 'set-plan', '--name', 'default', '--plan', 'team');
    const tunnels = await eventually(60_000, () => Promise.all([create(0), create(1), create(2)]));
    assert.equal(new Set(tunnels.map(({ public_url }) => public_url)).size, 3);
  }).timeout(200_000);
});
