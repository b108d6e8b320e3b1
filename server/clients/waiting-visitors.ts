/** The inbound connections of one tunnel that wait for their data sockets, and how they are announced or forwarded. */
import { type KeyEnd, PENDING_TIMEOUT_MS } from '../../shared/control.ts';
import type { Clock, Timer } from '../clock.ts';
import type { Counts } from '../shared-counts.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { DialFault, DialHandler } from '../tunnels/stream.ts';
import { type LargeStream, Move, type StreamSocket } from './client-streams.ts';
import type { ControlSocket } from './control-socket.ts';
import type { Forwarder, Ownership, Visit, VisitFailure, VisitHandler } from './ownership.ts';

/**
 * How long visitors wait for a client that has just disconnected (protocol.md section 4.2).
 * @limit visitor: Wait for a client that has just disconnected | 503 `tunnel-offline`
 */
export const HOLD_OVER_MS = 10_000;
/**
 * How long a visitor may wait on another relay. That relay has time limits of its own, for its client and for one
 * that has just left, which start when it has been found and reached.
 */
export const VISIT_TIMEOUT_MS = PENDING_TIMEOUT_MS + HOLD_OVER_MS + 5000;
/** Milliseconds until a relay looks for a client again whose relay could not be reached, or did not have it. */
export const VISIT_RETRY_MS = 1000;

/** An inbound connection that waits for its data socket. */
export interface Pending {
  /** opens its data socket; `undefined` before it has to be announced */
  id: string | undefined;
  readonly tunnel: LiveTunnel;
  /** of a connection to a TLS or TCP tunnel, as `Dialer.dial` describes; else empty */
  readonly peers: string;
  readonly handler: DialHandler;
  /**
   * called, and the connection no longer waits, when the client is not here; only for the visitors of other relays, who
   * wait for the client there
   */
  readonly away: (() => void) | undefined;
  /** when it began to wait, monotonic ms */
  readonly since: number;
  timer: Timer | undefined;
  /** until when its id opens a data socket, monotonic ms */
  idEnds: number;
  /** id of the key of the control socket that it was last announced on */
  announcedTo: string | undefined;
  /** while it is being forwarded to another relay */
  visit: Visit | undefined;
  /** until when it waits for a relay that could not be reached, or did not have the client, monotonic ms */
  waitsUntil: number | undefined;
}

/** Shared by the clients of all tunnels: most are idle, and whatever each of them has determines the memory they need. */
export interface ClientsContext {
  readonly clock: Clock;
  /** which other relays may have clients */
  readonly ownership: Ownership;
  readonly forwarder: Pick<Forwarder, 'visit'>;
  readonly awaited: AwaitedSockets;
  /** those of the other processes of this relay */
  readonly counts: Counts;
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

/** The client of a tunnel, as its waiting visitors see it. */
interface AwaitedClient {
  readonly tunnel: LiveTunnel;
  readonly control: ControlSocket | undefined;
  /** There is a stream to the client on another relay. */
  openedElsewhere(pending: Pending, stream: StreamSocket, via: string): void;
}

export class WaitingVisitors {
  readonly #client: AwaitedClient;
  readonly #o: Pick<ClientsContext, 'clock' | 'ownership' | 'forwarder' | 'awaited'>;
  readonly #changed: () => void;
  #pending = NONE;
  /** how many of them are visitors of other relays */
  #forwarded = 0;
  /** When the client was last seen to leave, monotonic ms; -Infinity for one that never connected. */
  #leftAt: number;

  /**
   * @param client with its control socket, if it is here
   * @param leftAt since when the client is away, monotonic ms
   * @param changed called when more or fewer of them wait
   */
  constructor(
    client: AwaitedClient,
    leftAt: number,
    context: Pick<ClientsContext, 'clock' | 'ownership' | 'forwarder' | 'awaited'>,
    changed: () => void,
  ) {
    this.#changed = changed;
    this.#client = client;
    this.#leftAt = leftAt;
    this.#o = context;
  }

  /** All of them: the client accepts only so many. */
  get size(): number {
    return this.#pending.size;
  }

  /** Visitors of other relays, who are counted there. */
  get forwarded(): number {
    return this.#forwarded;
  }

  has(pending: Pending): boolean {
    return this.#pending.has(pending);
  }

