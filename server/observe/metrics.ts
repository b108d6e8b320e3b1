/** The relay's metrics for Prometheus: counters, and current values. */
import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  type Metric,
  Registry,
} from 'prom-client';
import { VERSION } from '../../shared/version.ts';
import {
  accessLines,
  apiAnswers,
  apiRefusals,
  type Gauges,
  certificateOrders,
  type Distribution,
  dnsQuestions,
  moves,
  refusals,
  rendezvousWait,
  requests,
  storeOperations,
  traffic,
} from './counters.ts';

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** the labels, with their values */
  readonly labels: Readonly<Record<string, string>>;
}

function metric(type: MetricEntry['type'], help: string, labels: MetricEntry['labels'] = {}): MetricEntry {
  return { type, help, labels };
}

/** Every metric of the relay; docs/reference/metrics.md is generated from this table. */
export const METRICS = {
  culvert_requests_total: metric('counter', 'Requests by destination and outcome.', {
    to: '`tunnel`, `relay` (API and WebSocket endpoints) or `nowhere`',
    outcome:
      '`answered` (complete response with any status), `upgraded` (to a WebSocket), `refused` (the relay responded itself), `broken` (the response was cut off) or `abandoned` (the visitor left first)',
  }),
  culvert_refusals_total: metric('counter', 'Error responses that the relay sent to visitors.', {
    reason: 'a `Culvert-Error` code, such as `tunnel-offline`',
  }),
  culvert_api_answers_total: metric('counter', 'Responses sent by the API.', {
    operation: 'method and route, or `none`',
    status: 'the HTTP status',
  }),
  culvert_api_refusals_total: metric(
    'counter',
    'Error responses sent by the API and the WebSocket endpoints.',
    { reason: 'the `code` of the error, such as `invalid-key`' },
  ),
  culvert_connections_total: metric(
    'counter',
    'Accepted connections from visitors, clients and API callers.',
  ),
  culvert_visitor_connections: metric('gauge', 'Open connections from visitors and API callers.'),
  culvert_traffic_bytes_total: metric('counter', 'Bytes transferred through tunnels, including headers.', {
    direction: '`in` (to clients) or `out` (to visitors)',
  }),
  culvert_tunnels: metric('gauge', 'Live tunnels.'),
  culvert_tunnels_online: metric('gauge', 'Live tunnels with a connected client.'),
  culvert_access_log_dropped_total: metric('counter', 'Access log lines that could not be written.'),
  culvert_data_sockets_total: metric(
    'counter',
    'Data sockets opened by clients, including those that took over large streams from a trunk.',
  ),
  culvert_data_streams: metric('gauge', 'Data sockets and trunk streams that are serving a visitor.'),
  culvert_trunks: metric('gauge', 'Open trunks (client connections that several visitors share).'),
  culvert_trunk_streams: metric('gauge', 'Open streams on trunks.'),
  culvert_trunk_streams_total: metric('counter', 'Visitors that reached their client through a trunk.'),
  culvert_trunk_moves_total: metric(
    'counter',
    'Large streams that the relay asked the client to move from a trunk to a data socket.',
    { outcome: '`moved`, or `timeout` if the client opened no data socket within 10 s' },
  ),
  culvert_certificate_orders_total: metric('counter', 'Certificate orders.', {
    outcome:
      '`issued`, `failed` (the authority refused the order or could not validate the challenge), `authority` (the authority could not be reached or used) or `limited` (too many orders in an hour)',
  }),
  culvert_certificates: metric('gauge', 'Certificates obtained through ACME that have not expired.'),
  culvert_certificate_waits: metric(
    'gauge',
    'TLS handshakes that are waiting for a certificate to be issued.',
  ),
  culvert_certificate_seconds_left: metric(
    'gauge',
    "Seconds until the certificate for the relay's own name expires; negative after that, 0 if there is none yet. A relay that does not serve TLS lacks this metric.",
  ),
  culvert_dns_questions_total: metric('counter', 'Queries received on the DNS port.', {
    outcome:
      '`answered`, `refused` (not a challenge query), `failed` (database error), `truncated` (the resolver was told to retry over TCP) or `dropped` (not answered)',
  }),
  culvert_rendezvous_pending: metric(
    'gauge',
    "Visitors waiting for their tunnel's client or for its data socket.",
  ),
  culvert_rendezvous_wait_seconds: metric(
    'histogram',
    'How long visitors waited for a data socket or a trunk stream, if a new one was needed.',
  ),
  culvert_store_operation_seconds: metric(
    'histogram',
    'Duration of database operations, including time spent in the queue.',
    { operation: 'the operation, such as `insertTunnel`' },
  ),
  culvert_store_failures_total: metric('counter', 'Failed database operations.', {
    operation: 'the operation, such as `insertTunnel`',
  }),
  culvert_build_info: metric('gauge', 'Always 1.', { version: 'the version of the relay' }),
} satisfies Readonly<Record<string, MetricEntry>>;

type MetricName = keyof typeof METRICS;

