/**
 * Reads a socket so that bulk data takes turns with what others send; while data waits for its turn, nothing more is read.
 */
import type { Duplex } from 'node:stream';
import { joined } from '../http1/joined.ts';
import type { SocketReads } from '../socket-reads.ts';
import { type LoopTurns, loopTurns } from './loop-turns.ts';

/**
 * @limit Bytes read from a socket at once from which on they take turns with those of others
 * (docs/decisions/0014-turns-of-the-loop.md): more than nearly every head, less than the pieces of a body or a flood.
 */
export const BULK_READ_BYTES = 4096;

export interface ReadsHandler {
  onChunk(chunk: Buffer): void;
  /** The other side sends nothing more, and everything it has sent was handed over. */
  onEnd?(): void;
}

export class TurnedReads implements SocketReads {
  readonly #socket: Duplex;
  readonly #group: () => unknown;
  readonly #handler: ReadsHandler;
  readonly #turns: LoopTurns;
  /** data that waits for its turn */
  #held: Buffer | undefined;
  #leave: (() => void) | undefined;
  #paused = false;
  /** Whether the end has come after what waits: a socket ends even while it is paused. */
  #endWaits = false;

  /**
   * @param socket nobody else reads it
   * @param group whose turn it is, asked for each chunk
   */
  constructor(socket: Duplex, group: () => unknown, handler: ReadsHandler, turns: LoopTurns = loopTurns) {
    this.#socket = socket;
    this.#group = group;
    this.#handler = handler;
    this.#turns = turns;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Whether something has come that waits for its turn. */
  get holds(): boolean {
    return this.#held !== undefined;
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#held === undefined && this.#socket.isPaused()) this.#socket.resume();
  }

  flush(): void {
    const held = this.#takeHeld();
    if (held !== undefined) this.#handler.onChunk(held);
    if (!this.#endWaits) return;
    this.#endWaits = false;
    this.#handler.onEnd?.();
  }

  stop(): void {
    this.flush();
    // What was held may have been what its owner let go at: the socket is somebody else's by now.
    this.#paused = true;
    this.#socket.off('data', this.#onData);
    this.#socket.off('end', this.#onEnd);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#held !== undefined) this.#held = joined(this.#held, chunk);
    else if (chunk.length < BULK_READ_BYTES) this.#handler.onChunk(chunk);
    else this.#waitForTurn(chunk);
  };

  readonly #onEnd = (): void => {
    if (this.#held === undefined) this.#handler.onEnd?.();
    else this.#endWaits = true;
  };

  #waitForTurn(chunk: Buffer): void {
    const begun = this.#turns.run(this.#group(), () => {
      if (this.#held === undefined) return this.#handler.onChunk(chunk);
      this.flush();
      if (!this.#paused) this.#socket.resume();
    });
    if (begun === 'begun') return;
    this.#held = chunk;
    this.#leave = begun;
    this.#socket.pause();
  }

  #takeHeld(): Buffer | undefined {
    const held = this.#held;
    this.#held = undefined;
    this.#leave?.();
    this.#leave = undefined;
    return held;
  }
}
