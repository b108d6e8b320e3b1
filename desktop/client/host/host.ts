/**
 * The tunnels of one program: opens them at the relay, serves them, remembers them, and closes them. The command, the app,
 * the library and the server of agents differ in how they show that, and in what they allow.
 */
import { randomUUID } from 'node:crypto';
import type { Access } from '../../../shared/access.ts';
import type { KeptName } from '../../../shared/names.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { type Claim, claimRequest } from '../config/claims.ts';
import type { TunnelSettings } from '../config/tunnel-spec.ts';
import type { InspectorServer } from '../inspector/inspector-server.ts';
import { type Message, MessageError, messageOf, toMessage } from '../messages.ts';
import {
  type ApiClient,
  createPatiently,
  createRequest,
  type CreateRequest,
  type CreateTiming,
} from '../relay/api-client.ts';
import { RelayRefusal } from '../relay/errors.ts';
import { Signal } from '../signal.ts';
import { Turns } from '../turns.ts';
import { findKeptName, findNameHold, keepName } from './kept-names.ts';
import { type OpenTarget, openTarget } from './open-target.ts';
import { RelayCloser } from './relay-closer.ts';
import {
  type KnownTunnel,
  type RelayConnection,
  ServedTunnel,
  type ServedTunnelOptions,
} from './served-tunnel.ts';

/** A relay, and what a host asks of it. */
interface HostConnection extends RelayConnection {
  readonly api: Pick<
    ApiClient,
    | 'now'
    | 'createTunnel'
    | 'listTunnels'
    | 'getAccount'
    | 'getTunnel'
    | 'closeTunnel'
    | 'extendTunnel'
    | 'setAccess'
    | 'keepName'
    | 'listNames'
    | 'changeName'
  >;
}

export interface HostOptions extends ServedTunnelOptions {
  /** the current relay. @throws Error without one */
  readonly connection: () => HostConnection;
  /** number of tunnels that are kept, those that have ended included; by default all */
  readonly max?: number;
  /** Stores the tunnels, so that the next start has them; by default, they end with this process. */
  readonly save?: (tunnels: readonly ServedTunnel[]) => Promise<void>;
  /** Closes tunnels that are in the way of a new one, by their name or their number. @returns whether there are any */
  readonly makeRoom?: () => Promise<boolean>;
  /** lets other programs of this user see the tunnels */
  readonly inspector?: Pick<InspectorServer, 'add' | 'remove'> | undefined;
}

/** A tunnel to open. */
interface WantedTunnel {
  readonly settings: TunnelSettings;
  readonly access: Access;
  /** what happens to the live tunnel that has the name; `undefined` for a new one */
  readonly claim?: Claim | undefined;
  /** how long to wait while the relay limits how many tunnels can be created; without it, that is an error */
  readonly patience?: CreateTiming | undefined;
  /** whether a random name will do, if the relay refuses the one that is wanted */
  readonly isNameOptional?: boolean;
  /** its target, if that is open already; it is closed with the tunnel */
  readonly target?: OpenTarget;
}

export class Host {
  /** The list, or something about one of its tunnels, has changed. */
  readonly changed = new Signal();
  /** There is another tunnel, which is not served yet. */
  readonly added = new Signal<ServedTunnel>();
  readonly #options: HostOptions;
  /** newest first */
  #tunnels: readonly ServedTunnel[] = [];
  readonly #closer = new RelayCloser();
  /** Creates that wait for the relay's limit do so one after the other. */
  readonly #creates = new Turns();
  /** tunnels that the relay is being asked for */
  #making = 0;
  /** counts the calls of {@link Host.abandon} */
  #abandoned = 0;
  /** ids of all that were created here: their names may be taken over again */
  readonly #made = new Set<string>();

  /** @param known of an earlier start, newest first; they are not served before {@link Host.resume} */
  constructor(options: HostOptions, known: readonly KnownTunnel[] = []) {
    this.#options = options;
    this.#tunnels = known.map((tunnel) => this.#open(tunnel));
  }

  /** newest first */
  get tunnels(): readonly ServedTunnel[] {
    return this.#tunnels;
  }

  /** Ids of all that were created here. */
  get made(): ReadonlySet<string> {
    return this.#made;
  }

  /** Whether it is just creating a tunnel, whose id it does not know yet. */
  get isMaking(): boolean {
    return this.#making > 0;
  }

  /** Ids of tunnels that still have to be closed at the relay. */
  get unclosed(): ReadonlySet<string> {
    return this.#closer.unclosed;
  }

