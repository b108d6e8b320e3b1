/**
 * When data that was read in bulk is processed: for a limited time in each turn of the event loop, and for one owner after
 * the other. So nobody's flood delays what others send and ask for in small pieces, or their floods.
 */
import { FairQueue } from './fair-queue.ts';

/** @limit ms of a turn of the event loop after which no more of those are begun in it. */
export const BULK_TURN_MS = 1;

export interface LoopTurnsDeps {
  /** monotonic ms */
  readonly now: () => number;
  /** Calls back in the next turn of the loop. */
  readonly nextTurn: (callback: () => void) => void;
}

/** Either the work has begun, or a function that takes it out of the line. */
export type Begun = 'begun' | (() => void);

export class LoopTurns {
  readonly #now: () => number;
  readonly #nextTurn: LoopTurnsDeps['nextTurn'];
  /** groups, told apart by whom the work is for */
  readonly #queue = new FairQueue<() => void, unknown>();
  /** ms used in this turn */
  #spent = 0;
  #turnComes = false;

  constructor({ now, nextTurn }: LoopTurnsDeps) {
    this.#now = now;
    this.#nextTurn = nextTurn;
  }

  /**
   * Does the work now, or in a later turn if this one has no time left for it.
   *
   * @param group whose work it is, by identity: a tunnel, or the address of a visitor that has asked for none yet
   * @returns `'begun'` if it has been done, otherwise a function that gives it up
   */
  run(group: unknown, work: () => void): Begun {
    if (!this.#turnComes) {
      this.#turnComes = true;
      this.#nextTurn(this.#begin);
    }
    if (this.#queue.size > 0 || this.#spent >= BULK_TURN_MS) return this.#queue.push(group, work);
    this.#do(work);
    return 'begun';
  }

  #do(work: () => void): void {
    const begin = this.#now();
    work();
    this.#spent += this.#now() - begin;
  }

  readonly #begin = (): void => {
    this.#spent = 0;
    while (this.#spent < BULK_TURN_MS) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      this.#do(next.item);
    }
    this.#turnComes = this.#queue.size > 0;
    if (this.#turnComes) this.#nextTurn(this.#begin);
  };
}

/** The turns of this program's event loop. */
export const loopTurns = new LoopTurns({
  now: () => performance.now(),
  nextTurn: (callback) => void setImmediate(callback),
});
