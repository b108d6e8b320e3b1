import type { Socket } from 'node:net';
import { TurnedReads } from '../../../shared/fairness/turned-reads.ts';

/** Whoever holds a local connection at the moment. */
export interface LocalHandler {
  /** The bytes belong to the handler. */
  onLocalData(chunk: Buffer): void;
  /** What was queued has been handed to the system; only after a `write` that returned `false`. */
  onLocalDrain(): void;
  /** The service has sent everything. */
  onLocalEnd(): void;
  /** The connection is closed, once, whoever closed it. */
  onLocalClose(): void;
}

/** A connection to the local service, which passes from one holder to the next. */
export class LocalConnection {
  readonly #socket: Socket;
  #handler: LocalHandler | undefined;
  /** once the flow has started: what is large takes turns with what other visitors send and get */
  #reads: TurnedReads | undefined;

  /** @param socket connected, without a listener to its data, half-open allowed, with an `error` listener */
  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Whether it can carry bytes both ways. */
  get isOpen(): boolean {
    const socket = this.#socket;
    return !socket.destroyed && socket.writable && !socket.readableEnded;
  }

  /** Whether nothing is known to have come that its holder was not told of. */
  get isQuiet(): boolean {
    return this.#reads === undefined ? !this.#socket.isPaused() : !this.#reads.isPaused && !this.#reads.holds;
  }

  /** Starts the flow, or hands it to another handler. Only an open connection tells of its end. */
  attach(handler: LocalHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (!isFirst) return;
    const socket = this.#socket;
    socket.on('drain', () => this.#handler?.onLocalDrain());
    const reads = new TurnedReads(socket, () => this, {
      onChunk: (chunk) => this.#handler?.onLocalData(chunk),
      onEnd: () => this.#handler?.onLocalEnd(),
    });
    this.#reads = reads;
    socket.on('close', () => {
      reads.flush();
      // A closed socket is garbage-collected late, and would keep alive everything that listens to it.
      socket.removeAllListeners();
      this.#handler?.onLocalClose();
    });
  }

  /** @returns `false` when more is queued than should be: wait for `onLocalDrain` */
  write(chunk: Buffer): boolean {
    return !this.#socket.writable || this.#socket.write(chunk);
  }

  pause(): void {
    (this.#reads ?? this.#socket).pause();
  }

  resume(): void {
    (this.#reads ?? this.#socket).resume();
  }

  /** Half-closes: nothing more is sent after what was written. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
