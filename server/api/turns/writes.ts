/** Writes of the API to the store: few at a time, fewer of one account, and accounts one after the other. */
import { ACCOUNT_WRITES_MAX, API_WRITES_MAX } from '../../limits.ts';
import { FairQueue } from '../../../shared/fairness/fair-queue.ts';

export class Writes {
  readonly #queue = new FairQueue<() => void>();
  /** writes under way, by account */
  readonly #underWay = new Map<string, number>();
  #count = 0;

  /**
   * Does the work when its turn has come.
   *
   * @param account id of the account on whose behalf
   */
  async run<T>(account: string, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#queue.push(account, resolve);
      this.#beginNext();
    });
    try {
      return await work();
    } finally {
      this.#add(account, -1);
      this.#beginNext();
    }
  }

  #beginNext(): void {
    while (this.#count < API_WRITES_MAX) {
      const next = this.#queue.shift((account) => (this.#underWay.get(account) ?? 0) < ACCOUNT_WRITES_MAX);
      if (next === undefined) return;
      this.#add(next.group, 1);
      next.item();
    }
  }

  #add(account: string, change: 1 | -1): void {
    this.#count += change;
    const count = (this.#underWay.get(account) ?? 0) + change;
    if (count === 0) this.#underWay.delete(account);
    else this.#underWay.set(account, count);
  }
}
