import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { TestAccount } from '../support/accounts.ts';
import { assertAtLimit, eventually, timed } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { metricsOf, metricsPort, WITH_METRICS } from '../support/memory.ts';
import { RawConnection, visit, WEBSOCKET } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { startEchoService } from '../support/services/echo.ts';
import { SpecClient } from '../support/spec-client/client.ts';
import { endOf, ok, TrunkWorld, WITH_TRUNKS } from '../support/trunk-world.ts';

/** The series of requests with this destination and outcome. */
function requests(to: string, outcome: string): string {
  return `culvert_requests_total{to="${to}",outcome="${outcome}"}`;
}

describe('GET /metrics (docs/reference/metrics.md)', () => {
  const { scope, relay, pool } = relaySuite({ ...WITH_TRUNKS, ...WITH_METRICS });
  let account: TestAccount;
  let client: SpecClient;

  before(async () => {
    const service = await startEchoService(scope);
    account = await pool.take();
    client = await SpecClient.start(scope, relay, account.key, { local_port: service.port });
  });

  /** Performs an action, and waits until the series have grown by the expected amounts. */
  async function expectGrowth(expected: Readonly<Record<string, number>>, act: () => Promise<unknown>) {
    const before = await metricsOf(relay);
    await act();
    await eventually(20_000, async () => {
      const after = await metricsOf(relay);
      const grown = Object.keys(expected).map((name) => [
        name,
        (after.get(name) ?? Number.NaN) - (before.get(name) ?? 0),
      ]);
      assert.deepEqual(Object.fromEntries(grown), expected);
    });
  }

  it('is on a separate listener, not on the public one', async () => {
    assert.equal((await visit(relay.port, { host: 'localhost', target: '/metrics' })).status, 404);
  });

  it('cuts a request that does not arrive within 5 s', async () => {
    const { ms } = await timed(async () => {
      const connection = await RawConnection.open(scope, await metricsPort(relay));
      await connection.write('GET /met');
      await connection.ending;
    });
    assertAtLimit(ms, 5000);
  });

  it('counts requests to tunnels, their bytes as shown by the API, and waiting times', async () => {
    const { bytes_in, bytes_out } = await account.api.get(client.tunnel.id);
    const before = await metricsOf(relay);
    const host = hostOf(client.tunnel, relay);
    await expectGrowth(
      {
        [requests('tunnel', 'answered')]: 3,
        // Two visitors and a data socket for each.
        culvert_connections_total: 4,
        culvert_rendezvous_wait_seconds_count: 2,
      },
      async () => {
        await visit(relay.port, { host });
        const connection = await RawConnection.open(scope, relay.port);
        await connection.request({ host });
        await connection.request({ host });
        connection.socket.destroy();
      },
    );
    const [after, tunnel] = [await metricsOf(relay), await account.api.get(client.tunnel.id)];
    for (const [direction, bytes] of [
      ['in', tunnel.bytes_in - bytes_in],
      ['out', tunnel.bytes_out - bytes_out],
    ] as const) {
      const series = `culvert_traffic_bytes_total{direction="${direction}"}`;
      assert.ok(bytes > 0);
      assert.equal((after.get(series) ?? 0) - (before.get(series) ?? 0), bytes, series);
    }
  });

  it('counts refusals by reason', async () => {
    await expectGrowth(
      {
        [requests('nowhere', 'refused')]: 2,
        'culvert_refusals_total{reason="tunnel-unknown"}': 1,
        'culvert_refusals_total{reason="bad-request"}': 1,
        'culvert_api_refusals_total{reason="missing-key"}': 1,
        'culvert_api_answers_total{operation="GET /v1/tunnels",status="401"}': 1,
      },
      async () => {
        await visit(relay.port, { host: `nobody.localhost:${relay.port}` });
        await visit(relay.port, { host: 'localhost', headers: [['Host', 'again']] });
        await visit(relay.port, { host: 'localhost', target: '/v1/tunnels' });
      },
    );
  });

  it('counts refused upgrades', async () => {
    await expectGrowth(
      { [requests('relay', 'refused')]: 1, 'culvert_api_refusals_total{reason="connection-not-found"}': 1 },
      () =>
        visit(relay.port, {
          host: 'localhost',
          target: '/ws/data?id=2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47',
          headers: WEBSOCKET,
        }),
    );
  });

  describe('for a tunnel with a scripted client', () => {
    let manual: ManualClient;

    before(async () => {
      await expectGrowth({ culvert_tunnels: 1, culvert_tunnels_online: 1 }, async () => {
        manual = await ManualClient.start(scope, relay, pool);
      });
    });

    it('shows waiting visitors and open streams', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      const before = await eventually(20_000, async () => {
        const idle = await metricsOf(relay);
        assert.equal(idle.get('culvert_data_streams'), 0);
        return idle;
      });
      await visitor.write(`GET / HTTP/1.1\r\nHost: ${manual.host}\r\n\r\n`);
      const id = await manual.announced();
      const waiting = await metricsOf(relay);
      assert.equal(waiting.get('culvert_rendezvous_pending'), 1);
      const data = await manual.open(id);
      await data.receivedUpTo('\r\n\r\n');
      const open = await metricsOf(relay);
      assert.equal(open.get('culvert_rendezvous_pending'), 0);
      assert.equal(open.get('culvert_data_streams'), (before.get('culvert_data_streams') ?? 0) + 1);
      data.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      assert.equal((await visitor.response()).status, 200);
      await eventually(20_000, async () => {
        assert.equal(
          (await metricsOf(relay)).get('culvert_data_streams'),
          before.get('culvert_data_streams'),
        );
      });
    });

    it('shows trunks and the visitors on them, who need no data socket', async () => {
      const world = new TrunkWorld(scope, relay, pool);
      const { client: own, trunk } = await world.client();
      const [visitor, stream] = await world.connect(own, trunk);
      const open = await metricsOf(relay);
      assert.deepEqual([open.get('culvert_trunks'), open.get('culvert_trunk_streams')], [1, 1]);
      stream.send(ok('done'));
      assert.equal((await visitor.response()).text, 'done');
      visitor.reset();
      await endOf(stream);
      await expectGrowth(
        { culvert_trunk_streams_total: 1, culvert_data_sockets_total: 0, culvert_connections_total: 1 },
        () => world.assertServes(own, trunk),
      );
      trunk.socket.drop();
      await expectGrowth(
        { culvert_trunk_streams_total: 0, culvert_data_sockets_total: 1, culvert_connections_total: 2 },
        async () => {
          await eventually(20_000, async () =>
            assert.equal((await metricsOf(relay)).get('culvert_trunks'), 0),
          );
          const announced = await world.visitor(own);
          const data = await own.accept();
          await data.receivedUpTo('\r\n\r\n');
          data.send(ok('announced'));
          assert.equal((await announced.response()).text, 'announced');
        },
      );
      assert.equal((await metricsOf(relay)).get('culvert_trunk_streams'), 0);
    });

    it('counts responses that break off', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await expectGrowth(
        { [requests('tunnel', 'broken')]: 1, [requests('tunnel', 'abandoned')]: 0 },
        async () => {
          await visitor.write(`GET / HTTP/1.1\r\nHost: ${manual.host}\r\n\r\n`);
          const data = await manual.accept();
          data.send('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf');
          await visitor.head();
          data.socket.close(1011);
          await visitor.ending;
        },
      );
    });

    it('counts visitors that leave early', async () => {
      await expectGrowth(
        { [requests('tunnel', 'abandoned')]: 1, [requests('tunnel', 'answered')]: 0 },
        async () => {
          const visitor = connect(relay.port, '127.0.0.1');
          visitor.write(`GET / HTTP/1.1\r\nHost: ${manual.host}\r\n\r\n`);
          await manual.accept();
          visitor.resetAndDestroy();
        },
      );
    });
  });

  it('measures the operations of the store', async () => {
    const inserts = 'culvert_store_operation_seconds_count{operation="insertTunnel"}';
    await expectGrowth({ [inserts]: 1 }, () => pool.tunnel());
  });

  it('shows the process and its event loop', async () => {
    const series = await metricsOf(relay);
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes']) {
      assert.ok((series.get(name) ?? 0) > 0, name);
    }
  });
});
