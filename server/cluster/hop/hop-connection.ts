/**
 * A connection between two relays that carries data sockets one after the other: a new connection for each would cost
 * both relays more than its content. A frame is its length in four bytes, most significant first, and that many bytes;
 * an empty one is the end of the data socket in this direction. After the ends of both directions the next data socket
 * begins.
 */
import { createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import type { HopRequest, UpgradeToPass } from '../../clients/ownership.ts';

const HEADER_BYTES = 4;
const END = Buffer.alloc(HEADER_BYTES);
/**
 * Up to this many bytes, header and payload are copied into one write; beyond it, the copy costs more than a second write.
 */
const COPY_MAX = 16_384;

export interface HopHandler {
  /** @param isLast whether the frame ends with it */
  onPiece(piece: Buffer, isLast: boolean): void;
  onEnd(): void;
  /** The queued bytes have been passed to the system; only after a `send` that returned `false`. */
  onDrain(): void;
  /** The connection is gone. */
  onClose(): void;
}

export class HopConnection {
  /** The current handler of its events. */
  handler: HopHandler;
  readonly #socket: Socket;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerRead = 0;
  /** remaining bytes of the current frame */
  #left = 0;
  /** whether output is buffered until the end of this iteration of the event loop */
  #isHeld = false;
  #owesEnd = false;

  /** @param socket connected, without listeners except for errors */
  constructor(socket: Socket, handler: HopHandler) {
    this.#socket = socket;
    this.handler = handler;
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('drain', () => this.handler.onDrain());
    // If one relay ends a connection, it is no longer needed.
    socket.on('end', () => socket.destroy());
    socket.once('close', () => this.handler.onClose());
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Reads received bytes; also for bytes that were read before this object existed. */
  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && this.isOpen) {
      if (this.#left > 0) {
        const piece = chunk.subarray(at, at + this.#left);
        at += piece.length;
        this.#left -= piece.length;
        this.handler.onPiece(piece, this.#left === 0);
      } else {
        at += this.#readHeader(chunk, at);
      }
    }
  }

  /** @returns how many bytes it has read */
  #readHeader(chunk: Buffer, at: number): number {
    const read = chunk.copy(this.#header, this.#headerRead, at, at + HEADER_BYTES - this.#headerRead);
    this.#headerRead += read;
    if (this.#headerRead < HEADER_BYTES) return read;
    this.#headerRead = 0;
    this.#left = this.#header.readUInt32BE();
    if (this.#left === 0) this.handler.onEnd();
    return read;
  }

  /**
   * Sends one frame.
   *
   * @param pieces of it, at least one byte in all
   * @returns `false` if too much is queued: wait for `onDrain`
   */
  send(pieces: readonly Buffer[]): boolean {
    const socket = this.#socket;
    let size = 0;
    for (const piece of pieces) size += piece.length;
    const isSmall = size <= COPY_MAX;
    const frame = Buffer.allocUnsafe(isSmall ? HEADER_BYTES + size : HEADER_BYTES);
    frame.writeUInt32BE(size);
    if (isSmall) {
      let at = HEADER_BYTES;
      for (const piece of pieces) at += piece.copy(frame, at);
      socket.write(frame);
    } else {
      socket.cork();
      socket.write(frame);
      for (const piece of pieces) socket.write(piece);
      socket.uncork();
    }
    this.#sendOwed();
    // A large chunk counts as too much even if the system has accepted all of it immediately.
    return socket.writableLength === 0 || !socket.writableNeedDrain;
  }

  /** Ends the data socket in this direction. */
  sendEnd(): void {
    if (this.isOpen) this.#socket.write(END);
  }

  /**
   * The same, but sent with the first frame of the next data socket: if the other direction has already ended, nothing
   * waits for it.
   */
  oweEnd(): void {
    this.#owesEnd = true;
    this.#socket.cork();
    this.#socket.write(END);
  }

  #sendOwed(): void {
    if (!this.#owesEnd) return;
    this.#owesEnd = false;
    this.#socket.uncork();
  }

  /** Everything sent in this iteration of the event loop leaves in one packet: often the last bytes and the end. */
  hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#socket.cork();
    setImmediate(() => {
      this.#isHeld = false;
      this.#socket.uncork();
    });
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** @param ms idle time after which the connection is cut; 0 for never */
  setTimeout(ms: number): void {
    this.#socket.setTimeout(ms);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/*
 * The protocol of a connection between relays that carries data sockets one after the other: TLS 1.3 with a key that
 * only the relays of the cluster know, then frames (hop-connection.ts). The first frame of each data socket identifies
 * its owner (docs/decisions/0009-cluster.md).
 */

/**
 * Settings for both ends (RFC 8446 section 2.2, `psk_dhe_ke`): no certificate, no earlier version, no early data. The
 * key exchange makes each handshake unique, so that none can be replayed, and recorded traffic stays secret if the
 * cluster's secret becomes known. The cipher suite uses SHA-256, the hash that applies to keys without a hash of their
 * own.
 */
export const HOP_TLS = {
  minVersion: 'TLSv1.3',
  maxVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_128_GCM_SHA256',
  ecdhCurve: 'X25519',
} as const;

const INCARNATION = /^[\w-]{1,64}$/;

/**
 * The pair of relays that a connection's key is bound to: no other pair can use it, nor the same two in the other
 * direction.
 */
export interface HopEnds {
  /** incarnation of the relay that connects */
  readonly from: string;
  /** incarnation of the relay that listens */
  readonly to: string;
}

/**
 * @param secret known only to the relays of the cluster
 * @returns the key, 32 bytes; `undefined` for a name that no relay has
 */
export function hopKey({ from, to }: HopEnds, secret: string): Buffer | undefined {
  if (!INCARNATION.test(from)) return undefined;
  return createHmac('sha256', secret).update(`culvert-hop/3 ${from} ${to}`).digest();
}

export function writeRequest({ id, key, authorization }: UpgradeToPass): Buffer {
  return Buffer.from(JSON.stringify([id, key, authorization ?? '']));
}

/** @returns `undefined` for anything that a relay of this version does not send */
export function readRequest(bytes: Buffer, via: string): HopRequest | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields)) return undefined;
  const [id, key, authorization] = fields as unknown[];
  if (typeof id !== 'string' || typeof key !== 'string' || typeof authorization !== 'string')
    return undefined;
  return { id, key, authorization: authorization === '' ? undefined : authorization, via };
}
