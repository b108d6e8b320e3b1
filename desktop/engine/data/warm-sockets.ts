/**
 * Data sockets offered to the relay ahead of need (docs/protocol.md section 6.4): a visitor who gets one is served after one
 * round trip instead of three or four. How many there are follows demand.
 */
import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import type { Clock } from '../clock.ts';
import { WARM_INITIAL, WARM_KEEP_MS, WARM_MAX } from '../limits.ts';
import type { Attempt } from '../network/dial.ts';
import { RelayRefusal } from '../relay/errors.ts';
import type { DataHandler, DataSocket } from './data-socket.ts';

/** Statuses of refusals that may be none a moment later. */
const PASSING: ReadonlySet<number> = new Set([429, 503]);

export interface WarmSocketsOptions {
  readonly clock: Clock;
  /** Offers a data socket. */
  open(handler: DataHandler): Attempt;
  /** Serves the visitor who has come over one, with its first bytes. */
  serve(stream: DataSocket, first: Buffer): void;
}

export class WarmSockets {
  readonly #options: WarmSocketsOptions;
  /** offered and unused, or being offered */
  readonly #idle = new Set<WarmSocket>();
  /** offered under an earlier control connection; the relay closes them, unless a visitor is on the way */
  readonly #old = new Set<WarmSocket>();
  #wanted = 0;
  #isOffering = false;
  #lastVisitor = 0;

  constructor(options: WarmSocketsOptions) {
    this.#options = options;
  }

  /** All that are open or being opened, without a visitor. */
  get size(): number {
    return this.#idle.size + this.#old.size;
  }

  /** The tunnel is online: sockets are offered from now on. */
  start(): void {
    this.#isOffering = true;
    this.#wanted = WARM_INITIAL;
    this.#lastVisitor = this.#options.clock.monotonic();
    this.#fill();
  }

  /** Another control connection has taken over: the sockets belong to the one before. */
  renew(): void {
    this.#retire();
    this.start();
  }

  /** The relay shuts down: it uses or closes those it has, and takes no more. */
  pause(): void {
    this.#isOffering = false;
  }

  /** The control connection has ended, and with it what was offered: the relay closes that, too, unless a visitor is on the way. */
  leave(): void {
    this.#isOffering = false;
    this.#retire();
  }

  /** The tunnel has ended: what is unused is cut. */
  stop(): void {
    this.leave();
    this.#retire();
  }

  /** A visitor had to be announced, because there was no socket left for it. */
  missed(): void {
    this.#lastVisitor = this.#options.clock.monotonic();
    this.#wanted = Math.min(WARM_MAX, this.#wanted + 1);
    this.#fill();
  }

  /** A visitor has come over a socket. */
  used(socket: WarmSocket, stream: DataSocket, first: Buffer): void {
    this.#forget(socket);
    this.#lastVisitor = this.#options.clock.monotonic();
    this.#options.serve(stream, first);
    this.#fill();
  }

  /** The relay closes what nobody used: fewer are wanted, and after a long quiet none. */
  unused(socket: WarmSocket): void {
    if (!this.#forget(socket)) return;
    const isQuiet = this.#options.clock.monotonic() - this.#lastVisitor > WARM_KEEP_MS;
    this.#wanted = Math.max(isQuiet ? 0 : 1, this.#wanted - 1);
    this.#fill();
  }

  /** A socket was not taken. */
  refused(socket: WarmSocket, error: Error): void {
    // A stop has forgotten it already.
    if (this.#forget(socket)) this.#giveIn(error);
  }

  /** What is offered becomes old; what was old has had its time. */
  #retire(): void {
    for (const socket of this.#old) socket.cut();
    this.#old.clear();
    for (const socket of this.#idle) this.#old.add(socket);
    this.#idle.clear();
  }

  /** @returns whether it was one of those that are offered now */
  #forget(socket: WarmSocket): boolean {
    this.#old.delete(socket);
    return this.#idle.delete(socket);
  }

  #fill(): void {
    while (this.#isOffering && this.#idle.size < this.#wanted) {
      const socket = new WarmSocket(this);
      this.#idle.add(socket);
      socket.offer(this.#options.open(socket));
    }
  }

  /** No socket can be offered now; visitors are announced, and the next of them makes for another try. */
  #giveIn(error: Error): void {
    this.#wanted = this.#idle.size;
    // The relay has no room or no store, or knows no such sockets. The former pass, the latter until the next connection not.
    if (error instanceof RelayRefusal && !PASSING.has(error.status)) this.#isOffering = false;
  }
}

/** One data socket that waits for a visitor, or for the relay to take it. */
class WarmSocket implements DataHandler, ByteStreamHandler {
  readonly #owner: WarmSockets;
  #attempt: Attempt | undefined;
  #stream: DataSocket | undefined;

  constructor(owner: WarmSockets) {
    this.#owner = owner;
  }

  offer(attempt: Attempt): void {
    this.#attempt = attempt;
  }

  cut(): void {
    if (this.#stream === undefined) this.#attempt?.cancel();
    else this.#stream.destroy();
  }

  opened(stream: DataSocket): void {
    this.#stream = stream;
    stream.attach(this);
  }

  failed(error: Error): void {
    this.#owner.refused(this, error);
  }

  onStreamData(first: Buffer): void {
    if (this.#stream !== undefined) this.#owner.used(this, this.#stream, first);
  }

  onStreamDrain(): void {}

  onStreamClose(): void {
    this.#owner.unused(this);
  }
}
