/** Bytes of one stream that arrive together, in however many frames: each piece costs a system call or two further on. */
import { joined } from '../http1/joined.ts';
import { FRAME_HEADER_BYTES } from './frames.ts';

/**
 * Joins what has arrived of a stream. Where only a header is in between, the shorter of the two is moved over it; otherwise
 * both are copied.
 *
 * @param held what came first, `undefined` for nothing; not to be used after
 * @param piece of the same bytes that were read, or of later ones; not to be used after
 */
export function withArrival(held: Buffer | undefined, piece: Buffer): Buffer {
  if (held === undefined) return piece;
  const isNext =
    held.buffer === piece.buffer && held.byteOffset + held.length + FRAME_HEADER_BYTES === piece.byteOffset;
  if (!isNext) return joined(held, piece);
  const whole = Buffer.from(held.buffer, held.byteOffset, held.length + FRAME_HEADER_BYTES + piece.length);
  if (piece.length < held.length) {
    whole.copyWithin(held.length, held.length + FRAME_HEADER_BYTES);
    return whole.subarray(0, held.length + piece.length);
  }
  whole.copyWithin(FRAME_HEADER_BYTES, 0, held.length);
  return whole.subarray(FRAME_HEADER_BYTES);
}
