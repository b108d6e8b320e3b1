/** The load of a cluster on its Redis and its database. */
import { query } from '../../support/postgres.ts';
import type { RelayCluster } from '../../support/cluster.ts';

export interface Asked {
  /** scripts that Redis has run */
  readonly scripts: number;
  /** messages through Redis, each one to one relay or to all */
  readonly published: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** a single statement counts as one, too */
  readonly transactions: number;
  readonly rowsWritten: number;
}

/** PostgreSQL's own count, which its processes update once a second while they have something to do. */
const COUNTS = `select xact_commit as transactions, tup_inserted + tup_updated + tup_deleted as rows
  from pg_stat_database where datname = current_database()`;

export class StoreCounters {
  readonly #cluster: RelayCluster;

  constructor(cluster: RelayCluster) {
    this.#cluster = cluster;
  }

  /** Everything since the servers have started. */
  async read(): Promise<Asked> {
    const [{ scripts, published, bytesIn, bytesOut }, [row]] = await Promise.all([
      this.#cluster.redis.counters(),
      query(this.#cluster.database, COUNTS),
    ]);
    const transactions = Number(row?.['transactions']);
    return { scripts, published, bytesIn, bytesOut, transactions, rowsWritten: Number(row?.['rows']) };
  }

  /** The load in between, divided by a number of units. */
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
