/**
 * Frames of a trunk (docs/protocol.md section 10.2): nine bytes of header, a type, a stream and a value, and behind DATA and
 * MOVE as many bytes as the value says. Numbers are big-endian.
 */
import { CloseCode, isSendableCode } from '../control.ts';

export const FrameType = {
  /** The relay begins a stream; the value is 0. */
  open: 0,
  /** Bytes of a stream; the value is how many follow, 1 to {@link DATA_MAX_BYTES}. */
  data: 1,
  /** The sender has sent all of the stream, and takes nothing more of it; the value is 0. */
  end: 2,
  /** The stream is broken; the value is a close code. */
  abort: 3,
  /** The sender takes so many more bytes of the stream, 1 to {@link WINDOW_BYTES}. */
  window: 4,
  /** The relay asks the client to go on over a data socket; the value is how many bytes of its id follow. */
  move: 5,
  /** The sender has sent on the trunk all that it will, and goes on over the data socket; the value is 0. */
  moved: 6,
} as const;
export type FrameType = (typeof FrameType)[keyof typeof FrameType];

export const FRAME_HEADER_BYTES = 9;
/** @limit Bytes that may be on their way in one direction of one stream; all that a reader who takes nothing can have waiting for him. */
export const WINDOW_BYTES = 64 * 1024;
/** @limit Bytes that one DATA frame carries at most. */
export const DATA_MAX_BYTES = WINDOW_BYTES;
/** @limit Characters of the id of a data socket; those of relays so far have 36. */
const CONNECTION_ID_MAX = 64;
/** The last id. A trunk that has come to it takes no new streams. */
export const LAST_STREAM_ID = 0xffff_ffff;

export interface FrameHandler {
  onOpen(id: number): void;
  /** Bytes of a DATA frame, in pieces as they come. */
  onData(id: number, piece: Buffer): void;
  onEnd(id: number): void;
  onAbort(id: number, code: number): void;
  onWindow(id: number, bytes: number): void;
  /** @param connectionId of the data socket to go on over */
  onMove(id: number, connectionId: string): void;
  onMoved(id: number): void;
  /** What came is not a frame. Nothing is read after it. */
  onProtocolError(reason: string): void;
}

/** Writes a frame's header, {@link FRAME_HEADER_BYTES} bytes of it. */
export function writeHeader(target: Buffer, at: number, type: FrameType, id: number, value: number): void {
  target[at] = type;
  target.writeUInt32BE(id, at + 1);
  target.writeUInt32BE(value, at + 5);
}

/** Reads frames from bytes in pieces of any size, and holds nothing of what they carry back. */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #header = Buffer.allocUnsafeSlow(FRAME_HEADER_BYTES);
  /** bytes of a header that came in an earlier piece */
  #headerLength = 0;
  /** the stream of the DATA or MOVE frame that is being read, and how much of it has not come */
  #id = 0;
  #left = 0;
  /** what has come of the id in a MOVE frame; `undefined` in a DATA frame */
  #connectionId: string | undefined;
  #stopped = false;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  push(chunk: Buffer): void {
    let position = 0;
    while (position < chunk.length && !this.#stopped) {
      position = this.#left > 0 ? this.#readData(chunk, position) : this.#readHeader(chunk, position);
    }
  }

  /** Reads nothing any more. */
  stop(): void {
    this.#stopped = true;
  }

  #readData(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + this.#left);
    this.#left -= end - start;
    if (this.#connectionId === undefined) this.#handler.onData(this.#id, chunk.subarray(start, end));
    else this.#readMove(this.#connectionId + chunk.toString('latin1', start, end));
    return end;
  }

  #readMove(connectionId: string): void {
    this.#connectionId = this.#left > 0 ? connectionId : undefined;
    if (this.#left === 0) this.#handler.onMove(this.#id, connectionId);
  }

  #readHeader(chunk: Buffer, start: number): number {
    if (this.#headerLength === 0 && start + FRAME_HEADER_BYTES <= chunk.length) {
      this.#begin(chunk, start);
      return start + FRAME_HEADER_BYTES;
    }
    const end = Math.min(chunk.length, start + FRAME_HEADER_BYTES - this.#headerLength);
    chunk.copy(this.#header, this.#headerLength, start, end);
    this.#headerLength += end - start;
    if (this.#headerLength === FRAME_HEADER_BYTES) {
      this.#headerLength = 0;
      this.#begin(this.#header, 0);
    }
    return end;
  }

  #begin(header: Buffer, at: number): void {
    const type = header.readUInt8(at);
    const id = header.readUInt32BE(at + 1);
    const value = header.readUInt32BE(at + 5);
    if (id === 0) return this.#fail('stream 0');
    switch (type) {
      case FrameType.open:
        return value === 0 ? this.#handler.onOpen(id) : this.#fail(`OPEN with value ${value}`);
      case FrameType.data:
        if (value === 0 || value > DATA_MAX_BYTES) return this.#fail(`DATA of ${value} bytes`);
        this.#id = id;
        this.#left = value;
        return;
      case FrameType.end:
        return value === 0 ? this.#handler.onEnd(id) : this.#fail(`END with value ${value}`);
      case FrameType.abort:
        return isAbortCode(value) ? this.#handler.onAbort(id, value) : this.#fail(`ABORT with code ${value}`);
      case FrameType.window:
        if (value === 0 || value > WINDOW_BYTES) return this.#fail(`WINDOW of ${value} bytes`);
        return this.#handler.onWindow(id, value);
      case FrameType.move:
        if (value === 0 || value > CONNECTION_ID_MAX) return this.#fail(`MOVE with an id of ${value} bytes`);
        this.#id = id;
        this.#left = value;
        this.#connectionId = '';
        return;
      case FrameType.moved:
        return value === 0 ? this.#handler.onMoved(id) : this.#fail(`MOVED with value ${value}`);
      default:
        return this.#fail(`frames of type ${type}`);
    }
  }

  #fail(what: string): void {
    this.#stopped = true;
    this.#handler.onProtocolError(`no trunk has ${what}`);
  }
}

/** Whether a data socket could be closed with the code, as one that was broken off. */
function isAbortCode(code: number): boolean {
  return code !== CloseCode.normal && isSendableCode(code);
}
