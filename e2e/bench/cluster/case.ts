import type { RelayCluster } from '../../support/cluster.ts';
import { type PostgresServer, query } from '../../support/postgres.ts';
import type { Scope } from '../../support/scope.ts';
import { familyCpuSeconds } from '../../support/processes.ts';
import type { Figure } from '../report.ts';
import type { Samples } from '../stats.ts';

/** The parameters of every case with several relays. */
export interface ClusterBench {
  readonly rounds: number;
  /** seconds of each run of a load */
  readonly seconds: number;
  /** tunnels that are online without traffic */
  readonly tunnels: number;
  readonly postgres: PostgresServer;
  readonly samples: Samples;
  /** Reports progress. */
  readonly log: (text: string) => void;
}

export interface ClusterCase {
  readonly name: string;
  /** Starts what it needs in the scope, and adds samples named `case/subject/measure`. */
  run(scope: Scope, bench: ClusterBench): Promise<void>;
}

/** Processes by the names shown in the report. */
export type Groups = Readonly<Record<string, readonly number[]>>;

/** Starts measuring when it is created. */
export class ProcessorTime {
  readonly #groups: Groups;
  readonly #before: ReadonlyMap<string, number>;

  constructor(groups: Groups) {
    this.#groups = groups;
    this.#before = this.#now();
  }

  /** CPU seconds of each group since the start. */
  seconds(): Map<string, number> {
    return new Map([...this.#now()].map(([name, now]) => [name, now - (this.#before.get(name) ?? 0)]));
  }

  #now(): Map<string, number> {
    return new Map(
      Object.entries(this.#groups).map(([name, pids]) => [name, sum(pids.map(familyCpuSeconds))]),
    );
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** PostgreSQL's own statistics, which its processes update once a second while they are active. */
const COUNTS = 'select xact_commit as transactions from pg_stat_database where datname = current_database()';

/** What the relays of a cluster have asked of Redis and PostgreSQL since these have started. */
export async function readCounters(cluster: RelayCluster) {
  const [{ scripts, published, bytesIn, bytesOut }, [row]] = await Promise.all([
    cluster.redis.counters(),
    query(cluster.database, COUNTS),
  ]);
  /** Single statements included. */
  const transactions = Number(row?.['transactions']);
  return { scripts, published, bytes: bytesIn + bytesOut, transactions };
}

/* The target figures for several relays as one. */

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
