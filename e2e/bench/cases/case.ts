import type { Scope } from '../../support/scope.ts';
import type { Peer } from '../peers/peer.ts';
import type { Samples } from '../stats.ts';

/** What every case is given. */
export interface Bench {
  readonly rounds: number;
  /** seconds of each wrk run */
  readonly seconds: number;
  readonly peers: readonly Peer[];
  readonly samples: Samples;
  /** Reports progress. */
  readonly log: (text: string) => void;
}

export interface Case {
  readonly name: string;
  /** Starts what it needs in the scope, and adds samples named `case/peer/measure`. */
  run(scope: Scope, bench: Bench): Promise<void>;
}
