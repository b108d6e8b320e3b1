/** Work that only a few may do at a time, fewer of one group, with groups taking turns. */
import { FairQueue } from '../shared/scheduler/fair-reads.ts';

interface TurnstileLimits {
  /** how many may work at the same time */
  readonly all: number;
  /** how many of them may belong to one group */
  readonly group: number;
}

export class Turnstile {
  readonly #limits: TurnstileLimits;
  readonly #queue = new FairQueue<() => void>();
  /** work under way, by group */
  readonly #byGroup = new Map<string, number>();
  #count = 0;

  constructor(limits: TurnstileLimits) {
    this.#limits = limits;
  }

  /** How much work is being done. */
  get underWay(): number {
    return this.#count;
  }

  /** How much work of a group waits. */
  waiting(group: string): number {
    return this.#queue.sizeOf(group);
  }

  /** Does the work when its turn has come. */
  async run<T>(group: string, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#queue.push(group, resolve);
      this.#beginNext();
    });
    return await this.#finish(group, work);
  }

  /** Does the work now. @returns `undefined` if it would have to wait; it is not done then */
  runNow<T>(group: string, work: () => Promise<T>): Promise<T> | undefined {
    if (this.#count >= this.#limits.all || !this.#hasRoom(group)) return undefined;
    this.#add(group, 1);
    return this.#finish(group, work);
  }

  async #finish<T>(group: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      this.#add(group, -1);
      this.#beginNext();
    }
  }

  #hasRoom(group: string): boolean {
    return (this.#byGroup.get(group) ?? 0) < this.#limits.group;
  }

  #beginNext(): void {
    while (this.#count < this.#limits.all) {
      const next = this.#queue.shift((group) => this.#hasRoom(group));
      if (next === undefined) return;
      this.#add(next.group, 1);
      next.item();
    }
  }

  #add(group: string, change: 1 | -1): void {
    this.#count += change;
    const count = (this.#byGroup.get(group) ?? 0) + change;
    if (count === 0) this.#byGroup.delete(group);
    else this.#byGroup.set(group, count);
  }
}
