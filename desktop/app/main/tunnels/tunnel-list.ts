/** The list of tunnels that the window shows: those of a host, with what the user can take back. */
import type { Access } from '../../../../shared/access.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import type { Clock } from '../../../client/clock.ts';
import { claimNames } from '../../../client/config/claims.ts';
import type { TunnelSettings } from '../../../client/config/tunnel-spec.ts';
import type { NameSource } from '../../../client/failures.ts';
import { Host, type HostOptions } from '../../../client/host/host.ts';
import type { OfflineReason } from '../../../client/control/verdict.ts';
import type { ConnectTunnel, ServedTunnel } from '../../../client/host/served-tunnel.ts';
import { type Message, toMessage } from '../../../client/messages.ts';
import { Signal } from '../../../client/signal.ts';
import type { LogView } from '../../ipc/request-views.ts';
import type { ApprovalRequestView, TunnelAccess } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { type Connection, type RelayApi, signedIn } from '../connection.ts';
import { CallFailure } from '../failure.ts';
import type { Pending, UndoList } from '../undo-list.ts';
import {
  accessAgain,
  accessOf,
  accessView,
  passwordIsUnknown,
  shownAccess,
  type TunnelPasswords,
} from './access.ts';
import type { SavedTunnel } from './create-form-schema.ts';
import { TunnelItem } from './tunnel-item.ts';

/**
 * Maximum number of the user's own tunnels in the window's list; the oldest ended ones make room. Plans allow
 * fewer at a time.
 */
export const TUNNELS_MAX = 200;
/**
 * Maximum number of one tunnel's requests that the window can list: about a kilobyte each, excluding their
 * bodies.
 */
export const LOG_REQUESTS_MAX = 10_000;

interface TunnelListOptions {
  readonly clock: Clock;
  readonly connectTunnel: ConnectTunnel;
  /** number of bytes of each body to keep */
  readonly keptBody: () => number;
  /** lets other programs of this user see the tunnels */
  readonly inspector: HostOptions['inspector'];
  /** what can be taken back */
  readonly undos: Pick<UndoList, 'offer'>;
  /** who is signed in */
  readonly connection: () => Connection | undefined;
  /** Resolves when the list is on disk, with the passwords that visitors have to give. */
  readonly save: (tunnels: readonly SavedTunnel[], passwords: TunnelPasswords) => Promise<void>;
  /** Makes up a password. */
  readonly inventPassword: () => string;
  /** A visitor asks to be let into a tunnel. */
  readonly onKnock: (tunnel: TunnelItem, request: ApprovalRequestView) => void;
  /** The relay has refused the key of a tunnel. */
  readonly onKeyRefused: () => void;
  /** The list could not be saved in the background. */
  readonly onSaveFailed: (error: unknown) => void;
}

/** Tunnels of the last run, or the host of a command. */
type KnownTunnels =
  { readonly saved: readonly SavedTunnel[]; readonly passwords: TunnelPasswords } | { readonly host: Host };

export class TunnelList {
  /** The list, or something about one of its tunnels, has changed. */
  readonly changed = new Signal();
  readonly #options: TunnelListOptions;
  readonly #host: Host;
  /** Whether a command opens and closes the tunnels, and stores none. */
  readonly #isOfCommand: boolean;
  readonly #items = new WeakMap<ServedTunnel, TunnelItem>();
  /** stops that can be undone, by key: the relay does not know of them yet */
  readonly #stops = new Map<string, Pending>();
  /** removed tunnels, as long as that can be undone: a crash also undoes it */
  readonly #removals = new Map<TunnelItem, Pending>();
  /** keys of tunnels that are being created again: a second click does not create a second one */
  readonly #starting = new Set<string>();

