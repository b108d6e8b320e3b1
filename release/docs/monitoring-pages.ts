/** Generates log-events.md and metrics.md from the tables of the relay. */
import { LOG_EVENTS } from '../../server/log.ts';
import { METRICS } from '../../server/observe/metrics.ts';
import { code, markdownTable, pageStart, prose } from './page.ts';

const EVENTS_INTRODUCTION = `The relay logs one line per event, as JSON or as text. In JSON, \`msg\` contains the event's name and \`level\` contains its level. Both are
[stable](versioning.md), so you can build alerts on them. [Monitoring](../operating/monitoring.md) explains the format.`;

const METRICS_INTRODUCTION = `Setting \`CULVERT_METRICS_PORT\` makes the relay serve \`/metrics\` for Prometheus on a separate listener. Names and labels are [stable](versioning.md). Counters
start at 0 when the relay starts. \`/metrics\` also includes the [default metrics of prom-client](https://github.com/siimon/prom-client#default-metrics):
CPU, memory, file descriptors, garbage collection and event loop lag. [Monitoring](../operating/monitoring.md) has a dashboard and alerts.`;

/** @returns log-events.md */
export function logEventsPage(): string {
  return [
    pageStart('Log events', 'server/log.ts', EVENTS_INTRODUCTION),
    markdownTable(
      ['event', 'level', 'meaning'],
      Object.entries(LOG_EVENTS).map(([event, { level, meaning }]) => [code(event), level, prose(meaning)]),
    ),
  ].join('\n');
}

/** @returns metrics.md */
export function metricsPage(): string {
  const rows = Object.entries(METRICS).map(([name, metric]) => [
    code(name),
    metric.type,
    metric.help,
    'labels' in metric
      ? Object.entries(metric.labels)
          .map(([label, values]) => `${code(label)}: ${values}`)
          .join('; ')
      : '',
  ]);
  return [
    pageStart('Metrics', 'server/observe/metrics.ts', METRICS_INTRODUCTION),
    markdownTable(['metric', 'type', 'meaning', 'labels'], rows),
    'Every request to a tunnel is counted under exactly one outcome.\n',
  ].join('\n');
}