  /**
   * Opens a tunnel.
   *
   * @returns the tunnel, which is stored and being served
   * @throws NameInUse; FolderUnreadable; what the relay refuses; the reason of an interruption
   */
  async create(wanted: WantedTunnel): Promise<ServedTunnel> {
    const { settings, access } = wanted;
    const connection = this.#options.connection();
    const since = this.#abandoned;
    const target = wanted.target ?? (await openTarget(settings.target));
    try {
      const tunnel = await this.#make(connection, since, access, target, wanted);
      const served = this.#open({ key: randomUUID(), settings, tunnel, password: access.password });
      this.#tunnels = this.#withRoom([served, ...this.#tunnels]);
      this.added.emit(served);
      await this.#saveOrClose(connection, served);
      // Its owner may have ended it.
      if (served.isEnded) await target.close();
      else served.serve(connection, { target });
      return served;
    } catch (error) {
      await target.close();
      throw error;
    }
  }

  /** Creates a tunnel that has ended again: another one of the relay, with the same settings. */
  async recreate(served: ServedTunnel, access: Access): Promise<void> {
    const connection = this.#options.connection();
    const since = this.#abandoned;
    // Its name is free only once the relay knows that it was stopped.
    await this.#closer.retry(connection);
    const target = await openTarget(served.settings.target);
    try {
      const tunnel = await this.#make(connection, since, access, target, served);
      served.serve(connection, { tunnel, password: access.password, target });
    } catch (error) {
      await target.close();
      throw error;
    }
    await this.#saveOrClose(connection, served);
  }