  /** Serves no saved tunnel before {@link TunnelList.resume}. */
  constructor(options: TunnelListOptions, known: KnownTunnels) {
    this.#options = options;
    this.#isOfCommand = 'host' in known;
    this.#host = 'host' in known ? known.host : this.#openHost(known);
    const logViews = new Map('host' in known ? [] : known.saved.map(({ key, logView }) => [key, logView]));
    for (const served of this.#host.tunnels) this.#watch(served, logViews.get(served.key));
    this.#host.added.listen((served) => this.#watch(served));
    this.#host.changed.listen(() => this.changed.emit());
  }

  /** newest first; those of a command in their order */
  get tunnels(): readonly TunnelItem[] {
    const items = this.#host.tunnels.map((served) => this.#itemOf(served));
    return this.#isOfCommand ? items.toReversed() : items;
  }

  /**
   * Ids of the tunnels that this app has at the relay, or has just stopped and removed; `undefined` while it creates
   * one, whose id it does not know yet.
   */
  get ownIds(): ReadonlySet<string> | undefined {
    if (this.#host.isMaking) return undefined;
    const known = [...this.tunnels, ...this.#removals.keys()].map(({ tunnel }) => tunnel.id);
    return new Set([...known, ...this.#host.unclosed]);
  }

  /** How many are not ended. */
  get liveCount(): number {
    return this.#host.tunnels.filter((tunnel) => !tunnel.isEnded).length;
  }

  /** Serves the stored tunnels. One whose key was refused is still at the relay, and is served with the new key. */
  resume(connection: Connection): void {
    if (!this.#isOfCommand) this.#host.resume(connection);
  }

  /**
   * @param access the access policy
   * @param from who chose the name, which decides whether a live tunnel that has it is taken over
   * @returns the new tunnel, which is stored and being served
   * @throws CallFailure, and what the host throws
   */
  async create(settings: TunnelSettings, access: Access, from: NameSource = 'person'): Promise<TunnelItem> {
    const connection = this.#connection();
    const { tunnels } = this.#host;
    if (tunnels.length >= TUNNELS_MAX && !tunnels.some(({ isEnded }) => isEnded)) {
      throw new CallFailure({
        code: 'too-many',
        text: t('problem.tooManyTunnels', { max: TUNNELS_MAX }),
      });
    }
    const { name } = settings;
    const claims = await claimNames(this.#others(connection), [{ name, access }], { from });
    return this.#itemOf(await this.#host.create({ settings, access, claim: claims.get(name ?? '') }));
  }

  /**
   * Ends a tunnel here immediately; the relay keeps it and its address until that can no longer be undone.
   *
   * @param isPause whether the account keeps its name
   */
  async stop(key: string, isPause = false): Promise<void> {
    const connection = this.#connection();
    const { served, tunnel } = this.find(key);
    if (served.isEnded) return;
    served.end('stopped', toMessage(isPause ? 'ended.youPaused' : 'ended.youStopped'));
    const pending = this.#options.undos.offer({
      text: t(isPause ? 'undo.paused' : 'undo.stopped', { slug: tunnel.slug }),
      undo: async () => {
        await this.#removals.get(this.#itemOf(served))?.undo();
        this.#stops.delete(key);
        await this.#host.takeBack(served);
      },
      commit: async () => {
        this.#stops.delete(key);
        await this.#host.closeAtRelay(connection, tunnel.id);
      },
    });
    this.#stops.set(key, pending);
    await this.#host.save();
  }

  /** Creates an ended tunnel again, or takes one back that another client has taken over. */
  async start(key: string): Promise<void> {
    this.#connection();
    const { served } = this.find(key);
    const { state } = served;
    if (state.name !== 'ended' || this.#starting.has(key)) return;
    const stop = this.#stops.get(key);
    if (stop !== undefined) {
      await stop.undo();
      return;
    }
    this.#starting.add(key);
    try {
      if (state.reason === 'replaced' || state.reason === 'refused') await this.#host.takeBack(served);
      else await this.#host.recreate(served, this.#accessAgain(served));
    } finally {
      this.#starting.delete(key);
    }
  }

  /** @param ttl duration string */
  async extend(key: string, ttl: string): Promise<void> {
    await this.#host.extend(this.find(key).served, ttl);
  }

  /** Changes the access policy immediately. */
  async setLock(key: string, lock: TunnelAccess): Promise<void> {
    await this.#host.setAccess(this.find(key).served, accessOf(lock));
  }

  /** Adds a token, which can be copied once. */
  addToken(key: string, name: string): Promise<void> {
    return this.#setTokens(key, (names) => [...names.filter((other) => other !== name), name]);
  }

  /** Revokes a token, and closes everything that was opened with it. */
  revokeToken(key: string, name: string): Promise<void> {
    return this.#setTokens(key, (names) => names.filter((other) => other !== name));
  }

  /** Changes the tokens of a tunnel, whose access policy stays the same otherwise. */
  async #setTokens(key: string, change: (names: readonly string[]) => readonly string[]): Promise<void> {
    const { served } = this.find(key);
    // Other programs may have added tokens, which must not be revoked.
    const { access } = await this.#connection().api.getTunnel(served.tunnel.id);
    const again = accessAgain(access, () => served.password ?? passwordIsUnknown());
    const names = change(again.tokens.map(({ name }) => name));
    const wanted = { ...again, tokens: names.map((name) => ({ name, token: undefined })) };
    if (accessView(shownAccess(wanted), undefined).kind === 'anyone')
      throw new CallFailure({ code: 'last-token', text: t('problem.lastToken') });
    await this.#host.setAccess(served, wanted);
  }

  /** Remembers what of its request log the user wants to see; the window shows it already. */
  async viewLog(key: string, view: LogView): Promise<void> {
    this.find(key).logView = view;
    await this.#host.save();
  }

  /** Takes an ended tunnel off the list. */
  async forget(key: string): Promise<void> {
    const item = this.find(key);
    if (!item.isEnded) {
      throw new CallFailure({ code: 'still-live', text: t('problem.stopFirst') });
    }
    const putBack = this.#host.forget(item.served);
    const pending = this.#options.undos.offer({
      text: t('undo.removed', { slug: item.tunnel.slug }),
      undo: async () => {
        this.#removals.delete(item);
        putBack();
        await this.#host.save();
      },
      commit: async () => {
        this.#removals.delete(item);
        await this.#host.save();
      },
    });
    this.#removals.set(item, pending);
    await this.#host.save();
  }

  /** @throws CallFailure */
  find(key: string): TunnelItem {
    const served = this.#host.tunnels.find((other) => other.key === key);
    if (served !== undefined) return this.#itemOf(served);
    throw new CallFailure({ code: 'no-such-tunnel', text: t('problem.notInList') });
  }

  /**
   * Asks the relay for counters and times, and closes what could not be closed before.
   *
   * @returns the account's live tunnels
   * @throws what the engine throws
   */
  async refresh(): Promise<readonly Tunnel[]> {
    const connection = this.#options.connection();
    if (connection === undefined) return [];
    const live = await this.#host.refresh(connection);
    await this.#closeStopped(connection, new Set(live.map(({ id }) => id)));
    return live;
  }

  /** This machine is going to sleep. */
  suspend(): void {
    this.#host.suspend();
  }

  /** The network is back, or this machine is awake. */
  wake(): void {
    this.#host.wake();
  }

  /** Ends every tunnel here and, if it can be reached, at the relay. */
  async closeAll(why: Message): Promise<void> {
    const connection = this.#options.connection();
    const live = this.#host.tunnels.filter(({ isEnded }) => !isEnded);
    for (const served of live) served.end('stopped', why);
    await this.#host.save();
    if (connection !== undefined) await this.#closeAtRelay(connection, live);
  }

  /**
   * Ends every tunnel here and empties the list; the relay is not told yet.
   *
   * @returns what gives all of it back, and what closes it at the relay
   */
  async setAside(why: Message): Promise<{ restore(): Promise<void>; close(): Promise<void> }> {
    const connection = this.#options.connection();
    const { live, restore } = this.#host.abandon(why);
    await this.#host.save();
    return {
      restore: async () => {
        restore();
        await this.#host.save();
      },
      close: async () => {
        if (connection !== undefined) await this.#closeAtRelay(connection, live);
      },
    };
  }

  async #closeAtRelay(connection: Connection, live: readonly ServedTunnel[]): Promise<void> {
    await Promise.all(live.map(({ tunnel }) => this.#host.closeAtRelay(connection, tunnel.id)));
  }

  #openHost({ saved, passwords }: Extract<KnownTunnels, { saved: unknown }>): Host {
    const { clock, connectTunnel, keptBody, inspector } = this.#options;
    return new Host(
      {
        clock,
        connect: connectTunnel,
        connection: () => this.#connection(),
        keptBody,
        requestsMax: LOG_REQUESTS_MAX,
        // The window shows how much time is left, and notices warn of the end.
        warns: false,
        max: TUNNELS_MAX,
        inspector,
        save: () => this.#save(),
        makeRoom: () => this.#commitStops(),
      },
      saved.map((one) => ({ ...one, password: passwords.get(one.key) })),
    );
  }

  #watch(served: ServedTunnel, logView?: LogView): void {
    const item = new TunnelItem(served, logView);
    this.#items.set(served, item);
    served.listen({
      onApprovalRequest: (request, isNew) => {
        if (isNew) this.#options.onKnock(item, request);
      },
      onLost: (reason) => this.#onLost(reason),
    });
  }

  #itemOf(served: ServedTunnel): TunnelItem {
    const item = this.#items.get(served);
    if (item === undefined) throw new Error('every tunnel of the host is watched');
    return item;
  }

  /** Never weaker than before. */
  #accessAgain({ tunnel, password }: ServedTunnel): Access {
    return accessAgain(tunnel.access, () => password ?? this.#options.inventPassword());
  }

  /** The account's live tunnels without those of this app, which stopped ones may still be. */
  #others({ api }: Connection): Pick<RelayApi, 'listTunnels'> {
    return {
      listTunnels: async () => (await api.listTunnels()).filter(({ id }) => this.ownIds?.has(id) === false),
    };
  }

