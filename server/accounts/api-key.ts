/** API keys: made, hashed and compared (docs/protocol.md section 2.1). */
import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { API_KEY_PREFIX } from '../../shared/constraints.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 190 random bits: nobody guesses one, so a fast hash protects it well enough. */
const RANDOM_LENGTH = 32;
const HINT_LENGTH = 8;

/** @returns a new key; `randomInt` draws without bias */
export function generateKey(): string {
  const characters = Array.from({ length: RANDOM_LENGTH }, () => BASE62.charAt(randomInt(BASE62.length)));
  return API_KEY_PREFIX + characters.join('');
}

/** @returns the SHA-256 of a key in hex, as it is stored */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** @returns the start of a key that may be shown */
export function hintOf(key: string): string {
  return key.slice(0, HINT_LENGTH);
}

/** Compares two hashes in a time that does not depend on where they differ. */
export function sameHash(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return left.length === right.length && timingSafeEqual(left, right);
}
