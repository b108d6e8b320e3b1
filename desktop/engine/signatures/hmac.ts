import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * @param key a text is taken as UTF-8
 * @param parts what is signed, one after the other
 */
export function hmac(
  algorithm: 'sha1' | 'sha256',
  key: string | Uint8Array,
  ...parts: readonly (string | Uint8Array)[]
): Buffer {
  const state = createHmac(algorithm, key);
  for (const part of parts) state.update(part);
  return state.digest();
}

/**
 * Whether one of the given signatures is the expected one. How long that takes depends on their lengths alone.
 *
 * @param given as they were sent, in the coding of `expected`
 */
export function isAmong(given: readonly string[], expected: string): boolean {
  const wanted = Buffer.from(expected);
  return given
    .map((text) => Buffer.from(text))
    .some((bytes) => bytes.length === wanted.length && timingSafeEqual(bytes, wanted));
}