  /** A tunnel stopped a moment ago may still occupy a name or a slot in the plan. @returns whether there were any */
  async #commitStops(): Promise<boolean> {
    const stops = [...this.#stops.values()];
    await Promise.all(stops.map((stop) => stop.commit()));
    return stops.length > 0;
  }

  /** The app may have ended before it could tell the relay that the user stopped a tunnel. */
  async #closeStopped(connection: Connection, live: ReadonlySet<string>): Promise<void> {
    for (const { key, state, tunnel } of this.#host.tunnels) {
      const wasStopped = state.name === 'ended' && state.reason === 'stopped';
      if (wasStopped && live.has(tunnel.id) && !this.#stops.has(key))
        await this.#host.closeAtRelay(connection, tunnel.id);
    }
  }

  #onLost(reason: OfflineReason): void {
    this.#host.save().catch((error: unknown) => this.#options.onSaveFailed(error));
    if (reason === 'key-refused') this.#options.onKeyRefused();
  }

  #connection(): Connection {
    return signedIn(this.#options.connection());
  }

  #save(): Promise<void> {
    const kept = [...this.tunnels, ...this.#removals.keys()];
    const passwords = kept.flatMap(({ key, served: { password, tunnel } }) =>
      password === undefined || tunnel.access.password !== true ? [] : [[key, password] as const],
    );
    return this.#options.save(
      kept.map(({ saved }) => saved),
      new Map(passwords),
    );
  }
}
