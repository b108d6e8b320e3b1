/** The list of tunnels that this app has created: creates, serves, extends and closes them. */
import { randomUUID } from 'node:crypto';
import type { Access } from '../../../../shared/access.ts';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import type { Clock } from '../../../client/clock.ts';
import type { OfflineReason } from '../../../client/control/verdict.ts';
import type { LocalTarget } from '../../../client/local/local-service.ts';
import { claimNames, claimRequest } from '../../../client/config/claims.ts';
import type { NameSource } from '../../../client/failures.ts';
import { createRequest } from '../../../client/relay/api-client.ts';
import { RelayRefusal } from '../../../client/relay/errors.ts';
import type { KeptForm } from '../../ipc/ipc.ts';
import type { LogView } from '../../ipc/request-views.ts';
import type { ApprovalRequestView, TunnelAccess } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { type Connection, type RelayApi, signedIn } from '../connection.ts';
import { CallFailure } from '../failure.ts';
import { TUNNELS_MAX } from '../limits.ts';
import { Signal } from '../signals.ts';
import type { Pending, UndoList } from '../undo-list.ts';
import {
  accessAgain,
  accessOf,
  accessView,
  passwordIsUnknown,
  passwordOf,
  shownAccess,
  type TunnelPasswords,
} from './access.ts';
import type { SavedTunnel } from './create-form-schema.ts';
import { FolderService, localTarget, type Serve } from './folder-service.ts';
import { TunnelItem } from './tunnel-item.ts';
import type { HostMapOptions } from '../../../client/visitors/connections.ts';
import { ShownLog, type TunnelLog } from './tunnel-log.ts';

interface TunnelListOptions {
  readonly clock: Clock;
  readonly serve: Serve;
  readonly createLog: (target: LocalTarget, hosts?: HostMapOptions) => TunnelLog;
  /** what can be taken back */
  readonly undos: Pick<UndoList, 'offer'>;
  /** who is signed in */
  readonly connection: () => Connection | undefined;
  /** Resolves when the list is on disk, with the passwords that visitors have to give. */
  readonly save: (tunnels: readonly SavedTunnel[], passwords: TunnelPasswords) => Promise<void>;
  /** Makes up a password. */
  readonly inventPassword: () => string;
  /** A visitor asks to be let into a tunnel. */
  readonly onKnock: (tunnel: TunnelItem, knock: ApprovalRequestView) => void;
  /** The relay has refused the key of a tunnel. */
  readonly onKeyRefused: () => void;
  /** The list could not be saved in the background. */
  readonly onSaveFailed: (error: unknown) => void;
}

/** What serves a tunnel, and its log. */
interface Service {
  readonly serve: Serve;
  readonly log: TunnelLog;
}

export class TunnelList {
  /** The list, or something about one of its tunnels, has changed. */
  readonly changed = new Signal();
  readonly #options: TunnelListOptions;
  /** newest first */
  #tunnels: TunnelItem[];
  readonly #closer = new RelayCloser();
  /** stops that can be undone, by key: the relay does not know of them yet */
  readonly #stops = new Map<string, Pending>();
  /** removed tunnels, as long as that can be undone: a crash also undoes it */
  readonly #removals = new Map<TunnelItem, Pending>();
  /** keys of tunnels that are being created again: a second click does not create a second one */
  readonly #starting = new Set<string>();
  /** tunnels that the relay is being asked for */
  #making = 0;

  /**
   * @param saved tunnels of the last run, newest first; none is served before {@link TunnelList.resume}
   * @param passwords the known passwords of the tunnels
   */
  constructor(
    options: TunnelListOptions,
    saved: readonly SavedTunnel[],
    passwords: TunnelPasswords = new Map(),
  ) {
    this.#options = options;
    this.#tunnels = saved.map((tunnel) => this.#open(tunnel, passwords.get(tunnel.key)));
  }

  get tunnels(): readonly TunnelItem[] {
    return this.#tunnels;
  }

