/** Names that the account keeps (protocol.md section 16), as the window shows them. */
import { API_ERRORS } from '../../../../shared/errors.ts';
import type { KeptName } from '../../../../shared/names.ts';
import type { Clock } from '../../../client/clock.ts';
import { RelayRefusal } from '../../../client/relay/errors.ts';
import { Signal } from '../../../client/signal.ts';
import type { TunnelStatus } from '../../ipc/snapshot.ts';
import type { KeptNameView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { type Connection, signedIn } from '../connection.ts';
import type { UndoList } from '../undo-list.ts';
import type { Asleep } from './asleep.ts';
import type { OtherTunnels } from './other-tunnels.ts';
import type { TunnelList } from './tunnel-list.ts';

/** How often the relay is asked for kept names: only their owner changes them. */
export const NAMES_REFRESH_MS = 30_000;

interface KeptNamesOptions {
  readonly clock: Clock;
  readonly tunnelList: Pick<TunnelList, 'find' | 'stop' | 'tunnels'>;
  readonly others: Pick<OtherTunnels, 'tunnels'>;
  /** what can be taken back */
  readonly undos: Pick<UndoList, 'offer'>;
  /** what the app sets while this computer sleeps */
  readonly asleep: Pick<Asleep, 'isOver' | 'takeBack'>;
  /** who is signed in */
  readonly connection: () => Connection | undefined;
}

/** Whether there may still be a tunnel, which another client or another key serves. */
function isAtRelay(status: TunnelStatus): boolean {
  return status.name !== 'ended' || ['replaced', 'refused', 'key-refused'].includes(status.reason);
}

export class KeptNames {
  /** The list has changed. */
  readonly changed = new Signal();
  readonly #options: KeptNamesOptions;
  /** oldest first */
  #names: readonly KeptName[] = [];
  #refreshedAt = -Infinity;
  /** those that are let go once that can no longer be undone */
  readonly #releasing = new Set<string>();

  constructor(options: KeptNamesOptions) {
    this.#options = options;
  }

  get views(): readonly KeptNameView[] {
    const { tunnelList, others } = this.#options;
    const own = tunnelList.tunnels.filter(({ status }) => isAtRelay(status)).map(({ tunnel }) => tunnel.slug);
    const live = new Set([...own, ...others.tunnels.map(({ slug }) => slug)]);
    return this.#names
      .filter(({ name }) => !this.#releasing.has(name))
      .map(({ name, away, until }) => ({
        key: name,
        isLive: live.has(name),
        away: away ?? undefined,
        until: until === null ? undefined : Date.parse(until),
      }));
  }

  /** Asks the relay, unless it was asked a moment ago. A relay that keeps no names has none. */
  async refresh(connection: Connection): Promise<void> {
    const { asleep, clock } = this.#options;
    const now = clock.monotonic();
    if (now - this.#refreshedAt < NAMES_REFRESH_MS && !asleep.isOver) return;
    this.#refreshedAt = now;
    const before = this.#names;
    const listed = await connection.api.listNames().catch((error: unknown) => {
      if (error instanceof RelayRefusal && error.is(API_ERRORS.notFound)) return [];
      throw error;
    });
    const names = await asleep.takeBack(connection, listed);
    // What the user has changed in the meantime is newer.
    if (before === this.#names && this.#options.connection() === connection) this.#show(names);
  }

  /** Another user has signed in. */
  clear(): void {
    this.#refreshedAt = -Infinity;
    this.#releasing.clear();
    this.#show([]);
  }

  /**
   * Ends a tunnel, and keeps its name: it can be resumed.
   *
   * @throws what the relay refuses; then the tunnel stays
   */
  async pause(key: string): Promise<void> {
    const { tunnel } = this.#options.tunnelList.find(key);
    this.#put(await this.#api.keepName(tunnel.name));
    await this.#options.tunnelList.stop(key, true);
  }

  /** Sets what visitors of a name read. @param until wall-clock ms */
  async leaveMessage(name: string, away: string | null, until: number | null): Promise<void> {
    const changes = { away, until: until === null ? null : new Date(until).toISOString() };
    this.#put(await this.#api.changeName(name, changes));
  }

  /** Lets a name go once that can no longer be undone. */
  release(name: string): void {
    if (this.#releasing.has(name)) return;
    const api = this.#api;
    this.#releasing.add(name);
    this.#options.undos.offer({
      text: t('names.releasesSoon', { name }),
      undo: () => {
        this.#releasing.delete(name);
        return Promise.resolve();
      },
      commit: async () => {
        try {
          await api.releaseName(name);
          this.#names = this.#names.filter((kept) => kept.name !== name);
        } finally {
          this.#releasing.delete(name);
          this.changed.emit();
        }
      },
    });
    this.changed.emit();
  }

  get #api(): Connection['api'] {
    return signedIn(this.#options.connection()).api;
  }

  #put(kept: KeptName): void {
    const isKnown = this.#names.some(({ name }) => name === kept.name);
    this.#show(
      isKnown ? this.#names.map((one) => (one.name === kept.name ? kept : one)) : [...this.#names, kept],
    );
  }

  #show(names: readonly KeptName[]): void {
    this.#names = names;
    this.changed.emit();
  }
}
