/** A visitor's connection, whatever carries it. */
import type { Socket } from 'node:net';
import type { Pausable } from '../../shared/scheduler/fair-reads.ts';
import type { MessageField } from './message-fields.ts';

/** What a connection tells its owner. */
export interface ConnectionOwner {
  /** The visitor has sent something. */
  arrived(bytes: Buffer): void;
  /** The visitor has half-closed. */
  ended(): void;
  /** Something that was written has been accepted: called at the latest when there is nothing left. */
  sent(): void;
  /** The visitor has accepted nothing for as long as was set. */
  stalled(): void;
  /** The connection is closed, by either side. The last call. */
  closed(): void;
}

/** Takes one response, whose content is written to the connection as it is. */
export interface MessageTaker {
  /** @param status 101: a WebSocket is open, and what is written is its content; others below 200 may be dropped */
  begin(status: number, fields: readonly MessageField[]): void;
  /** The response is complete. */
  finish(trailers: readonly MessageField[]): void;
}

/** A visitor's connection: a TCP or TLS socket, or one stream of HTTP/2. */
export interface VisitorConnection extends Pausable {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** bytes that were written and not yet accepted by the system, or by the stream */
  readonly writableLength: number;
  readonly destroyed: boolean;
  /** bytes that may wait here to be processed, if not the usual number */
  readonly inputMax?: number;
  /** the largest status of a response that can be sent, if not all can */
  readonly statusMax?: number;
  /** Takes responses as messages; without it, they are written as HTTP/1.1. */
  readonly messages?: MessageTaker;
  /** Starts the flow, or hands it to another owner. */
  attach(owner: ConnectionOwner): void;
  /** Gives away the socket itself, if it is one. */
  detach?(): Socket;
  write(bytes: Buffer): unknown;
  /** Half-closes. `onFlushed`: everything that was written has been accepted. */
  end(onFlushed: () => void): unknown;
  destroy(): unknown;
  /** Tells the owner when the visitor has accepted nothing for this many ms; 0: never. */
  setTimeout(ms: number): unknown;
  /** Closes in a way that cannot be mistaken for a clean end. */
  resetAndDestroy(): unknown;
}

/** A TCP or TLS socket as the connection of a visitor. */
export class SocketConnection implements VisitorConnection {
  readonly #socket: Socket;
  #owner: ConnectionOwner | undefined;

  /** @param socket with half-open connections allowed */
  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', ignoreError);
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  get writableLength(): number {
    return this.#socket.writableLength;
  }

  get destroyed(): boolean {
    return this.#socket.destroyed;
  }

  attach(owner: ConnectionOwner): void {
    const isFirst = this.#owner === undefined;
    this.#owner = owner;
    if (!isFirst) return;
    this.#socket.on('data', this.#onData);
    this.#socket.on('end', this.#onEnd);
    this.#socket.on('timeout', this.#onTimeout);
    this.#socket.on('close', this.#onClose);
  }

  detach(): Socket {
    this.#owner = undefined;
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
    this.#socket.off('timeout', this.#onTimeout);
    this.#socket.off('close', this.#onClose);
    return this.#socket;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  isPaused(): boolean {
    return this.#socket.isPaused();
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes, this.#onSent);
  }

  end(onFlushed: () => void): void {
    this.#socket.end(onFlushed);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  setTimeout(ms: number): void {
    this.#socket.setTimeout(ms);
  }

  resetAndDestroy(): void {
    this.#socket.resetAndDestroy();
  }

  readonly #onData = (bytes: Buffer): void => this.#owner?.arrived(bytes);
  readonly #onEnd = (): void => this.#owner?.ended();
  readonly #onSent = (): void => this.#owner?.sent();
  readonly #onTimeout = (): void => this.#owner?.stalled();

  readonly #onClose = (): void => {
    const owner = this.#owner;
    this.#owner = undefined;
    // A closed socket is garbage-collected late, and would keep alive everything that listens to it.
    this.#socket.removeAllListeners();
    // What is still written to a dead TLS connection may fail after that.
    this.#socket.on('error', ignoreError);
    owner?.closed();
  };
}

/**
 * The `close` that follows an error is sufficient. One function for all sockets: it stays with those that are handed
 * over, and a closure next to others that reference the visitor would keep all of it alive.
 */
function ignoreError(): void {}