  /** Serves a tunnel that the relay still has. */
  async takeBack(served: ServedTunnel): Promise<void> {
    served.serve(this.#options.connection());
    await this.save();
  }

  /** Serves the tunnels that it knows of an earlier start. One whose key was refused is served with the new key. */
  resume(connection: HostConnection): void {
    for (const tunnel of this.#tunnels) {
      const { state } = tunnel;
      if (state.name !== 'ended' || state.reason === 'key-refused') tunnel.serve(connection);
    }
  }

  /** @param ttl duration string; without it, the tunnel's own time to live is added */
  async extend(served: ServedTunnel, ttl?: string): Promise<void> {
    served.update(await this.#options.connection().api.extendTunnel(served.tunnel.id, ttl));
  }

  /** Changes who may visit a tunnel, immediately. */
  async setAccess(served: ServedTunnel, access: Access): Promise<void> {
    const tunnel = await this.#options.connection().api.setAccess(served.tunnel.id, access);
    served.changedAccess(tunnel, access.password);
    await this.save();
  }

  /**
   * Ends a tunnel here immediately, and at the relay.
   *
   * @param timeoutMs how long the relay may take
   * @returns why the relay could not be told; it is told later, if this process is still there
   */
  async close(served: ServedTunnel, timeoutMs?: number): Promise<unknown> {
    const connection = this.#options.connection();
    if (!served.isEnded) served.end('stopped', toMessage('tunnel.stopped'));
    return this.#closer.close(connection, served.tunnel.id, timeoutMs);
  }

  /** @returns as {@link findKeptName}; `undefined` also for a tunnel that has no name */
  async keptNameOf({ tunnel }: ServedTunnel): Promise<KeptName | null | undefined> {
    return tunnel.name === '' ? undefined : findKeptName(this.#options.connection().api, tunnel.name);
  }

  /** @returns as {@link findNameHold} */
  nameHold(): Promise<number | undefined> {
    return findNameHold(this.#options.connection().api);
  }

  /** Closes a tunnel of the relay that is not served here. @returns as {@link Host.close} */
  closeAtRelay(connection: HostConnection, id: string): Promise<unknown> {
    return this.#closer.close(connection, id);
  }

  /** Takes a tunnel off the list. @returns call it to put the tunnel back */
  forget(served: ServedTunnel): () => void {
    const place = this.#tunnels.indexOf(served);
    this.#tunnels = this.#tunnels.filter((other) => other !== served);
    this.changed.emit();
    return () => {
      this.#tunnels = this.#tunnels.toSpliced(place, 0, served);
      this.changed.emit();
    };
  }

  /** Ends every tunnel here and takes all of them off the list; the relay keeps them. @returns those that had not ended */
  abandon(why: Message): { readonly live: readonly ServedTunnel[]; readonly restore: () => void } {
    this.#abandoned += 1;
    const all = this.#tunnels;
    const live = all.filter(({ isEnded }) => !isEnded);
    for (const tunnel of live) tunnel.end('stopped', why);
    this.#tunnels = [];
    this.changed.emit();
    return {
      live,
      restore: () => {
        const connection = this.#options.connection();
        this.#tunnels = all;
        for (const tunnel of live) tunnel.serve(connection);
        this.changed.emit();
      },
    };
  }

  /** Asks the relay for counters and times, and closes what could not be closed before. @returns the account's live tunnels */
  async refresh(connection = this.#options.connection()): Promise<readonly Tunnel[]> {
    await this.#closer.retry(connection);
    const before = new Map(this.#tunnels.map((served) => [served, served.tunnel]));
    const live = await connection.api.listTunnels();
    const byId = new Map(live.map((tunnel) => [tunnel.id, tunnel]));
    for (const served of this.#tunnels) {
      const now = byId.get(served.tunnel.id);
      // A tunnel that was changed during the request is newer than the list.
      const isUnchanged = before.get(served) === served.tunnel;
      if (now !== undefined && !served.isEnded && isUnchanged) served.update(now);
    }
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

  /** Stores the tunnels. */
  async save(): Promise<void> {
    await this.#options.save?.(this.#tunnels);
  }

  #open(known: KnownTunnel): ServedTunnel {
    const { inspector } = this.#options;
    const served = new ServedTunnel(known, this.#options);
    served.listen({
      onChange: () => this.changed.emit(),
      onState({ name }) {
        if (name === 'ended') inspector?.remove(served);
        else inspector?.add(served);
      },
    });
    return served;
  }

  /**
   * @param since number of {@link Host.#abandoned} when the owner wanted the tunnel
   * @throws OwnerLeft if the owner has left since; the tunnel is closed then
   */
  async #make(
    connection: HostConnection,
    since: number,
    access: Access,
    { local }: OpenTarget,
    { settings, claim, patience, isNameOptional = false }: Omit<WantedTunnel, 'access' | 'target'>,
  ): Promise<Tunnel> {
    const { api } = connection;
    const request = claimRequest(
      createRequest({ ...settings, port: local.port, raw: local.raw, access }),
      claim,
    );
    const ask = (asked: CreateRequest): Promise<Tunnel> =>
      patience === undefined
        ? api.createTunnel(asked)
        : this.#creates.take(() => createPatiently(api, asked, patience));
    this.#making += 1;
    try {
      if (settings.keep !== undefined && request.name !== undefined)
        await keepName(api, request.name, settings.keep);
      const tunnel = await this.#makeRoomFor(request, ask).catch((error: unknown) => {
        const isAboutName = error instanceof RelayRefusal && [400, 403, 409].includes(error.status);
        if (!isNameOptional || !isAboutName || request.name === undefined) throw error;
        const { name: _name, ...rest } = request;
        return ask(rest);
      });
      this.#made.add(tunnel.id);
      if (this.#abandoned === since) return tunnel;
      await this.#closer.close(connection, tunnel.id);
      throw new OwnerLeft();
    } finally {
      this.#making -= 1;
    }
  }

  /** A tunnel stopped a moment ago may still occupy its name or its slot in the plan. */
  async #makeRoomFor(
    request: CreateRequest,
    ask: (request: CreateRequest) => Promise<Tunnel>,
  ): Promise<Tunnel> {
    try {
      return await ask(request);
    } catch (error) {
      const isInTheWay = error instanceof RelayRefusal && (error.status === 403 || error.status === 409);
      if (!isInTheWay || (await this.#options.makeRoom?.()) !== true) throw error;
      return await ask(request);
    }
  }

  /** The oldest one that has ended makes room. */
  #withRoom(tunnels: readonly ServedTunnel[]): readonly ServedTunnel[] {
    const { max = Infinity } = this.#options;
    if (tunnels.length <= max) return tunnels;
    const oldest = tunnels.findLast(({ isEnded }) => isEnded);
    return tunnels.filter((tunnel) => tunnel !== oldest);
  }

  /** A tunnel that a crash would make this program forget must not stay at the relay. */
  async #saveOrClose(connection: HostConnection, served: ServedTunnel): Promise<void> {
    try {
      await this.save();
    } catch (error) {
      served.end('stopped', toMessage('ended.notSaved'));
      await this.#closer.close(connection, served.tunnel.id);
      throw new NotSaved(error);
    }
  }
}

/** The owner has left the relay while it created a tunnel. */
export class OwnerLeft extends MessageError {
  constructor() {
    super(toMessage('failure.signedOut'), { code: 'signed-out' });
  }
}

/** The tunnels could not be stored, so the new one was closed. */
export class NotSaved extends MessageError {
  constructor(cause: unknown) {
    super(toMessage('failure.notSaved', { why: messageOf(cause) }), { cause, code: 'not-saved' });
    this.name = 'NotSaved';
  }
}
