/** What is kept for long, without what it was read with. */

/** @returns a copy where the bytes are a small part of what was read, which would stay for as long as they do */
export function unshared(bytes: Buffer): Buffer {
  if (2 * bytes.length >= bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
