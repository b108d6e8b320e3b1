/** Where the bytes end that were written into {@link joined}'s own memory; nobody uses what comes after yet. */
const ends = new WeakMap<ArrayBufferLike, number>();

/** Bytes of the smallest piece of memory. */
const ROOM_MIN = 512;

/**
 * Joins bytes that come in pieces, so that each byte is copied only a few times, however small the pieces are: there is room
 * after what it returns, and the next call with that, or with the end of it, uses the room.
 *
 * @param held the bytes so far; not to be joined to anything else afterwards
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
