/** The visitors of one tunnel who wait to be let in. */
import type { KnockView } from '../../shared/lock.ts';
import { KNOCK_WAIT_MS, KNOCKS_MAX } from '../limits.ts';

interface Waiting {
  readonly knock: KnockView;
  /** wall-clock ms of this machine, at which the relay sends the visitor away */
  readonly until: number;
}

export class WaitingVisitors {
  readonly #now: () => number;
  #waiting: readonly Waiting[] = [];

  /** @param now wall-clock ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** the longest waiting first */
  get knocks(): readonly KnockView[] {
    const now = this.#now();
    return this.#waiting.filter(({ until }) => until > now).map(({ knock }) => knock);
  }

  /** @returns whether it is another one, for whom there is room: relays let no more wait, and tell of each again when they are connected anew */
  add({ id, address, agent }: KnockView): boolean {
    const now = this.#now();
    const others = this.#waiting.filter(({ until }) => until > now);
    if (others.length >= KNOCKS_MAX || others.some(({ knock }) => knock.id === id)) return false;
    this.#waiting = [...others, { knock: { id, address, agent }, until: now + KNOCK_WAIT_MS }];
    return true;
  }

  remove(id: string): void {
    this.#waiting = this.#waiting.filter(({ knock }) => knock.id !== id);
  }

  clear(): void {
    this.#waiting = [];
  }
}
