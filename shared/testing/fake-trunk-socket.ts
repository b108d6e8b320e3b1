/** An in-memory WebSocket below a trunk, or a data socket: written data is queued until the test passes it on. */
import { CloseCode } from '../control.ts';
import type { MoveTarget } from '../trunk/dedicated-socket.ts';
import type { TrunkSocket } from '../trunk/trunk.ts';
import type { ByteStreamHandler } from '../websocket/byte-stream.ts';

/** The size of one read. */
const READ_MAX_BYTES = 64 * 1024;

export interface FakeTrunkSocketOptions {
  /** queued bytes from which on there is no room */
  readonly highWater?: number;
}

export class FakeTrunkSocket implements TrunkSocket, MoveTarget {
  /** How the owner has closed it; `undefined` while it is open. */
  closedWith: { code: number; reason: string } | undefined;
  isSilent = false;
  /** Whether received data waits at the other end. */
  isPaused = false;
  probes = 0;
  /** calls that ask for an end after unread data */
  looks = 0;
  /** sizes of the writes */
  readonly writes: number[] = [];
  /** receives what is passed on, if set */
  peer: FakeTrunkSocket | undefined;
  /** sees received data before the owner does */
  watch: ((bytes: Buffer) => void) | undefined;
  readonly #highWater: number;
  #handler: ByteStreamHandler | undefined;
  #waiting: Buffer[] = [];
  #size = 0;
  #needsDrain = false;
  /** Whether the owner gets no more callbacks. */
  #ended = false;
  /** the peer's close code */
  #endedWith: number | undefined;
  #closePassedOn = false;

  constructor({ highWater = 1024 * 1024 }: FakeTrunkSocketOptions = {}) {
    this.#highWater = highWater;
  }

  /** The number of queued bytes. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is something to pass on. */
  get isBusy(): boolean {
    return this.#size > 0 || (this.closedWith !== undefined && !this.#closePassedOn);
  }

  attach(handler: ByteStreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst && this.#endedWith !== undefined) handler.onStreamClose(this.#endedWith);
  }

  write(chunk: Buffer): boolean {
    return this.#add([Buffer.from(chunk)]);
  }

  writeAll(pieces: readonly Buffer[], size: number): boolean {
    const copies = pieces.map((piece) => Buffer.from(piece));
    if (copies.reduce((sum, { length }) => sum + length, 0) !== size) throw new Error('not the size');
    // As masking does.
    for (const piece of pieces) piece.fill(0xff);
    return this.#add(copies);
  }

  close(code: number, reason = ''): void {
    if (this.#ended) return;
    this.#ended = true;
    // Data of the peer is read and dropped.
    this.isPaused = false;
    this.closedWith = { code, reason };
  }

  destroy(): void {
    this.#ended = true;
    this.isPaused = false;
    this.#cut();
    this.peer?.lose();
  }

  pause(): void {
    this.isPaused = !this.#ended;
  }

  resume(): void {
    this.isPaused = false;
  }

  lookForEnd(): void {
    this.looks += 1;
  }

  probe(): void {
    this.probes += 1;
    this.isSilent = true;
  }

  /** Removes that many of the queued bytes, or all of them. */
  take(limit = Infinity): Buffer {
    const all = Buffer.concat(this.#waiting);
    const taken = all.subarray(0, limit);
    this.#waiting = taken.length < all.length ? [all.subarray(limit)] : [];
    this.#size -= taken.length;
    if (this.#size === 0 && this.#needsDrain) {
      this.#needsDrain = false;
      if (!this.#ended) this.#handler?.onStreamDrain();
    }
    return taken;
  }

  /** Passes that many bytes on to the peer, and the owner's close after the last one. */
  passOn(limit: number): void {
    if (this.peer?.isPaused === true) return;
    if (this.#size > 0) return this.peer?.receive(this.take(Math.min(limit, READ_MAX_BYTES)));
    if (this.closedWith === undefined || this.#closePassedOn) return;
    this.#closePassedOn = true;
    this.peer?.closeFrom(this.closedWith.code);
  }

  /** Bytes arrive. */
  receive(bytes: Buffer): void {
    if (this.#ended) return;
    this.watch?.(bytes);
    this.#handler?.onStreamData(Buffer.from(bytes));
  }

  /** The peer's Close frame arrives. */
  closeFrom(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.isPaused = false;
    this.#endedWith = code;
    this.#cut();
    this.#handler?.onStreamClose(code);
  }

  /** The connection breaks. */
  lose(): void {
    this.closeFrom(CloseCode.abnormal);
  }

  #cut(): void {
    this.#waiting = [];
    this.#size = 0;
  }

  #add(pieces: readonly Buffer[]): boolean {
    if (this.#ended) return true;
    this.#waiting.push(...pieces);
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    this.writes.push(size);
    this.#size += size;
    const hasRoom = this.#size < this.#highWater;
    this.#needsDrain ||= !hasRoom;
    return hasRoom;
  }
}

/** Two connected ends. */
export function joinedTrunkSockets(options?: FakeTrunkSocketOptions): [FakeTrunkSocket, FakeTrunkSocket] {
  const one = new FakeTrunkSocket(options);
  const other = new FakeTrunkSocket(options);
  one.peer = other;
  other.peer = one;
  return [one, other];
}
