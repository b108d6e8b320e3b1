/** The message that visitors of kept names read while this computer sleeps: the app sets it, and takes it back. */
import type { KeptName } from '../../../../shared/names.ts';
import type { Clock } from '../../../client/clock.ts';
import { t } from '../../messages/translate.ts';
import type { Connection } from '../connection.ts';
import type { TunnelList } from './tunnel-list.ts';

/** How long after the start of a suspension the message is still set: later, the computer may be awake again. */
export const SET_WITHIN_MS = 4000;

/** A message that this app has set, and not yet taken back. */
export interface AsleepMessage {
  readonly name: string;
  readonly text: string;
}

interface AsleepOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly tunnelList: Pick<TunnelList, 'tunnels'>;
  /** who is signed in */
  readonly connection: () => Connection | undefined;
  /** whether the user has allowed it */
  readonly isAllowed: () => boolean;
  /** on disk, because the app may end before it can take them back */
  readonly standing: () => readonly AsleepMessage[];
  readonly remember: (standing: readonly AsleepMessage[]) => Promise<void>;
}

export class Asleep {
  readonly #options: AsleepOptions;
  #isAsleep = false;
  /** A request that was under way when the computer fell asleep may still reach the relay. */
  #isSetting = false;

  constructor(options: AsleepOptions) {
    this.#options = options;
  }

  /** Whether there are messages to take back. */
  get isOver(): boolean {
    return !this.#isAsleep && !this.#isSetting && this.#options.standing().length > 0;
  }

  /**
   * The computer is going to sleep, and waits for nothing.
   *
   * @throws what the relay refuses
   */
  async suspend(): Promise<void> {
    const { clock, connection, isAllowed } = this.#options;
    this.#isAsleep = true;
    const relay = connection();
    if (relay === undefined || !isAllowed() || this.#isSetting || this.#liveNames.size === 0) return;
    this.#isSetting = true;
    try {
      const startedAt = clock.now();
      await this.#set(relay, () => this.#isAsleep && clock.now() - startedAt <= SET_WITHIN_MS);
    } finally {
      this.#isSetting = false;
    }
  }

  /** The computer is awake. */
  resume(): void {
    this.#isAsleep = false;
  }

  /**
   * Takes back what this app has set, unless the owner has left another message since. A message counts as taken back
   * once the relay lists the name without it.
   *
   * @param names as the relay has just listed them
   * @returns the names as they are then
   */
  async takeBack({ api }: Connection, names: readonly KeptName[]): Promise<readonly KeptName[]> {
    if (!this.isOver) return names;
    const { standing, remember } = this.#options;
    const before = standing();
    const left = before.filter((message) => isAt(names, message));
    if (left.length < before.length) await remember(left);
    const changed = await Promise.all(left.map(({ name }) => api.changeName(name, { away: null })));
    return names.map((kept) => changed.find(({ name }) => name === kept.name) ?? kept);
  }

  get #liveNames(): ReadonlySet<string> {
    const live = this.#options.tunnelList.tunnels.filter(({ isEnded }) => !isEnded);
    return new Set(live.map(({ tunnel }) => tunnel.name).filter((name) => name !== ''));
  }

  async #set({ api }: Connection, isTime: () => boolean): Promise<void> {
    const { standing, remember } = this.#options;
    // Another program of the owner may have left a message a moment ago.
    const names = await api.listNames();
    const live = this.#liveNames;
    const free = names.filter(({ name, away }) => away === null && live.has(name));
    if (free.length === 0 || !isTime()) return;
    const text = t('names.asleep');
    const added = free.map(({ name }) => ({ name, text }));
    await remember([...standing().filter((message) => isAt(names, message)), ...added]);
    if (isTime()) await Promise.all(added.map(({ name }) => api.changeName(name, { away: text })));
  }
}

function isAt(names: readonly KeptName[], message: AsleepMessage): boolean {
  return names.some(({ name, away }) => name === message.name && away === message.text);
}
