/** Work that only a few may do at a time, fewer of one group, with groups taking turns. */
import { API_ERRORS, ApiError } from '../shared/errors.ts';
import { FairQueue } from '../shared/scheduler/fair-reads.ts';
import { STORE_RETRY_AFTER_SECONDS } from './store/store-errors.ts';

interface Limits {
  readonly all: number;
  readonly group: number;
}

interface TurnstileOptions {
  /** how much may be done at the same time, and how much of it for one group */
  readonly atOnce: Limits;
  /**
   * how much may wait. Beyond that, the latest of the part or group with the most gives way, unless the new work would
   * have as many: a flood at one part does not keep others out. By default, everything may wait.
   */
  readonly waiting?: Partial<Limits>;
}

/** Too much work waits. */
export class BusyError extends Error {
  constructor() {
    super('too much waits to be done');
    this.name = 'BusyError';
  }
}

interface Waiter {
  readonly begin: () => void;
  readonly refuse: () => void;
}

export class Turnstile {
  readonly #atOnce: Limits;
  readonly #mayWait: Limits;
  readonly #queue = new FairQueue<Waiter>();
  /** work under way, by group */
  readonly #byGroup = new Map<string, number>();
  #count = 0;

  constructor({ atOnce, waiting }: TurnstileOptions) {
    this.#atOnce = atOnce;
    this.#mayWait = { all: Infinity, group: Infinity, ...waiting };
  }

  /** How much work is being done. */
  get underWay(): number {
    return this.#count;
  }

  /**
   * Does the work when its turn has come.
   *
   * @param part of the group, if its parts take turns as well
   * @throws BusyError if too much waits; this work may also have to give way later
   */
  async run<T>(group: string, work: () => Promise<T>, part = ''): Promise<T> {
    return await (this.runNow(group, work) ?? this.#runLater(group, part, work));
  }

  /** Does the work now. @returns `undefined` if it would have to wait; it is not done then */
  runNow<T>(group: string, work: () => Promise<T>): Promise<T> | undefined {
    if (this.#count >= this.#atOnce.all || !this.#hasRoom(group)) return undefined;
    this.#add(group, 1);
    return this.#finish(group, work);
  }

  async #runLater<T>(group: string, part: string, work: () => Promise<T>): Promise<T> {
    this.#makeRoom(group, part);
    await new Promise<void>((begin, reject) => {
      this.#queue.push(group, { begin, refuse: () => reject(new BusyError()) }, part);
    });
    return await this.#finish(group, work);
  }

  async #finish<T>(group: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      this.#add(group, -1);
      this.#beginNext();
    }
  }

  /** @throws BusyError if there is none */
  #makeRoom(group: string, part: string): void {
    const queue = this.#queue;
    let givesWay: Waiter | undefined;
    if (queue.sizeOf(group) >= this.#mayWait.group) {
      givesWay = queue.popLatest(group, queue.sizeOf(group, part) + 1);
    } else if (queue.size >= this.#mayWait.all) {
      const most = queue.largestGroup() ?? group;
      if (queue.sizeOf(most) > queue.sizeOf(group) + 1) givesWay = queue.popLatest(most);
    } else return;
    if (givesWay === undefined) throw new BusyError();
    givesWay.refuse();
  }

  #hasRoom(group: string): boolean {
    return (this.#byGroup.get(group) ?? 0) < this.#atOnce.group;
  }

  #beginNext(): void {
    while (this.#count < this.#atOnce.all) {
      const next = this.#queue.shift((group) => this.#hasRoom(group));
      if (next === undefined) return;
      this.#add(next.group, 1);
      next.item.begin();
    }
  }

  #add(group: string, change: 1 | -1): void {
    this.#count += change;
    const count = (this.#byGroup.get(group) ?? 0) + change;
    if (count === 0) this.#byGroup.delete(group);
    else this.#byGroup.set(group, count);
  }
}

/**
 * Waits for work on behalf of an API request.
 *
 * @throws ApiError 503 when too much waits
 */
export async function mapBusyError<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof BusyError)) throw error;
    throw new ApiError(API_ERRORS.unavailable, { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) });
  }
}
