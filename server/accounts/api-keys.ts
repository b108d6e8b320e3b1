/** API keys: made, hashed and compared (docs/protocol.md section 2.1). */
import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { API_KEY_PREFIX } from '../../shared/constraints.ts';
import { API_ERRORS, ApiError, keyOutOfScope } from '../../shared/errors.ts';
import type { KeyScope } from '../store/records.ts';

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

/* What a key may be used for (docs/protocol.md section 2.1). */

/** Names of tunnels that a key cannot be for: they would read like a scope. */
export const SCOPE_WORDS: readonly string[] = ['all', 'admin'];

/** @returns `all`, `admin`, or the name of a tunnel */
export function shownScope(scope: KeyScope): string {
  return scope.kind === 'tunnel' ? scope.name : scope.kind;
}

/** Whether a key may be used for a tunnel of its account, by the name that was asked for. */
export function reachesTunnel(scope: KeyScope, name: string): boolean {
  return scope.kind === 'all' || (scope.kind === 'tunnel' && scope.name === name);
}

/** @throws ApiError 404 for a tunnel that the key is not for, as if it were somebody else's */
export function mustReach(scope: KeyScope, name: string): void {
  if (!reachesTunnel(scope, name)) throw new ApiError(API_ERRORS.tunnelNotFound);
}

/** What a key was used for that it is not for. */
export function outOfScope(scope: KeyScope): ApiError {
  const only = scope.kind === 'tunnel' ? `the tunnel "${scope.name}"` : 'administration';
  return new ApiError(keyOutOfScope(scope.kind === 'all' ? 'tunnels' : only));
}
