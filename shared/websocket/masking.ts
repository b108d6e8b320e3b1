/**
 * Masking of WebSocket payloads (RFC 6455 section 5.3). The client masks every byte of a download and the relay unmasks it,
 * so this is a good part of what a large body costs.
 */

/** From this many bytes on, masking by words is worth its preparation. */
const WORDS_MIN = 512;
/** From this many bytes on, a call into native code is worth its price. */
const NATIVE_MIN = 2048;

/** What is used of `bufferutil`: XORs in place with four bytes of a key. */
interface NativeMasking {
  unmask(bytes: Buffer, key: Buffer): void;
}

const native = loadNative();

/**
 * XORs bytes with a masking key in place (RFC 6455 section 5.3).
 *
 * @param mask the key as a little-endian word
 * @param offset bytes of the payload that came before these
 */
export function applyMask(bytes: Buffer, mask: number, offset: number): void {
  const shift = 8 * (offset & 3);
  const key = shift === 0 ? mask : (mask >>> shift) | (mask << (32 - shift));
  if (bytes.length < WORDS_MIN) maskBytes(bytes, key, 0, bytes.length);
  else if (native !== undefined && bytes.length >= NATIVE_MIN) maskNatively(native, bytes, key);
  else maskWords(bytes, key);
}

/** @param key begins with the byte for the first of the bytes */
function maskBytes(bytes: Buffer, key: number, start: number, end: number): void {
  const key1 = key >>> 8;
  const key2 = key >>> 16;
  const key3 = key >>> 24;
  let position = start;
  for (; position + 3 < end; position += 4) {
    bytes[position] = (bytes[position] ?? 0) ^ key;
    bytes[position + 1] = (bytes[position + 1] ?? 0) ^ key1;
    bytes[position + 2] = (bytes[position + 2] ?? 0) ^ key2;
    bytes[position + 3] = (bytes[position + 3] ?? 0) ^ key3;
  }
  if (position < end) bytes[position] = (bytes[position] ?? 0) ^ key;
  if (position + 1 < end) bytes[position + 1] = (bytes[position + 1] ?? 0) ^ key1;
  if (position + 2 < end) bytes[position + 2] = (bytes[position + 2] ?? 0) ^ key2;
}

/** Four bytes at a time: words must begin at a multiple of four in the memory behind the buffer. */
function maskWords(bytes: Buffer, key: number): void {
  const lead = -bytes.byteOffset & 3;
  maskBytes(bytes, key, 0, lead);
  const shift = 8 * lead;
  const word = shift === 0 ? key : (key >>> shift) | (key << (32 - shift));
  const words = (bytes.length - lead) >>> 2;
  const view = new Int32Array(bytes.buffer, bytes.byteOffset + lead, words);
  for (let index = 0; index < words; index++) view[index] = (view[index] ?? 0) ^ word;
  maskBytes(bytes, word, lead + words * 4, bytes.length);
}

/** The key in the form that native code takes; each call is over before the next one begins. */
const keyBytes = Buffer.alloc(4);

function maskNatively(masking: NativeMasking, bytes: Buffer, key: number): void {
  keyBytes.writeInt32LE(key | 0);
  masking.unmask(bytes, keyBytes);
}

/** An optional dependency: if there is no build of it for this machine, masking takes a little longer. */
function loadNative(): NativeMasking | undefined {
  try {
    const { createRequire } = process.getBuiltinModule('node:module');
    return createRequire(import.meta.url)('bufferutil') as NativeMasking;
  } catch {
    return undefined;
  }
}
