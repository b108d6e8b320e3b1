import { createHash } from 'node:crypto';

const BLOCK_BYTES = 1024 * 1024;

/** One block of bytes that neither compresses nor repeats: pseudo-random, the same in every run (xorshift32). */
function pseudoRandomBlock(): Buffer {
  const words = new Uint32Array(BLOCK_BYTES / 4);
  let state = 0x9e3779b9;
  for (let i = 0; i < words.length; i += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return Buffer.from(words.buffer);
}

const block = pseudoRandomBlock();

/** Generates `length` bytes; each block starts with its number, so that no two are alike. */
export function* payload(length: number): Generator<Buffer> {
  for (let offset = 0; offset < length; offset += BLOCK_BYTES) {
    const next = Buffer.from(block.subarray(0, Math.min(BLOCK_BYTES, length - offset)));
    if (next.length >= 4) next.writeUInt32BE(offset / BLOCK_BYTES);
    yield next;
  }
}

const checksums = new Map<number, string>();

/** SHA-256 of {@link payload}, in hex. */
export function payloadChecksum(length: number): string {
  let checksum = checksums.get(length);
  if (checksum === undefined) {
    const hash = createHash('sha256');
    for (const chunk of payload(length)) hash.update(chunk);
    checksum = hash.digest('hex');
    checksums.set(length, checksum);
  }
  return checksum;
}

/** SHA-256 of a stream and its length in bytes. */
export async function digest(stream: AsyncIterable<Buffer>): Promise<{ sha256: string; length: number }> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    length += chunk.length;
  }
  return { sha256: hash.digest('hex'), length };
}
