/**
 * The trunks of a tunnel (protocol.md section 10): connections to the relay that visitors share, so that a new
 * visitor needs no connection and no round trip. If the relay accepts no trunks, it announces visitors instead.
 */
import { CloseCode, PENDING_TIMEOUT_MS } from '../../../shared/control.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import { Trunk, type TrunkOwner } from '../../../shared/trunk/trunk.ts';
import type { WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import type { Clock, Deadlines, Expiring } from '../clock.ts';
import type { Attempt } from '../network/dial.ts';
import { RelayRefusal, type RelayUnreachable } from '../relay/errors.ts';
import type { DataHandler, DataSocket, DataSource, SocketHandler } from './data-dialer.ts';

/** Milliseconds between two tries to open the data socket of a visitor. */
const DATA_RETRY_MS = 250;
/**
 * Number of trunks that the client opens while a tunnel has visitors: a lost packet stops only one of them. The
 * relay may accept fewer (protocol.md section 10).
 */
export const TRUNKS_WANTED = 2;
/**
 * Delay before the client tries again after failing to open a trunk. Visitors are announced until the next try.
 */
export const TRUNK_RETRY_MS = 5000;
/**
 * How long the relay can go without reading any of what remains of an ended stream: as long as the relay waits
 * for a visitor who reads nothing.
 */
export const TRUNK_FLUSH_MS = 300_000;
/**
 * How long a tunnel can go without visitors before the client closes its trunks. The next visitor is announced.
 */
export const TRUNK_KEEP_MS = 10 * 60_000;

interface TrunksOptions {
  readonly clock: Clock;
  /** Opens a trunk's socket. */
  readonly open: (handler: SocketHandler) => Attempt;
  /**
   * Opens the data socket of a stream that has grown large.
   *
   * @param connectionId the id that the relay gave
   */
  readonly openData: (connectionId: string, handler: SocketHandler) => Attempt;
  /** Serves a visitor of a trunk, starting with its first bytes. */
  readonly serve: (stream: DataSocket, first: Buffer) => void;
  /** A trunk of the current control connection broke. */
  readonly onLost: () => void;
}

export class Trunks {
  readonly #options: TrunksOptions;
  /** opened under the current control connection, or being opened */
  readonly #current = new Set<ClientTrunk>();
  /** opened under an earlier control connection: the relay closes each after its last visitor */
  readonly #old = new Set<ClientTrunk>();
  #isOffering = false;
  /** the most the relay accepts, as far as known */
  #most = TRUNKS_WANTED;
  /** no trunk is opened before this, because one has failed; monotonic ms */
  #restsUntil = 0;
  /** a trunk closed by the relay is not replaced before this; monotonic ms */
  #replacesFrom = 0;
  #lastVisitor = 0;

  constructor(options: TrunksOptions) {
    this.#options = options;
  }

  /** The number of trunks open or being opened. */
  get size(): number {
    return this.#current.size + this.#old.size;
  }

  /** The tunnel is online: visitors may use trunks from now on. */
  start(): void {
    this.#isOffering = true;
    this.#most = TRUNKS_WANTED;
    this.#restsUntil = 0;
    this.#replacesFrom = 0;
    this.#lastVisitor = this.#options.clock.monotonic();
    this.#open(1);
  }

  /** Another control connection has taken over. Open trunks belong to the previous one. */
  renew(): void {
    this.leave();
    this.start();
  }

  /** The relay is shutting down: it keeps using its trunks, and accepts no more. */
  pause(): void {
    this.#isOffering = false;
  }

  /** The control connection has ended: the relay closes each trunk after its last visitor. */
  leave(): void {
    this.#isOffering = false;
    for (const trunk of this.#current) this.#old.add(trunk);
    this.#current.clear();
  }

  /** The tunnel has ended: cuts all trunks. */
  stop(): void {
    this.leave();
    for (const trunk of this.#old) trunk.cut();
    this.#old.clear();
  }

  /** A visitor has connected, through a trunk or after an announcement. */
  visited(): void {
    this.#lastVisitor = this.#options.clock.monotonic();
    if (this.#lastVisitor >= this.#restsUntil) this.#open(this.#most);
  }

  /** A trunk was refused or could not be opened. The next visitor announced after a pause causes another try. */
  failed(trunk: ClientTrunk, error: Error): void {
    if (!this.#forget(trunk)) return;
    this.#rest();
    if (!(error instanceof RelayRefusal)) return;
    if (error.status === 429) this.#most = Math.max(1, this.#current.size);
    // The relay has no trunks, at least until the next control connection.
    else if (error.status !== 503) this.#isOffering = false;
  }

  /** The relay has closed a trunk. It closes unused ones: one is enough then, and none after a long idle time. */
  closed(trunk: ClientTrunk, code: number): void {
    if (!this.#forget(trunk)) return;
    const now = this.#options.clock.monotonic();
    if (code === CloseCode.abnormal) this.#options.onLost();
    if (code !== CloseCode.normal) return this.#rest();
    if (this.#current.size > 0 || now < this.#replacesFrom || now - this.#lastVisitor >= TRUNK_KEEP_MS)
      return;
    // Do not immediately ask a relay again that closes trunks immediately.
    this.#replacesFrom = now + TRUNK_RETRY_MS;
    this.#open(1);
  }

  /** @returns whether it belonged to the current control connection */
  #forget(trunk: ClientTrunk): boolean {
    this.#old.delete(trunk);
    return this.#current.delete(trunk);
  }

  #rest(): void {
    this.#restsUntil = this.#options.clock.monotonic() + TRUNK_RETRY_MS;
  }

  /** Opens the missing trunks. */
  #open(wanted: number): void {
    while (this.#isOffering && this.#current.size < wanted) {
      const trunk = new ClientTrunk(this, this.#options);
      this.#current.add(trunk);
      trunk.open();
    }
  }
}

/** One trunk, from its request to its end. */
class ClientTrunk implements SocketHandler, TrunkOwner {
  readonly #trunks: Trunks;
  readonly #options: TrunksOptions;
  #attempt: Attempt | undefined;
  #trunk: Trunk | undefined;

  constructor(trunks: Trunks, options: TrunksOptions) {
    this.#trunks = trunks;
    this.#options = options;
  }

  open(): void {
    this.#attempt = this.#options.open(this);
  }

  cut(): void {
    if (this.#trunk === undefined) this.#attempt?.cancel();
    else this.#trunk.close(CloseCode.abnormal);
  }

  opened(socket: WebSocketByteStream): void {
    this.#trunk = new Trunk(socket, { begins: 'peer', owner: this, flushMs: TRUNK_FLUSH_MS });
    this.#trunk.measurePath();
  }

  failed(error: Error): void {
    this.#trunks.failed(this, error);
  }

  begun(stream: DataSocket, first: Buffer): void {
    this.#trunks.visited();
    this.#options.serve(stream, first);
  }

  moveAsked(stream: TrunkStream, connectionId: string): void {
    const attempt = this.#options.openData(connectionId, {
      opened: (socket) => stream.moveTo(socket),
      // The stream continues on the trunk.
      failed: () => stream.moveFailed(),
    });
    stream.opens(attempt);
  }

  closed(code: number): void {
    this.#trunks.closed(this, code);
  }
}

/*
 * Opens the data sockets of announced visitors, and retries while their ids are valid: a load balancer or a restarting
 * relay refuses attempts that succeed a moment later, and a refused attempt does not use up the id (protocol.md
 * section 6.1).
 */

export class RetriedData implements DataSource {
  readonly #source: DataSource;
  readonly #deadlines: Deadlines;

  constructor(source: DataSource, deadlines: Deadlines) {
    this.#source = source;
    this.#deadlines = deadlines;
  }

  open(connectionId: string, handler: DataHandler): Attempt {
    return new RetriedAttempt(this.#source, connectionId, this.#deadlines, handler);
  }
}

class RetriedAttempt implements Attempt, DataHandler, Expiring {
  readonly #source: DataSource;
  readonly #id: string;
  readonly #deadlines: Deadlines;
  readonly #handler: DataHandler;
  readonly #since: number;
  #attempt: Attempt;

  constructor(source: DataSource, id: string, deadlines: Deadlines, handler: DataHandler) {
    this.#source = source;
    this.#id = id;
    this.#deadlines = deadlines;
    this.#handler = handler;
    this.#since = deadlines.now();
    this.#attempt = source.open(id, this);
  }

  opened(stream: DataSocket): void {
    this.#handler.opened(stream);
  }

  failed(error: RelayRefusal | RelayUnreachable): void {
    const isInTime = this.#deadlines.now() - this.#since + DATA_RETRY_MS < PENDING_TIMEOUT_MS;
    if (isInTime && mayPass(error)) this.#deadlines.add(this, DATA_RETRY_MS);
    else this.#handler.failed(error);
  }

  /** The next try is due. */
  expire(): void {
    this.#attempt = this.#source.open(this.#id, this);
  }

  cancel(): void {
    this.#deadlines.delete(this);
    this.#attempt.cancel();
  }
}

/** Whether another try may succeed: the relay has not answered about the visitor. */
function mayPass(error: RelayRefusal | RelayUnreachable): boolean {
  return !(error instanceof RelayRefusal) || error.status === 429 || error.status >= 500;
}
