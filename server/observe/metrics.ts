/** The relay's metrics for Prometheus (docs/operating/monitoring.md): counters, and current values. */
import { collectDefaultMetrics, Counter, Gauge, type Metric, Registry } from 'prom-client';
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

/** @returns all metrics of the relay and of its process */
export function createMetrics(gauges: Gauges): Registry {
  const registry = new Registry();
  const registers = [registry];

  function counter(name: string, help: string, labelNames: readonly string[], read: () => Iterable<Sample>) {
    return new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.inc(labels, value);
      },
    });
  }

  function gauge(name: string, help: string, read: () => number) {
    return new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }

  counter(
    'culvert_requests_total',
    "Requests by where they went and how they ended; a tunnel's are those of visitors.",
    ['to', 'outcome'],
    requestSamples,
  );
  counter(
    'culvert_refusals_total',
    'Answers the relay gave visitors itself, by Culvert-Error code.',
    ['reason'],
    () => Object.entries(refusals).map(([reason, value]) => [{ reason }, value]),
  );
  counter('culvert_api_answers_total', 'Answers of the API.', ['operation', 'status'], apiSamples);
  counter(
    'culvert_api_refusals_total',
    'Errors answered by the API and the WebSocket endpoints.',
    ['reason'],
    () => [...apiRefusals].map(([reason, value]) => [{ reason }, value]),
  );
  counter('culvert_connections_total', 'Connections accepted, of visitors, clients and the API.', [], () => [
    [{}, traffic.connections],
  ]);
  counter(
    'culvert_traffic_bytes_total',
    'Bytes of tunnels: in from visitors to clients, out from clients to visitors.',
    ['direction'],
    () => [
      [{ direction: 'in' }, traffic.bytesIn],
      [{ direction: 'out' }, traffic.bytesOut],
    ],
  );
  counter(
    'culvert_access_log_dropped_total',
    'Lines of the access log that could not be written.',
    [],
    () => [[{}, accessLines.dropped]],
  );
  counter('culvert_data_sockets_total', 'Data sockets opened by clients.', [], () => [
    [{}, traffic.dataSockets],
  ]);
  counter('culvert_trunk_streams_total', 'Visitors brought to clients through trunks.', [], () => [
    [{}, traffic.trunkStreams],
  ]);
  counter(
    'culvert_trunk_moves_total',
    'Large streams of trunks whose client was asked to go on over a data socket, by what came of it.',
    ['outcome'],
    () => Object.entries(moves).map(([outcome, value]) => [{ outcome }, value]),
  );
  gauge('culvert_tunnels', 'Live tunnels.', gauges.tunnels);
  gauge('culvert_tunnels_online', 'Live tunnels whose client is connected.', () => gauges.links().online);
  gauge('culvert_visitor_connections', 'Open connections of visitors and of the API.', gauges.visitors);
  gauge(
    'culvert_data_streams',
    'Data sockets, and streams of trunks, that serve a visitor.',
    () => gauges.links().streams,
  );
  // The name is guaranteed until 1.0.
  gauge('culvert_warm_sockets', 'Always 0: data sockets are no longer offered ahead.', () => 0);
  gauge('culvert_trunks', 'Trunks of clients that take visitors.', () => gauges.links().trunks);
  gauge('culvert_trunk_streams', 'Streams that trunks carry.', () => gauges.links().trunkStreams);
  counter(
    'culvert_certificate_orders_total',
    'Orders of certificates, by how they have ended.',
    ['outcome'],
    () => Object.entries(certificateOrders).map(([outcome, value]) => [{ outcome }, value]),
  );
  gauge(
    'culvert_certificates',
    'Certificates that were ordered and have not ended.',
    () => gauges.certificates().stored,
  );
  gauge(
    'culvert_certificate_waits',
    'Handshakes that wait for a certificate to be issued.',
    () => gauges.certificates().waiting,
  );
  gauge(
    'culvert_certificate_seconds_left',
    "Time until the certificate of the relay's own name ends; 0 without one.",
    () => gauges.certificates().ownSecondsLeft ?? 0,
  );
  counter(
    'culvert_dns_questions_total',
    'Questions to the DNS port, by what became of them.',
    ['outcome'],
    () => Object.entries(dnsQuestions).map(([outcome, value]) => [{ outcome }, value]),
  );
  gauge('culvert_rendezvous_pending', 'Visitors that wait for a data socket.', () => gauges.links().pending);
  registry.registerMetric(
    histogram(
      'culvert_rendezvous_wait_seconds',
      'Time from a visitor needing a way to its client to having one: a data socket, or a stream of a trunk.',
      () => [[{}, rendezvousWait]],
    ),
  );
  registry.registerMetric(
    histogram('culvert_store_operation_seconds', 'Time of store operations.', () =>
      [...storeOperations].map(([operation, { seconds }]) => [{ operation }, seconds]),
    ),
  );
  counter('culvert_store_failures_total', 'Store operations that failed.', ['operation'], () =>
    [...storeOperations].map(([operation, { failures }]) => [{ operation }, failures]),
  );
  new Gauge({ name: 'culvert_build_info', help: 'Always 1.', labelNames: ['version'], registers }).set(
    { version: VERSION },
    1,
  );
  collectDefaultMetrics({ register: registry });
  return registry;
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
