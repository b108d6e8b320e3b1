/** The texts that authorities wait to see, read from where all relays of a cluster keep them. */
import type { Clock } from '../../clock.ts';
import { DNS_TEXTS_MS } from '../../limits.ts';
import { type ChallengeTexts, challengeTexts } from './authority.ts';

/** A challenge that an authority is to look at. */
export interface PendingText {
  /** where it asks, with dots between labels */
  readonly name: string;
  readonly text: string;
}

/** Reads all of them: there are few, and a query for each name would let strangers make the store work. */
export type LoadTexts = () => Promise<readonly PendingText[]>;

/** However many ask, they are read once in {@link DNS_TEXTS_MS}. */
export class PendingTexts {
  readonly #load: LoadTexts;
  readonly #clock: Clock;
  #texts: Promise<ChallengeTexts | undefined> | undefined;
  #readAt = 0;

  constructor(load: LoadTexts, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
  }

  /** @returns `undefined` when they cannot be read at present. Never rejects. */
  current(): Promise<ChallengeTexts | undefined> {
    const now = this.#clock.monotonic();
    if (this.#texts === undefined || now - this.#readAt >= DNS_TEXTS_MS) {
      this.#readAt = now;
      // The store reports itself that it fails.
      this.#texts = this.#load().then(challengeTexts, () => undefined);
    }
    return this.#texts;
  }
}
