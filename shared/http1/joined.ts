/** Where the bytes end that were written into memory of {@link joined}'s own; what is behind is nobody's yet. */
const ends = new WeakMap<ArrayBufferLike, number>();

/** Bytes of the smallest piece of memory. */
const ROOM_MIN = 512;

/**
 * Joins bytes that come in pieces, so that however small they are each byte is copied a few times at most: there is room
 * behind what it returns, and the next call with that, or with the end of it, uses it.
 *
 * @param held what there is; not to be joined to anything else after
 * @returns both as one
 */
export function joined(held: Buffer, piece: Buffer): Buffer {
  const size = held.length + piece.length;
  const end = held.byteOffset + held.length;
  const hasRoom = ends.get(held.buffer) === end && end + piece.length <= held.buffer.byteLength;
  const all = hasRoom
    ? Buffer.from(held.buffer, held.byteOffset, size)
    : Buffer.allocUnsafeSlow(Math.max(2 * size, ROOM_MIN)).subarray(0, size);
  if (!hasRoom) held.copy(all);
  piece.copy(all, held.length);
  ends.set(all.buffer, all.byteOffset + size);
  return all;
}
