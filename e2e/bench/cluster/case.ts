import type { PostgresServer } from '../../support/postgres.ts';
import type { Scope } from '../../support/scope.ts';
import type { Samples } from '../stats.ts';

/** What every case with several relays is given. */
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
