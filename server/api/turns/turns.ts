/**
 * When requests of the API begin: one in each turn of the event loop, groups of callers one after the other, and only for a
 * share of the loop while visitors need it (docs/decisions/0012-fair-api.md). Nothing more is read from those who wait.
 */
import type { Clock } from '../../clock.ts';
import { API_COST_FACTOR, API_LOOP_SHARE, API_LOOP_BURST_MS, VISITORS_RECENT_MS } from '../../limits.ts';
import { FairQueue } from '../../../shared/fairness/fair-queue.ts';
import { LoopShare } from './loop-share.ts';

export interface TurnsDeps {
  readonly clock: Clock;
  /** a number that has changed if visitors have used the loop */
  readonly visitorsWork: () => number;
  /** Calls both in the next turn of the loop, and between them what the first one leaves to microtasks. */
  readonly nextTurn: (first: () => void, second: () => void) => void;
}

export class Turns {
  readonly #clock: Clock;
  readonly #visitorsWork: () => number;
  readonly #nextTurn: TurnsDeps['nextTurn'];
  readonly #queue = new FairQueue<() => void>();
  readonly #share = new LoopShare(API_LOOP_SHARE, API_LOOP_BURST_MS);
  /** whether a turn is coming */
  #running = false;
  #began = 0;
  #seenWork = 0;
  #seenAt = -Infinity;

  constructor({ clock, visitorsWork, nextTurn }: TurnsDeps) {
    this.#clock = clock;
    this.#visitorsWork = visitorsWork;
    this.#nextTurn = nextTurn;
  }

  /**
   * Waits for a turn.
   *
   * @param group whose turn it is: an address or an account
   * @param begin called when it has come, never before this has returned
   * @returns call it to give the place up
   */
  take(group: string, begin: () => void): () => void {
    const leave = this.#queue.push(group, begin);
    if (!this.#running) this.#goOn();
    return leave;
  }

  /** The same for a request that has begun and is to continue. */
  next(group: string): Promise<void> {
    return new Promise((resolve) => {
      this.take(group, resolve);
    });
  }

  #goOn(): void {
    this.#running = this.#queue.size > 0;
    if (!this.#running) return;
    const now = this.#clock.monotonic();
    const wait = this.#share.wait(now, this.#isContended(now));
    if (wait > 0) this.#clock.setTimeout(this.#look, wait);
    else this.#nextTurn(this.#begin, this.#end);
  }

  readonly #look = (): void => this.#goOn();

  readonly #begin = (): void => {
    this.#began = this.#clock.monotonic();
    this.#queue.shift()?.item();
  };

  readonly #end = (): void => {
    this.#share.spend((this.#clock.monotonic() - this.#began) * API_COST_FACTOR);
    this.#goOn();
  };

  #isContended(now: number): boolean {
    const work = this.#visitorsWork();
    if (work !== this.#seenWork) this.#seenAt = now;
    this.#seenWork = work;
    return now - this.#seenAt < VISITORS_RECENT_MS;
  }
}
