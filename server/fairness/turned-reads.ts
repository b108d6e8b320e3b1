/** Reads a socket so that what comes in bulk takes turns with what others send; who waits for a turn is not read on. */
import type { Duplex } from 'node:stream';
import { joined } from '../../shared/http1/joined.ts';
import type { SocketReads } from '../../shared/socket-reads.ts';
import { BULK_READ_BYTES } from '../limits.ts';
import { type LoopTurns, loopTurns } from './loop-turns.ts';

export class TurnedReads implements SocketReads {
  readonly #socket: Duplex;
  readonly #group: () => unknown;
  readonly #onChunk: (chunk: Buffer) => void;
  readonly #turns: LoopTurns;
  /** what waits for its turn */
  #held: Buffer | undefined;
  #leave: (() => void) | undefined;
  #paused = false;

  /**
   * @param socket with nobody reading it
   * @param group whose turn it is, asked for each chunk
   */
  constructor(
    socket: Duplex,
    group: () => unknown,
    onChunk: (chunk: Buffer) => void,
    turns: LoopTurns = loopTurns,
  ) {
    this.#socket = socket;
    this.#group = group;
    this.#onChunk = onChunk;
    this.#turns = turns;
    socket.on('data', this.#onData);
  }

  get isPaused(): boolean {
    return this.#paused;
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
    if (held !== undefined) this.#onChunk(held);
  }

  stop(): void {
    this.flush();
    this.#socket.off('data', this.#onData);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#held !== undefined) this.#held = joined(this.#held, chunk);
    else if (chunk.length < BULK_READ_BYTES) this.#onChunk(chunk);
    else this.#waitForTurn(chunk);
  };

  #waitForTurn(chunk: Buffer): void {
    const begun = this.#turns.run(this.#group(), () => {
      if (this.#held === undefined) return this.#onChunk(chunk);
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