  /**
   * Ids of the tunnels that this app has at the relay, or has just stopped and removed; `undefined` while it creates
   * one, whose id it does not know yet.
   */
  get ownIds(): ReadonlySet<string> | undefined {
    if (this.#making > 0) return undefined;
    const known = [...this.#tunnels, ...this.#removals.keys()].map(({ tunnel }) => tunnel.id);
    return new Set([...known, ...this.#closer.unclosed]);
  }

  /** How many are not ended. */
  get liveCount(): number {
    return this.#tunnels.filter((tunnel) => !tunnel.isEnded).length;
  }

  /**
   * Serves the stored tunnels if the account is the same; otherwise the list starts empty.
   *
   * A tunnel whose key was refused is still at the relay, and is served with the new key.
   */
  async resume(connection: Connection, isSameAccount: boolean): Promise<void> {
    if (!isSameAccount) {
      for (const tunnel of this.#tunnels) tunnel.end('signed-out', () => t('ended.otherAccount'));
      this.#tunnels = [];
      await this.#save();
      return;
    }
    for (const tunnel of this.#tunnels) {
      const { status } = tunnel;
      if (status.name !== 'ended' || status.reason === 'key-refused') tunnel.serve(connection);
    }
  }

  /**
   * @param access the access policy
   * @param from who chose the name, which decides whether a live tunnel that has it is taken over
   * @returns the new tunnel, which is stored and being served
   * @throws NameInUse, and what the engine throws when the relay refuses
   */
  async create(form: KeptForm, access: Access, from: NameSource = 'person'): Promise<TunnelItem> {
    const connection = this.#connection();
    if (this.#tunnels.length >= TUNNELS_MAX && !this.#tunnels.some((other) => other.isEnded)) {
      throw new CallFailure({
        code: 'too-many',
        text: t('problem.tooManyTunnels', { max: TUNNELS_MAX }),
      });
    }
    const { name } = form;
    const claims = await claimNames(this.#others(connection), [{ name, access }], { from });
    const request = claimRequest(createRequest({ ...form, access }), claims.get(name));
    const tunnel = await this.#make(connection, request);
    const opened = this.#open({ key: randomUUID(), form, tunnel, ended: undefined }, access.password);
    this.#tunnels = this.#withRoom([opened, ...this.#tunnels]);
    await this.#saveOrClose(connection, opened, tunnel);
    opened.serve(connection);
    return opened;
  }

  /**
   * Shows a tunnel that a command has created, serves, and closes.
   *
   * @param password that its visitors have to give
   * @param of what serves it, and its log
   */
  adopt(saved: Pick<SavedTunnel, 'form' | 'tunnel'>, password: string | undefined, of: Service): void {
    const opened = this.#open({ key: randomUUID(), ...saved, ended: undefined }, password, of);
    this.#tunnels = [...this.#tunnels, opened];
    opened.serve(this.#connection());
  }

  /** Ends a tunnel here immediately; the relay keeps it and its address until that can no longer be undone. */
  async stop(key: string): Promise<void> {
    const connection = this.#connection();
    const tunnel = this.find(key);
    if (tunnel.isEnded) return;
    tunnel.end('stopped', () => t('ended.youStopped'));
    const pending = this.#options.undos.offer({
      text: t('undo.stopped', { slug: tunnel.tunnel.slug }),
      undo: async () => {
        await this.#removals.get(tunnel)?.undo();
        tunnel.serve(this.#connection());
        this.#stops.delete(key);
        await this.#save();
      },
      commit: async () => {
        this.#stops.delete(key);
        await this.#closer.close(connection.api, tunnel.tunnel.id);
      },
    });
    this.#stops.set(key, pending);
    await this.#save();
  }

  /** Creates an ended tunnel again, or takes one back that another client has taken over. */
  async start(key: string): Promise<void> {
    const connection = this.#connection();
    const tunnel = this.find(key);
    const { status } = tunnel;
    if (status.name !== 'ended' || this.#starting.has(key)) return;
    const stop = this.#stops.get(key);
    if (stop !== undefined) {
      await stop.undo();
      return;
    }
    this.#starting.add(key);
    try {
      await this.#startEnded(connection, tunnel, status.reason);
    } finally {
      this.#starting.delete(key);
    }
  }

  /** @param ttl duration string */
  async extend(key: string, ttl: string): Promise<void> {
    const tunnel = this.find(key);
    tunnel.update(await this.#connection().api.extendTunnel(tunnel.tunnel.id, ttl));
  }

  /** Changes the access policy immediately. */
  async setLock(key: string, lock: TunnelAccess): Promise<void> {
    const tunnel = this.find(key);
    const now = await this.#connection().api.setAccess(tunnel.tunnel.id, accessOf(lock));
    tunnel.relock(now, passwordOf(lock));
    await this.#save();
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
    const tunnel = this.find(key);
    const { api } = this.#connection();
    // Other programs may have added tokens, which must not be revoked.
    const { access } = await api.getTunnel(tunnel.tunnel.id);
    const again = accessAgain(access, () => tunnel.password ?? passwordIsUnknown());
    const names = change(again.tokens.map(({ name }) => name));
    const wanted = { ...again, tokens: names.map((name) => ({ name, token: undefined })) };
    if (accessView(shownAccess(wanted), undefined).kind === 'anyone')
      throw new CallFailure({ code: 'last-token', text: t('problem.lastToken') });
    tunnel.relock(await api.setAccess(tunnel.tunnel.id, wanted), wanted.password);
    await this.#save();
  }

  /** Remembers what of its request log the user wants to see. */
  async viewLog(key: string, view: LogView): Promise<void> {
    this.find(key).viewLog(view);
    await this.#save();
  }

  /** Takes an ended tunnel off the list. */
  async forget(key: string): Promise<void> {
    const tunnel = this.find(key);
    if (!tunnel.isEnded) {
      throw new CallFailure({ code: 'still-live', text: t('problem.stopFirst') });
    }
    const place = this.#tunnels.indexOf(tunnel);
    this.#tunnels = this.#tunnels.toSpliced(place, 1);
    const pending = this.#options.undos.offer({
      text: t('undo.removed', { slug: tunnel.tunnel.slug }),
      undo: async () => {
        this.#removals.delete(tunnel);
        this.#tunnels = this.#tunnels.toSpliced(place, 0, tunnel);
        this.changed.emit();
        await this.#save();
      },
      commit: async () => {
        this.#removals.delete(tunnel);
        await this.#save();
      },
    });
    this.#removals.set(tunnel, pending);
    await this.#save();
  }

  /** @throws CallFailure */
  find(key: string): TunnelItem {
    const tunnel = this.#tunnels.find((other) => other.key === key);
    if (tunnel !== undefined) return tunnel;
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
    await this.#closer.retry(connection.api);
    const before = new Map(this.#tunnels.map((tunnel) => [tunnel, tunnel.tunnel]));
    const live = await connection.api.listTunnels();
    const byId = new Map(live.map((tunnel) => [tunnel.id, tunnel]));
    for (const tunnel of this.#tunnels) {
      const now = byId.get(tunnel.tunnel.id);
      // A tunnel that was changed during the request is newer than the list.
      const isUnchanged = before.get(tunnel) === tunnel.tunnel;
      if (now !== undefined && !tunnel.isEnded && isUnchanged) tunnel.update(now);
    }
    await this.#closeStopped(connection, byId);
    return live;
  }

  /** This machine is going to sleep. */
  suspend(): void {
    for (const tunnel of this.#tunnels) tunnel.suspend();
  }

  /** The network is back, or this machine is awake. */
  wake(): void {
    for (const tunnel of this.#tunnels) tunnel.wake();
  }

  /**
   * Ends every tunnel here and, if it can be reached, at the relay.
   *
   * @param why for the list
   */
  async closeAll(why: string): Promise<void> {
    const connection = this.#options.connection();
    const live = this.#tunnels.filter((tunnel) => !tunnel.isEnded);
    for (const tunnel of live) tunnel.end('stopped', () => why);
    await this.#save();
    if (connection === undefined) return;
    await Promise.all(live.map(({ tunnel }) => this.#closer.close(connection.api, tunnel.id)));
  }

  /**
   * Ends every tunnel here and empties the list; the relay is not told yet.
   *
   * @param why for the list
   * @returns what gives all of it back, and what closes it at the relay
   */
  async setAside(why: string): Promise<{ restore(): Promise<void>; close(): Promise<void> }> {
    const connection = this.#options.connection();
    const all = this.#tunnels;
    const live = all.filter((tunnel) => !tunnel.isEnded);
    for (const tunnel of live) tunnel.end('stopped', () => why);
    this.#tunnels = [];
    this.changed.emit();
    await this.#save();
    return {
      restore: async () => {
        const again = this.#connection();
        this.#tunnels = all;
        for (const tunnel of live) tunnel.serve(again);
        this.changed.emit();
        await this.#save();
      },
      close: async () => {
        if (connection === undefined) return;
        await Promise.all(live.map(({ tunnel }) => this.#closer.close(connection.api, tunnel.id)));
      },
    };
  }

  #open(saved: SavedTunnel, password: string | undefined, adopted?: Service): TunnelItem {
    const of = adopted ?? this.#serviceOf(saved);
    const { clock, onKnock } = this.#options;
    return new TunnelItem(saved, password, {
      clock,
      isExtended: adopted === undefined,
      serve: of.serve,
      log: new ShownLog(of.log),
      onChange: () => this.changed.emit(),
      onKnock,
      onEnded: (_tunnel, reason) => this.#onEnded(reason),
    });
  }

  #serviceOf({ form, tunnel }: SavedTunnel): Service {
    const { serve, createLog } = this.#options;
    const { folder, hosts: ports } = form;
    const hosts = ports && { tunnel, ports };
    if (folder === undefined) return { serve, log: createLog(localTarget(form), hosts) };
    const service = new FolderService(folder);
    return { serve: service.serving(serve), log: createLog(service.target, hosts) };
  }

  async #startEnded(connection: Connection, tunnel: TunnelItem, reason: string): Promise<void> {
    if (reason === 'replaced' || reason === 'refused') {
      tunnel.serve(connection);
      await this.#save();
      return;
    }
    // Its name is free only once the relay knows that it was stopped.
    await this.#closer.retry(connection.api);
    const access = accessAgain(tunnel.tunnel.access, () => tunnel.password ?? this.#options.inventPassword());
    const made = await this.#make(connection, createRequest({ ...tunnel.form, access }));
    tunnel.serve(connection, made, access.password);
    await this.#saveOrClose(connection, tunnel, made);
  }

  /** The account's live tunnels without those of this app, which stopped ones may still be. */
  #others({ api }: Connection): Pick<RelayApi, 'listTunnels'> {
    return {
      listTunnels: async () => (await api.listTunnels()).filter(({ id }) => this.ownIds?.has(id) === false),
    };
  }

  /** Creates a tunnel at the relay. A tunnel stopped a moment ago may still occupy its name or its slot in the plan. */
  async #make(connection: Connection, request: Parameters<RelayApi['createTunnel']>[0]): Promise<Tunnel> {
    this.#making += 1;
    try {
      return await connection.api.createTunnel(request);
    } catch (error) {
      const isInTheWay = error instanceof RelayRefusal && (error.status === 403 || error.status === 409);
      if (!isInTheWay || this.#stops.size === 0) throw error;
      await Promise.all([...this.#stops.values()].map((stop) => stop.commit()));
      return await connection.api.createTunnel(request);
    } finally {
      this.#making -= 1;
    }
  }

  /** The app may have ended before it could tell the relay that the user stopped a tunnel. */
  async #closeStopped(connection: Connection, live: ReadonlyMap<string, Tunnel>): Promise<void> {
    for (const { key, status, tunnel } of this.#tunnels) {
      const wasStopped = status.name === 'ended' && status.reason === 'stopped';
      if (wasStopped && live.has(tunnel.id) && !this.#stops.has(key))
        await this.#closer.close(connection.api, tunnel.id);
    }
  }

  #onEnded(reason: OfflineReason): void {
    this.#save().catch((error: unknown) => this.#options.onSaveFailed(error));
    if (reason === 'key-refused') this.#options.onKeyRefused();
  }

  #connection(): Connection {
    return signedIn(this.#options.connection());
  }

  /** A tunnel that a crash would make the app forget must not stay at the relay. */
  async #saveOrClose(connection: Connection, tunnel: TunnelItem, made: Tunnel): Promise<void> {
    try {
      await this.#save();
    } catch (error) {
      tunnel.end('stopped', () => t('problem.notSaved'));
      await this.#closer.close(connection.api, made.id);
      throw new CallFailure({
        code: 'not-saved',
        text: t('problem.settingsNotWritten', {
          why: error instanceof Error ? error.message : String(error),
        }),
      });
    }
  }

  #withRoom(tunnels: TunnelItem[]): TunnelItem[] {
    if (tunnels.length <= TUNNELS_MAX) return tunnels;
    const oldest = tunnels.findLast((tunnel) => tunnel.isEnded);
    return tunnels.filter((tunnel) => tunnel !== oldest);
  }

  #save(): Promise<void> {
    const kept = [...this.#tunnels, ...this.#removals.keys()];
    const passwords = kept.flatMap(({ key, password, tunnel: { access } }) =>
      password === undefined || access.password !== true ? [] : [[key, password] as const],
    );
    return this.#options.save(
      kept.map((tunnel) => tunnel.saved),
      new Map(passwords),
    );
  }
}

type CloseApi = Pick<RelayApi, 'closeTunnel'>;

/** Closes tunnels at the relay: now, or later if it cannot be told now. */
export class RelayCloser {
  readonly #unclosed = new Set<string>();

  /** ids of tunnels that still have to be closed at the relay */
  get unclosed(): ReadonlySet<string> {
    return this.#unclosed;
  }

  /** Resolves in any case; a tunnel that could not be closed is closed by a later {@link RelayCloser.retry}. */
  async close(api: CloseApi, id: string): Promise<void> {
    this.#unclosed.add(id);
    try {
      await api.closeTunnel(id);
    } catch (error) {
      // 404 means that the tunnel was closed or has expired in the meantime, which was the goal.
      if (!(error instanceof RelayRefusal && error.isOwn && error.status === 404)) return;
    }
    this.#unclosed.delete(id);
  }

  /** Closes what could not be closed before, as far as that is possible now. */
  async retry(api: CloseApi): Promise<void> {
    for (const id of this.#unclosed) await this.close(api, id);
  }
}
