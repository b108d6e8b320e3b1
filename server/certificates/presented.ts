/** Challenges that authorities look for at this moment, on any relay: they are in the store. */
import type { Clock } from '../clock.ts';
import { CHALLENGE_LOOKUPS_MAX } from '../limits.ts';
import type { ChallengeRecord, ChallengeType } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { ChallengeSolver } from './solver.ts';

export class PresentedChallenges {
  readonly #store: Pick<Store, 'putChallenge' | 'removeChallenge' | 'findChallenges' | 'listChallenges'>;
  readonly #clock: Clock;
  /** whether no other relay orders, so that this one knows of all of them */
  readonly #alone: boolean;
  /** by token, those of this relay */
  readonly #own = new Map<string, ChallengeRecord>();
  #lookups = 0;

  /** @param alone whether no other relay orders now; one that replaces this may come at any time */
  constructor(
    store: Pick<Store, 'putChallenge' | 'removeChallenge' | 'findChallenges' | 'listChallenges'>,
    clock: Clock,
    alone: boolean,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#alone = alone;
  }

  /** A way to prove names that consists of presenting challenges here. */
  solver(type: ChallengeType): ChallengeSolver {
    return {
      type,
      present: async (challenge) => {
        this.#own.set(challenge.token, challenge);
        const put = this.#store.putChallenge(challenge, this.#clock.now());
        // Kept for a relay that replaces this one; until then it can do without.
        await (this.#alone ? put.catch(() => {}) : put);
      },
      withdraw: async ({ token }) => {
        this.#own.delete(token);
        // What stays in the store ends by itself.
        await this.#store.removeChallenge(token).catch(() => {});
      },
    };
  }

  /**
   * All of one kind.
   *
   * @throws StoreError
   */
  async all(type: ChallengeType): Promise<readonly ChallengeRecord[]> {
    if (!this.#alone) return await this.#store.listChallenges(type, this.#clock.now());
    return [...this.#own.values()].filter((challenge) => challenge.type === type);
  }

  /**
   * Challenges of a host, for whoever asks: strangers, too, so the store is asked by few of them at a time, and not at all where
   * no other relay can have presented any.
   *
   * @param host in lower case
   * @returns none if the store fails, or too many ask
   */
  async find(type: ChallengeType, host: string): Promise<readonly ChallengeRecord[]> {
    const own = [...this.#own.values()].filter(
      (challenge) => challenge.host === host && challenge.type === type,
    );
    if (own.length > 0 || this.#alone || this.#lookups >= CHALLENGE_LOOKUPS_MAX) return own;
    this.#lookups += 1;
    try {
      return await this.#store.findChallenges(type, host, this.#clock.now());
    } catch {
      return [];
    } finally {
      this.#lookups -= 1;
    }
  }
}
