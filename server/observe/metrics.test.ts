import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Registry } from 'prom-client';
import { API_ERRORS, ApiError, withValues } from '../../shared/errors.ts';
import { countApiRefusal, rendezvousWait, requests } from './counters.ts';
import { createMetrics, METRICS } from './metrics.ts';
import { Listeners } from '../listeners.ts';
import { METRICS_CONNECTIONS_MAX, MetricsServer } from './metrics-server.ts';

describe('metrics', () => {
  let registry: Registry;
  let ownSecondsLeft: number | undefined = 3600;

  before(() => {
    registry = createMetrics({
      tunnels: () => 3,
      links: () => ({ online: 2, streams: 5, trunks: 4, trunkStreams: 6, pending: 1 }),
      visitors: () => 11,
      certificates: () => ({ stored: 4, waiting: 2, ownSecondsLeft }),
    });
  });

  /** The value of one series, by its name and labels as written. */
  async function value(series: string): Promise<number> {
    const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
    return Number(line?.slice(series.length) ?? assert.fail(`no series ${series}`));
  }

  it('show current values', async () => {
    const gauges = {
      culvert_tunnels: 3,
      culvert_tunnels_online: 2,
      culvert_data_streams: 5,
      culvert_trunks: 4,
      culvert_trunk_streams: 6,
      culvert_rendezvous_pending: 1,
      culvert_visitor_connections: 11,
    };
    for (const [series, expected] of Object.entries(gauges)) {
      assert.equal(await value(series), expected, series);
    }
  });

  it('show how long the certificate is valid, even negative, unless there is no TLS', async () => {
    for (ownSecondsLeft of [3600, -5])
      assert.equal(await value('culvert_certificate_seconds_left'), ownSecondsLeft);
    ownSecondsLeft = undefined;
    await assert.rejects(value('culvert_certificate_seconds_left'), /no series/);
  });

  it('show what was counted, however often they are collected', async () => {
    const series = 'culvert_requests_total{to="tunnel",outcome="answered"}';
    const before = await value(series);
    requests.tunnel.answered += 2;
    assert.equal(await value(series), before + 2);
    assert.equal(await value(series), before + 2);
  });

  it('show every series before the first event, so that its first increase is one', async () => {
    const text = await registry.metrics();
    for (const series of [
      'culvert_refusals_total{reason="tunnel-offline"}',
      'culvert_api_refusals_total{reason="rate-limited"}',
      'culvert_requests_total{to="relay",outcome="upgraded"}',
      'culvert_trunk_moves_total{outcome="timeout"}',
    ]) {
      assert.ok(text.includes(`\n${series} `), series);
    }
  });

  it('count API refusals by the codes of their errors', async () => {
    const [known, other] = ['invalid-port', 'ttl-too-long'].map(
      (reason) => `culvert_api_refusals_total{reason="${reason}"}`,
    );
    const before = [await value(known ?? ''), await value(other ?? '')];
    countApiRefusal(new ApiError(API_ERRORS.invalidPort));
    countApiRefusal(new ApiError(withValues(API_ERRORS.ttlTooLong, { duration: '2h0m0s' })));
    assert.deepEqual(
      [await value(known ?? ''), await value(other ?? '')],
      before.map((count) => count + 1),
    );
  });

  it('show waits as a histogram', async () => {
    const bucket = (le: string) => value(`culvert_rendezvous_wait_seconds_bucket{le="${le}"}`);
    const before = [await bucket('0.05'), await bucket('0.1'), await bucket('+Inf')];
    rendezvousWait.add(0.07);
    const after = [await bucket('0.05'), await bucket('0.1'), await bucket('+Inf')];
    assert.deepEqual(
      after.map((count, i) => count - (before[i] ?? 0)),
      [0, 1, 1],
    );
    assert.equal(await value('culvert_rendezvous_wait_seconds_count'), after[2]);
  });

  it('are those of the table', () => {
    const names = registry.getMetricsAsArray().map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => name.startsWith('culvert_')).toSorted(),
      Object.keys(METRICS).toSorted(),
    );
  });

  describe('on their listener', () => {
    let server: MetricsServer;
    let url: string;

    before(async () => {
      server = await MetricsServer.start(
        { host: '127.0.0.1', port: 0 },
        registry,
        (_event, fields) => {
          url = String(fields?.['url']);
        },
        new Listeners(),
      );
    });

    after(() => server.close());

    it('are text for Prometheus', async () => {
      const answer = await fetch(url);
      assert.deepEqual(
        [answer.status, answer.headers.get('content-type')],
        [200, 'text/plain; version=0.0.4; charset=utf-8'],
      );
      assert.match(await answer.text(), /^# TYPE culvert_tunnels gauge$/m);
    });

    it('answer HEAD without a body', async () => {
      const answer = await fetch(url, { method: 'HEAD' });
      assert.deepEqual([answer.status, await answer.text()], [200, '']);
    });

    it('are there for a new connection when the limit is reached, which an idle one makes room for', async () => {
      const idle = Array.from({ length: METRICS_CONNECTIONS_MAX }, () =>
        connect(Number(new URL(url).port), '127.0.0.1'),
      );
      const closed = Promise.race(idle.map((socket) => once(socket, 'close')));
      await Promise.all(idle.map((socket) => once(socket, 'connect')));
      assert.equal((await fetch(url)).status, 200);
      await closed;
      for (const socket of idle) socket.destroy();
    });

    it('are the only page', async () => {
      const statuses = [await fetch(url, { method: 'POST' }), await fetch(new URL('/', url))].map(
        ({ status }) => status,
      );
      assert.deepEqual(statuses, [405, 404]);
    });
  });
});