/** @returns all metrics of the relay and of its process */
export function createMetrics(gauges: Gauges): Registry {
  const registry = new Registry();
  const registers = [registry];

  function counter(name: MetricName, read: () => Iterable<Sample>) {
    const { help, labels: labelMeanings } = METRICS[name];
    return new Counter({
      name,
      help,
      labelNames: Object.keys(labelMeanings),
      registers,
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.inc(labels, value);
      },
    });
  }

  /**
   * @param read returns `undefined` for a metric that this relay does not have
   * @param aggregator what it is for several processes of a relay together
   */
  function gauge(
    name: MetricName,
    read: () => number | undefined,
    aggregator: 'sum' | 'max' | 'min' = 'sum',
  ) {
    return new Gauge({
      name,
      help: METRICS[name].help,
      registers,
      aggregator,
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  }

  counter('culvert_requests_total', requestSamples);
  counter('culvert_refusals_total', () =>
    Object.entries(refusals).map(([reason, value]) => [{ reason }, value]),
  );
  counter('culvert_api_answers_total', apiSamples);
  counter('culvert_api_refusals_total', () => [...apiRefusals].map(([reason, value]) => [{ reason }, value]));
  counter('culvert_connections_total', () => [[{}, traffic.connections]]);
  counter('culvert_traffic_bytes_total', () => [
    [{ direction: 'in' }, traffic.bytesIn],
    [{ direction: 'out' }, traffic.bytesOut],
  ]);
  counter('culvert_access_log_dropped_total', () => [[{}, accessLines.dropped]]);
  counter('culvert_data_sockets_total', () => [[{}, traffic.dataSockets]]);
  counter('culvert_trunk_streams_total', () => [[{}, traffic.trunkStreams]]);
  counter('culvert_trunk_moves_total', () =>
    Object.entries(moves).map(([outcome, value]) => [{ outcome }, value]),
  );
  gauge('culvert_tunnels', gauges.tunnels, 'max');
  gauge('culvert_tunnels_online', () => gauges.links().online);
  gauge('culvert_visitor_connections', gauges.visitors);
  gauge('culvert_data_streams', () => gauges.links().streams);
  gauge('culvert_trunks', () => gauges.links().trunks);
  gauge('culvert_trunk_streams', () => gauges.links().trunkStreams);
  counter('culvert_certificate_orders_total', () =>
    Object.entries(certificateOrders).map(([outcome, value]) => [{ outcome }, value]),
  );
  gauge('culvert_certificates', () => gauges.certificates().stored, 'max');
  gauge('culvert_certificate_waits', () => gauges.certificates().waiting);
  gauge('culvert_certificate_seconds_left', () => gauges.certificates().ownSecondsLeft, 'min');
  counter('culvert_dns_questions_total', () =>
    Object.entries(dnsQuestions).map(([outcome, value]) => [{ outcome }, value]),
  );
  gauge('culvert_rendezvous_pending', () => gauges.links().pending);
  registry.registerMetric(
    histogram('culvert_rendezvous_wait_seconds', METRICS.culvert_rendezvous_wait_seconds.help, () => [
      [{}, rendezvousWait],
    ]),
  );
  registry.registerMetric(
    histogram('culvert_store_operation_seconds', METRICS.culvert_store_operation_seconds.help, () =>
      [...storeOperations].map(([operation, { seconds }]) => [{ operation }, seconds]),
    ),
  );
  counter('culvert_store_failures_total', () =>
    [...storeOperations].map(([operation, { failures }]) => [{ operation }, failures]),
  );
  new Gauge({
    name: 'culvert_build_info',
    help: METRICS.culvert_build_info.help,
    labelNames: ['version'],
    registers,
    aggregator: 'first',
  }).set({ version: VERSION }, 1);
  collectDefaultMetrics({ register: registry });
  return registry;
}

/**
 * The metrics of several processes together.
 *
 * @param parts returns what each of them counts; those that reject are left out
 */
export function sumOfMetrics(parts: () => Promise<unknown>[]): Pick<Registry, 'contentType' | 'metrics'> {
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    async metrics() {
      const counted = await Promise.allSettled(parts());
      const given = counted.flatMap((each) => (each.status === 'fulfilled' ? [each.value as object] : []));
      return await AggregatorRegistry.aggregate(given).metrics();
    },
  };
}

function requestSamples(): Sample[] {
  return Object.entries(requests).flatMap(([to, outcomes]) =>
    Object.entries(outcomes).map(([outcome, value]): Sample => [{ to, outcome }, Number(value)]),
  );
}

function apiSamples(): Sample[] {
  return [...apiAnswers].map(([key, value]) => {
    const [status = '', ...operation] = key.split(' ');
    return [{ operation: operation.join(' '), status }, value];
  });
}

/* Distributions as a metric of prom-client, which does not accept external counts. */

type Labels = Readonly<Record<string, string>>;

/**
 * @param read returns each distribution with its labels; called at each collection
 * @returns a metric to be registered; it has no values of its own
 */
export function histogram(
  name: string,
  help: string,
  read: () => Iterable<readonly [labels: Labels, distribution: Distribution]>,
): Metric {
  const get = () =>
    Promise.resolve({
      name,
      help,
      type: 'histogram',
      values: [...read()].flatMap(valuesOf),
      aggregator: 'sum',
    });

  function valuesOf([labels, distribution]: readonly [Labels, Distribution]) {
    const { bounds, count, sum } = distribution;
    const buckets = distribution.cumulative().map((value, i) => bucket(String(bounds[i]), value));
    return [
      ...buckets,
      bucket('+Inf', count),
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];

    function bucket(le: string, value: number) {
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value };
    }
  }

  // A registry uses nothing of a metric except its name and this.
  return { name, help, get } as unknown as Metric;
}
