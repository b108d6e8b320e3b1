/** Token buckets, one for each account (protocol.md section 3.2) or address. */
import type { Clock } from './clock.ts';

/**
 * Maximum number of accounts or addresses that a rate limiter tracks; about 10 MB. Beyond that, the least
 * recently seen one is forgotten.
 */
export const RATE_BUCKETS_MAX = 100_000;

interface Bucket {
  readonly tokens: number;
  /** monotonic time in ms of the last change */
  readonly at: number;
}

export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

/** Limits a rate, such as that of create requests, on one relay or across several. */
export interface CreateLimiter {
  /**
   * Takes a token.
   *
   * @returns 0 if there was one, otherwise the whole seconds until there is one
   */
  take(account: string): number | Promise<number>;
  /** Returns a token that was not needed. */
  giveBack(account: string): void | Promise<void>;
  /** Whether there is currently no token. */
  isOut(account: string): boolean | Promise<boolean>;
}

/**
 * Extends the limit of `local` across all relays.
 *
 * @param kind what is counted, unless its accounts or addresses are counted for nothing else
 */
export type Limit = (local: CreateLimiter, rate: Rate, kind?: string) => CreateLimiter;

export class RateLimiter implements CreateLimiter {
  readonly #clock: Clock;
  readonly #burst: number;
  /** ms until one token is replenished */
  readonly #interval: number;
  /** Kept in the order of their last change, so that full ones are found at the front. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#burst = rate.burst;
    this.#interval = 60_000 / rate.perMinute;
  }

  /** Buckets in memory: those of the accounts that took a token within the time that replenishes a full burst. */
  get size(): number {
    return this.#buckets.size;
  }

  take(account: string): number {
    return Math.ceil(this.takeMs(account) / 1000);
  }

  /** The same in ms. */
  takeMs(account: string): number {
    const now = this.#clock.monotonic();
    this.#dropFull(now);
    const tokens = this.#tokensAt(now, this.#buckets.get(account));
    if (tokens < 1) return Math.ceil((1 - tokens) * this.#interval);
    this.#buckets.delete(account);
    if (this.#buckets.size >= RATE_BUCKETS_MAX) this.#dropOldest();
    this.#buckets.set(account, { tokens: tokens - 1, at: now });
    return 0;
  }

  isOut(account: string): boolean {
    return this.#tokensAt(this.#clock.monotonic(), this.#buckets.get(account)) < 1;
  }

  giveBack(account: string): void {
    const bucket = this.#buckets.get(account);
    // It keeps its position: it is full again sooner than those after it, which only delays its removal.
    if (bucket !== undefined) this.#buckets.set(account, { tokens: bucket.tokens + 1, at: bucket.at });
  }

  #tokensAt(now: number, bucket: Bucket | undefined): number {
    if (bucket === undefined) return this.#burst;
    return Math.min(this.#burst, bucket.tokens + (now - bucket.at) / this.#interval);
  }

  #dropOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }

  /** A full bucket is equivalent to none. */
  #dropFull(now: number): void {
    for (const [account, bucket] of this.#buckets) {
      if (now - bucket.at < this.#burst * this.#interval) return;
      this.#buckets.delete(account);
    }
  }
}
