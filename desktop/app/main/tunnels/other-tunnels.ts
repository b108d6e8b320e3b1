import { RelayCloser } from '../../../client/host/relay-closer.ts';
import { parseDuration } from '../../../../shared/duration.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import type { OtherTunnelView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { type Connection, signedIn } from '../connection.ts';
import { CallFailure } from '../failure.ts';
import { type FoundTunnel, Inspector } from '../../../client/inspector/inspector.ts';
import { Signal } from '../../../client/signal.ts';
import type { UndoList } from '../undo-list.ts';
import { accessView } from './access.ts';
import { RemoteLog } from './remote-log.ts';
import type { TunnelItem } from './tunnel-item.ts';

/**
 * Maximum number of tunnels opened by other programs or computers in the window's list; plans allow fewer at a
 * time.
 */
const OTHER_TUNNELS_MAX = 200;

interface OtherTunnelsOptions {
  /** who is signed in */
  readonly connection: () => Connection | undefined;
  readonly undos: Pick<UndoList, 'offer'>;
  /** ids of the tunnels of this app; `undefined` while it creates one */
  readonly ownIds: () => ReadonlySet<string> | undefined;
  /** Finds the tunnels that programs of this user serve on this machine. */
  readonly servedHere: () => Promise<readonly FoundTunnel[]>;
}

/**
 * Tunnels of the account that this app does not serve: the command, another program or another machine has opened them.
 */
export class OtherTunnels {
  /** The list, or something about one of them, has changed. */
  readonly changed = new Signal();
  readonly #options: OtherTunnelsOptions;
  /** newest first */
  #tunnels: readonly Tunnel[] = [];
  /** the logs of those that this machine serves, by id */
  #here: ReadonlyMap<string, Here> = new Map();
  /** ids of those that will be closed once that can no longer be undone */
  readonly #stopping = new Set<string>();
  readonly #closer = new RelayCloser();

  constructor(options: OtherTunnelsOptions) {
    this.#options = options;
  }

  get views(): readonly OtherTunnelView[] {
    return this.tunnels.map((tunnel) => ({
      key: tunnel.id,
      slug: tunnel.slug,
      url: tunnel.public_url,
      localPort: tunnel.local_port,
      createdBy: tunnel.created_by,
      isOnline: tunnel.online,
      log: this.#here.get(tunnel.id)?.log.point,
      isStopping: this.#stopping.has(tunnel.id) || this.#closer.unclosed.has(tunnel.id),
      lock: accessView(tunnel.access, undefined),
      isIdle: tunnel.idle_ttl,
      ttl: parseDuration(tunnel.ttl) ?? 0,
      expiresAt: Date.parse(tunnel.expires_at),
      requests: tunnel.requests,
    }));
  }

  /** newest first */
  get tunnels(): readonly Tunnel[] {
    const own = this.#options.ownIds();
    // The app may have got one back since the relay was asked: a sign-out was undone.
    return this.#tunnels.filter(({ id }) => own?.has(id) !== true);
  }

  /** @param key the id at the relay; `undefined` if it is not in this list */
  find(key: string): Tunnel | undefined {
    return this.tunnels.find(({ id }) => id === key);
  }

  /** Closes what could not be closed before. */
  async retry(connection: Connection): Promise<void> {
    await this.#closer.retry(connection);
  }

  /**
   * @param live the account's tunnels, newest first
   * @param own ids of those that this app has, or has just had
   */
  async show(live: readonly Tunnel[], own: ReadonlySet<string>): Promise<void> {
    const before = this.#tunnels;
    this.#tunnels = live.filter(({ id }) => !own.has(id)).slice(0, OTHER_TUNNELS_MAX);
    if (who(before) !== who(this.#tunnels) && this.#tunnels.length > 0)
      this.#showHere(await this.#options.servedHere());
    if (before.length > 0 || this.#tunnels.length > 0) this.changed.emit();
  }

  /** @param key as for {@link OtherTunnels.find}. @returns its log, if it is served here */
  logOf(key: string): RemoteLog | undefined {
    return this.find(key) && this.#here.get(key)?.log;
  }

  /** Another user has signed in, or nobody looks at them any longer: follows no other program. */
  clear(): void {
    this.#tunnels = [];
    this.#showHere([]);
    this.#stopping.clear();
    this.changed.emit();
  }

  /** @param ttl duration string */
  async extend(id: string, ttl: string): Promise<void> {
    const now = await this.#connection().api.extendTunnel(id, ttl);
    this.#tunnels = this.#tunnels.map((tunnel) => (tunnel.id === id ? now : tunnel));
    this.changed.emit();
  }

  /** Closes a tunnel, wherever it is served, once that can no longer be undone. */
  stop({ id, slug }: Tunnel): void {
    if (this.#stopping.has(id)) return;
    const connection = this.#connection();
    this.#stopping.add(id);
    this.#options.undos.offer({
      text: t('undo.stopsSoon', { slug }),
      undo: () => {
        this.#stopping.delete(id);
        return Promise.resolve();
      },
      commit: async () => {
        const closed = this.#closer.close(connection, id);
        this.#stopping.delete(id);
        await closed;
        if (!this.#closer.unclosed.has(id))
          this.#tunnels = this.#tunnels.filter((tunnel) => tunnel.id !== id);
        this.changed.emit();
      },
    });
  }

  #showHere(found: readonly FoundTunnel[]): void {
    const before = this.#here;
    const known = new Set(this.#tunnels.map(({ id }) => id));
    const onChange = (): void => this.changed.emit();
    const readable = (tunnel: FoundTunnel): Here => {
      const { id, path } = tunnel;
      const same = before.get(id);
      if (same?.path === path) return same;
      return { path, log: new RemoteLog({ inspector: new Inspector(tunnel), onChange }) };
    };
    this.#here = new Map(
      found.filter(({ id }) => known.has(id)).map((tunnel) => [tunnel.id, readable(tunnel)]),
    );
    for (const [id, old] of before) if (this.#here.get(id) !== old) old.log.stop();
  }

  #connection(): Connection {
    return signedIn(this.#options.connection());
  }
}

/** A tunnel whose requests can be read. */
interface Here {
  /** where its process listens */
  readonly path: string;
  readonly log: RemoteLog;
}

/** Changes when one of them has come, gone, or got or lost its client. */
function who(tunnels: readonly Tunnel[]): string {
  return tunnels.map(({ id, online }) => `${id} ${online}`).join();
}

/* What an owner sends to people: one sentence. */

/**
 * @returns the address, and the password where visitors have to give one; the password comes last, so that no full stop
 *   is taken for a part of it
 * @throws CallFailure if the password is not known here
 */
export function shareText({ tunnel, lock }: Pick<TunnelItem, 'tunnel' | 'lock'>): string {
  const { public_url } = tunnel;
  const isKnown = 'password' in lock && lock.password !== undefined;
  if (lock.kind !== 'password' && !isKnown) return public_url;
  if (isKnown) return t('share.withPassword', { url: public_url, password: lock.password });
  throw new CallFailure({
    code: 'password-unknown',
    text: t('problem.passwordUnknown'),
  });
}