  add(pending: Pending): void {
    if (this.has(pending)) return;
    if (this.#pending === NONE) this.#pending = new Set();
    this.#pending.add(pending);
    if (pending.away !== undefined) this.#forwarded += 1;
    this.#changed();
  }

  /** It no longer waits. */
  release(pending: Pending): void {
    pending.timer?.cancel();
    this.#leave(pending);
    if (this.#pending.delete(pending) && pending.away !== undefined) this.#forwarded -= 1;
    if (pending.id !== undefined) this.#o.awaited.forget(pending.id);
    this.#changed();
  }

  /** Announces a connection to the client, or forwards it to the relay that has the client. */
  seek(pending: Pending): void {
    this.#leave(pending);
    const control = this.#client.control;
    if (control !== undefined) return this.#announce(pending, control);
    if (pending.away !== undefined) return this.#giveBack(pending, pending.away);
    if (!this.#o.ownership.hasOthers) return this.failIn(this.#holdOver(), pending, 'tunnel-offline');
    this.#forward(pending);
  }

  /**
   * Announces or forwards all of them, wherever the client is now; those that another relay has been asked for already
   * stay there, unless the client is here.
   */
  seekAgain(): void {
    const isHere = this.#client.control !== undefined;
    for (const pending of this.#pending) if (isHere || pending.visit?.relay === undefined) this.seek(pending);
  }

  /** The client has connected to another relay, which announces those that wait there already by itself. */
  cameElsewhere(relay: string): void {
    for (const pending of this.#pending) {
      pending.waitsUntil = undefined;
      if (pending.visit?.relay === relay) this.failIn(VISIT_TIMEOUT_MS, pending, 'client-timeout');
      else this.seek(pending);
    }
  }

  /** ms since the client has left; Infinity for one that never connected. */
  get awayMs(): number {
    return this.#o.clock.monotonic() - this.#leftAt;
  }

  /**
   * The client has left this relay, and its announcements may be lost, so all connections wait for it like new ones. A
   * client that has seen one may still open its data socket; another relay calls its visitor back if the client comes
   * elsewhere.
   */
  clientLeft(): void {
    this.#leftAt = this.#o.clock.monotonic();
    for (const pending of this.#pending) {
      if (pending.away === undefined || pending.id !== undefined)
        this.failIn(HOLD_OVER_MS, pending, 'tunnel-offline');
      else this.#giveBack(pending, pending.away);
    }
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
    this.#in(ms, pending, () => this.#fail(pending, fault, text));
  }

  #in(ms: number, pending: Pending, act: () => void): void {
    pending.timer?.cancel();
    pending.timer = this.#o.clock.setTimeout(act, ms);
  }

  #fail(pending: Pending, fault: DialFault, text?: string): void {
    this.release(pending);
    pending.handler.failed(fault, text);
  }

  /** The visitor's relay waits for the client. */
  #giveBack(pending: Pending, away: () => void): void {
    this.release(pending);
    away();
  }

  #announce(pending: Pending, control: ControlSocket): void {
    control.announce((pending.id ??= this.#o.awaited.name(pending)), pending.peers);
    pending.announcedTo = control.key.keyId;
    pending.idEnds = this.#o.clock.monotonic() + PENDING_TIMEOUT_MS;
    this.failIn(PENDING_TIMEOUT_MS, pending, 'client-timeout');
  }

  #forward(pending: Pending): void {
    // Before the visit, so that its result finds the timer.
    this.failIn(VISIT_TIMEOUT_MS, pending, 'client-timeout');
    const handler: VisitHandler = {
      opened: (stream, via) => {
        pending.visit = undefined;
        this.#client.openedElsewhere(pending, stream, via);
      },
      failed: (failure) => {
        pending.visit = undefined;
        this.#notForwarded(pending, failure);
      },
    };
    pending.visit = this.#o.forwarder.visit(this.#client.tunnel.id, handler, pending.peers);
  }

  #notForwarded(pending: Pending, failure: VisitFailure): void {
    switch (failure.kind) {
      case 'fault':
        return this.#fail(pending, failure.fault);
      case 'away':
        return this.failIn(
          Math.min(this.#holdOver(failure.ms), this.#patience(pending)),
          pending,
          'tunnel-offline',
        );
      case 'apart':
        return this.failIn(this.#holdOver(), pending, 'tunnel-offline', APART_TEXT);
      case 'lost': {
        pending.waitsUntil ??= this.#o.clock.monotonic() + HOLD_OVER_MS;
        const patience = this.#patience(pending);
        if (patience <= VISIT_RETRY_MS) return this.failIn(patience, pending, 'tunnel-offline');
        return this.#in(VISIT_RETRY_MS, pending, () => this.seek(pending));
      }
    }
  }

  /** How long a visitor continues to wait whose client's relay could not be reached, or did not have it. */
  #patience({ waitsUntil = Infinity }: Pending): number {
    return Math.max(0, waitsUntil - this.#o.clock.monotonic());
  }

  #leave(pending: Pending): void {
    pending.visit?.cancel();
    pending.visit = undefined;
  }

  /** ms that visitors wait for a client that left a relay this many ms ago. */
  #holdOver(awayMs = Infinity): number {
    return Math.max(0, HOLD_OVER_MS - Math.min(awayMs, this.#o.clock.monotonic() - this.#leftAt));
  }
}
