import type { RelayCluster } from '../../support/cluster.ts';
import { type PostgresServer, query } from '../../support/postgres.ts';
import type { Scope } from '../../support/scope.ts';
import { familyCpuSeconds } from '../machine.ts';
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

export interface Asked {
  /** scripts that Redis has run */
  readonly scripts: number;
  /** messages through Redis, each one to one relay or to all */
  readonly published: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** single statements included */
  readonly transactions: number;
  readonly rowsWritten: number;
}

/** PostgreSQL's own statistics, which its processes update once a second while they are active. */
const COUNTS = `select xact_commit as transactions, tup_inserted + tup_updated + tup_deleted as rows
  from pg_stat_database where datname = current_database()`;

export class StoreCounters {
  readonly #cluster: RelayCluster;

  constructor(cluster: RelayCluster) {
    this.#cluster = cluster;
  }

  /** Totals since the servers have started. */
  async read(): Promise<Asked> {
    const [{ scripts, published, bytesIn, bytesOut }, [row]] = await Promise.all([
      this.#cluster.redis.counters(),
      query(this.#cluster.database, COUNTS),
    ]);
    const transactions = Number(row?.['transactions']);
    return { scripts, published, bytesIn, bytesOut, transactions, rowsWritten: Number(row?.['rows']) };
  }

  /** The load between two readings, divided by a number of units. */
  static rate(from: Asked, to: Asked, units: number): Asked {
    const each = (of: (asked: Asked) => number): number => (of(to) - of(from)) / units;
    return {
      scripts: each(({ scripts }) => scripts),
      published: each(({ published }) => published),
      bytesIn: each(({ bytesIn }) => bytesIn),
      bytesOut: each(({ bytesOut }) => bytesOut),
      transactions: each(({ transactions }) => transactions),
      rowsWritten: each(({ rowsWritten }) => rowsWritten),
    };
  }
}
