import { randomFillSync } from 'node:crypto';

/** WebSocket opcodes (RFC 6455 section 5.2). */
export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface FrameOptions {
  readonly opcode: number;
  /** Last frame of its message; true unless told otherwise. */
  readonly final?: boolean;
  /** Clients must mask; false only to see how the server reacts. */
  readonly masked?: boolean;
}

/** The bytes of a frame from a client (RFC 6455 section 5.2), head and payload. */
export function encodeFrame(payload: Buffer, options: FrameOptions): [head: Buffer, payload: Buffer] {
  const { opcode, final = true, masked = true } = options;
  const lengthBytes = payload.length < 126 ? 0 : payload.length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + lengthBytes + (masked ? 4 : 0));
  head[0] = (final ? 0x80 : 0) | opcode;
  const lengthCode = lengthBytes === 0 ? payload.length : lengthBytes === 2 ? 126 : 127;
  head[1] = (masked ? 0x80 : 0) | lengthCode;
  if (lengthBytes === 2) head.writeUInt16BE(payload.length, 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(payload.length), 2);
  if (!masked) return [head, payload];
  const key = head.subarray(2 + lengthBytes);
  randomFillSync(key);
  return [head, mask(payload, key)];
}

/** Masks a copy of the payload, by words of 32 bits because downloads of a GiB go through here. */
function mask(payload: Buffer, key: Buffer): Buffer {
  const words = new Uint32Array(Math.ceil(payload.length / 4));
  const bytes = Buffer.from(words.buffer);
  payload.copy(bytes);
  const word = new Uint32Array(new Uint8Array(key).buffer)[0] ?? 0;
  for (let i = 0; i < words.length; i += 1) words[i] = (words[i] ?? 0) ^ word;
  return bytes.subarray(0, payload.length);
}

/** A piece of a frame as it arrived; `last` when the frame is complete with it. */
export interface FramePiece {
  readonly opcode: number;
  /** Last frame of its message. */
  readonly final: boolean;
  readonly bytes: Buffer;
  readonly last: boolean;
}

/** Parses a server's frames; control frames come whole, data in the pieces in which it arrives. */
export class FrameParser {
  #pending: Buffer = Buffer.alloc(0);
  #frame: { opcode: number; final: boolean; missing: number } | undefined;

  /** @throws Error for anything that a server must not send (RFC 6455 sections 5.1, 5.2 and 5.5) */
  *push(chunk: Buffer): Generator<FramePiece> {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    for (;;) {
      this.#frame ??= this.#head();
      if (this.#frame === undefined) return;
      const { opcode, final, missing } = this.#frame;
      const isControl = opcode >= Opcode.close;
      if (missing > this.#pending.length && (isControl || this.#pending.length === 0)) return;
      const bytes = this.#pending.subarray(0, missing);
      this.#pending = this.#pending.subarray(bytes.length);
      this.#frame.missing -= bytes.length;
      const last = this.#frame.missing === 0;
      if (last) this.#frame = undefined;
      yield { opcode, final, bytes, last };
    }
  }

  #head(): { opcode: number; final: boolean; missing: number } | undefined {
    const [first, second] = this.#pending;
    if (first === undefined || second === undefined) return undefined;
    if ((first & 0x70) !== 0) throw new Error('a reserved bit is set');
    if ((second & 0x80) !== 0) throw new Error('the server masked a frame');
    const opcode = first & 0x0f;
    const final = (first & 0x80) !== 0;
    const code = second & 0x7f;
    if (opcode >= Opcode.close && (!final || code > 125))
      throw new Error('a control frame is fragmented or long');
    const lengthBytes = code === 126 ? 2 : code === 127 ? 8 : 0;
    if (this.#pending.length < 2 + lengthBytes) return undefined;
    const missing =
      code === 126
        ? this.#pending.readUInt16BE(2)
        : code === 127
          ? Number(this.#pending.readBigUInt64BE(2))
          : code;
    this.#pending = this.#pending.subarray(2 + lengthBytes);
    return { opcode, final, missing };
  }
}
