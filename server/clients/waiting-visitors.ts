/** The inbound connections of one tunnel that wait for their data sockets, and how they are announced. */
import { type KeyEnd, PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import type { Clock, Timer } from '../clock.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { DialFault, DialHandler } from '../tunnels/stream.ts';
import { type LargeStream, Move } from './client-streams.ts';
import type { ControlSocket } from './control-socket.ts';
import type { Announced, Ownership } from './ownership.ts';

/** @limit How long visitors wait for a client that has just disconnected (protocol.md section 4.2). */
export const HOLD_OVER_MS = 10_000;
/**
 * @limit How long a relay waits for another relay to report a client that has just connected to it: the client's first
 * visitor may arrive earlier.
 */
export const CLAIM_GRACE_MS = 1000;

/** An inbound connection that waits for its data socket. */
export interface Pending {
  /** opens its data socket; `undefined` before it has to be announced */
  id: string | undefined;
  readonly tunnel: LiveTunnel;
  readonly handler: DialHandler;
  /** when it began to wait, monotonic ms */
  readonly since: number;
  timer: Timer | undefined;
  /** until when its id opens a data socket, monotonic ms */
  idEnds: number;
  /** id of the key of the control socket that it was last announced on */
  announcedTo: string | undefined;
  /** whether another relay is being asked to announce it */
  asking: boolean;
  /** fencing number of the other relay's control socket that it was last announced on; 0 for none */
  fence: number;
  /** the highest of those reported while another relay was being asked; 0 for none */
  newestFence: number;
}

/** Shared by the clients of all tunnels: most are idle, and whatever each of them has determines the memory they need. */
export interface ClientsContext {
  readonly clock: Clock;
  /** which other relays may have clients */
  readonly ownership: Ownership;
  readonly awaited: AwaitedSockets;
  /** called when the client of a tunnel has a newer control socket on another relay */
  readonly onMoved: (tunnel: LiveTunnel) => void;
}

/** What waits for a data socket on this relay, by the id that opens it. */
export class AwaitedSockets {
  readonly #clock: Clock;
  readonly #ownership: Pick<Ownership, 'connectionId'>;
  /** visitors */
  readonly #pending = new Map<string, Pending>();
  /** streams that are to continue on a data socket of their own */
  readonly #moves = new Map<string, Move>();

  constructor(clock: Clock, ownership: Pick<Ownership, 'connectionId'>) {
    this.#clock = clock;
    this.#ownership = ownership;
  }

  /**
   * What waits for the data socket with that id, if anything does. A visitor may wait longer than its id is valid
   * (protocol.md section 6.1), for a client that has just disconnected.
   */
  find(id: string): Pending | Move | undefined {
    const pending = this.#pending.get(id);
    if (pending !== undefined) return this.#clock.monotonic() < pending.idEnds ? pending : undefined;
    const move = this.#moves.get(id);
    return move?.isOpen === true ? move : undefined;
  }

  /** Assigns the id that opens a visitor's data socket. */
  name(pending: Pending): string {
    // At least 106 random bits: the id alone authorizes the data socket (protocol.md section 6.1).
    const id = this.#ownership.connectionId();
    this.#pending.set(id, pending);
    return id;
  }

  /** The id of a visitor is no longer valid. */
  forget(id: string): void {
    this.#pending.delete(id);
  }

  /** A stream of a trunk may perform better on its own data socket. */
  move(tunnel: LiveTunnel, stream: LargeStream): void {
    const id = this.#ownership.connectionId();
    const over = (): void => void this.#moves.delete(id);
    this.#moves.set(id, new Move({ id, tunnel, stream, clock: this.#clock, over }));
  }
}

/** For tunnels that never had one, which are most: an empty set would also take memory. */
const NONE = new Set<Pending>();

const APART_TEXT =
  "The relays of this service cannot reach each other right now, and this tunnel's client may be connected to a different relay. Try again in a moment.";

export class WaitingVisitors {
  readonly #client: { readonly tunnel: LiveTunnel; readonly control: ControlSocket | undefined };
  readonly #o: Pick<ClientsContext, 'clock' | 'ownership' | 'awaited'>;
  #pending = NONE;
  /** When the client was last seen to leave, monotonic ms; -Infinity for one that never connected. */
  #leftAt: number;

  /**
   * @param client with its control socket, if it is here
   * @param leftAt since when the client is away, monotonic ms
   */
  constructor(
    client: { readonly tunnel: LiveTunnel; readonly control: ControlSocket | undefined },
    leftAt: number,
    context: Pick<ClientsContext, 'clock' | 'ownership' | 'awaited'>,
  ) {
    this.#client = client;
    this.#leftAt = leftAt;
    this.#o = context;
  }

  get size(): number {
    return this.#pending.size;
  }

  has(pending: Pending): boolean {
    return this.#pending.has(pending);
  }

  add(pending: Pending): void {
    if (this.#pending === NONE) this.#pending = new Set();
    this.#pending.add(pending);
  }

  /** It no longer waits. */
  release(pending: Pending): void {
    pending.timer?.cancel();
    this.#pending.delete(pending);
    if (pending.id !== undefined) this.#o.awaited.forget(pending.id);
  }

  /**
   * Announces a connection to the client on whichever relay has it, or lets it wait for a client that has just left.
   */
  seek(pending: Pending): void {
    const control = this.#client.control;
    if (control !== undefined) return this.#announce(pending, control);
    if (!this.#o.ownership.hasOthers) return this.failIn(this.#holdOver(), pending, 'tunnel-offline');
    this.#expectData(pending);
    pending.asking = true;
    pending.newestFence = 0;
    const announced = (result: Announced) => this.#announcedElsewhere(pending, result);
    pending.id ??= this.#o.awaited.name(pending);
    this.#o.ownership.announce(this.#client.tunnel.id, pending.id, announced);
  }

  /** Announces all of them to the client on whichever relay has it now. */
  seekAgain(): void {
    for (const pending of this.#pending) this.seek(pending);
  }

  /**
   * The client has connected to another relay; connections that were announced on this very control socket are not
   * announced on it again.
   */
  cameElsewhere(fence: number): void {
    for (const pending of this.#pending) {
      if (pending.asking) pending.newestFence = Math.max(pending.newestFence, fence);
      else if (pending.fence < fence) this.seek(pending);
    }
  }

  /** ms since the client has left; Infinity for one that never connected. */
  get awayMs(): number {
    return this.#o.clock.monotonic() - this.#leftAt;
  }

  /** The client has left this relay, and its announcements are lost, so all connections wait for it like new ones. */
  clientLeft(): void {
    this.#leftAt = this.#o.clock.monotonic();
    this.holdOver();
  }

  /** All of them wait for the client, as long as for one that has just left. */
  holdOver(): void {
    for (const pending of this.#pending) this.failIn(HOLD_OVER_MS, pending, 'tunnel-offline');
  }

  /** Ids of the keys of their announcements. */
  *keysInUse(): Generator<string> {
    for (const { announcedTo } of this.#pending) if (announcedTo !== undefined) yield announcedTo;
  }

  /** Fails connections that were announced through keys that are no longer valid. */
  revoke(keys: ReadonlyMap<string, KeyEnd>): void {
    for (const pending of this.#pending) {
      const { announcedTo } = pending;
      if (announcedTo !== undefined && keys.has(announcedTo)) this.#fail(pending, 'tunnel-offline');
    }
  }

  failAll(fault: DialFault): void {
    for (const pending of this.#pending) this.#fail(pending, fault);
  }

  /** Fails a connection `ms` from now. */
  failIn(ms: number, pending: Pending, fault: DialFault, text?: string): void {
    pending.timer?.cancel();
    pending.timer = this.#o.clock.setTimeout(() => this.#fail(pending, fault, text), ms);
  }

  #fail(pending: Pending, fault: DialFault, text?: string): void {
    this.release(pending);
    pending.handler.failed(fault, text);
  }

  #announce(pending: Pending, control: ControlSocket): void {
    control.announce((pending.id ??= this.#o.awaited.name(pending)));
    pending.announcedTo = control.key.keyId;
    this.#expectData(pending);
  }

  #announcedElsewhere(pending: Pending, result: Announced): void {
    pending.asking = false;
    if (!this.#pending.has(pending) || this.#client.control !== undefined) return;
    const fence = result.kind === 'sent' ? result.fence : 0;
    // The client has connected, or reconnected, while the other relay was asked.
    if (pending.newestFence > fence) return this.seek(pending);
    switch (result.kind) {
      case 'sent':
        pending.announcedTo = result.keyId;
        pending.fence = fence;
        return;
      case 'away':
        return this.failIn(Math.max(CLAIM_GRACE_MS, this.#holdOver(result.ms)), pending, 'tunnel-offline');
      case 'apart':
        return this.failIn(this.#holdOver(), pending, 'tunnel-offline', APART_TEXT);
    }
  }

  #expectData(pending: Pending): void {
    pending.idEnds = this.#o.clock.monotonic() + PENDING_TIMEOUT_MS;
    this.failIn(PENDING_TIMEOUT_MS, pending, 'client-timeout');
  }

  /** ms that visitors wait for a client that left a relay this many ms ago. */
  #holdOver(awayMs = Infinity): number {
    return Math.max(0, HOLD_OVER_MS - Math.min(awayMs, this.#o.clock.monotonic() - this.#leftAt));
  }
}
