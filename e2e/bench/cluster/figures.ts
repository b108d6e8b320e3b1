/** The target figures for several relays as one. */
import type { Figure } from '../report.ts';
import type { Samples } from '../stats.ts';

/** The share of one relay's throughput that must remain with a hop. */
const HOP_LEAVES = 0.65;
const ONE = 'one relay';
const HOP = 'three relays, hop';

export const CLUSTER_FIGURES: readonly Figure[] = [
  throughput('requests/s over a hop, keep-alive c16', 'keep-alive c16', 'req/s'),
  throughput('requests/s over a hop, new c16', 'new c16', 'req/s'),
  throughput('download over a hop', 'download', 'MB/s'),
  busiest('the same with a core for each relay, keep-alive c16', 'keep-alive c16', 'CPU µs/request'),
  busiest('the same with a core for each relay, new c16', 'new c16', 'CPU µs/request'),
  busiest('the same with a core for each relay, download', 'download', 'CPU s/GiB'),
  messages('1 relay', 0),
  messages('2 relays', 1),
  messages('3 relays', 1),
];

function throughput(what: string, load: string, measure: string): Figure {
  const value: Figure['value'] = (samples) =>
    samples.ratio(`${load}/${HOP}/${measure}`, `${load}/${ONE}/${measure}`);
  return { what, against: ONE, goal: HOP_LEAVES, atMost: false, value };
}

/** The throughput of the busiest relay if nothing else limited it. */
function busiest(what: string, load: string, measure: string): Figure {
  const most = (samples: Samples, way: string): number | undefined => {
    const values = ['A', 'B', 'C'].map((relay) => samples.median(`${load}/${way}/${measure} ${relay}`));
    return values.includes(undefined) ? undefined : Math.max(...values.map(Number));
  };
  const value: Figure['value'] = (samples) => {
    const [alone, hop] = [most(samples, ONE), most(samples, HOP)];
    return alone === undefined || hop === undefined ? undefined : alone / hop;
  };
  return { what, against: ONE, goal: HOP_LEAVES, atMost: false, value };
}

function messages(relays: string, goal: number): Figure {
  return {
    what: `messages through Redis for a new visitor, ${relays}`,
    against: 'each request',
    goal,
    atMost: true,
    value: (samples) => samples.median(`new c12, visitors on all/${relays}/Redis messages/request`),
  };
}
