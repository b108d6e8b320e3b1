/** API keys: generated, hashed and compared (protocol.md section 2.1). */
import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { API_KEY_PREFIX } from '../../shared/constraints.ts';
import { API_ERRORS, ApiError, keyOutOfScope } from '../../shared/errors.ts';
import type { KeyScope } from '../store/records.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 190 random bits: too many to guess, so a fast hash is enough protection. */
const RANDOM_LENGTH = 32;
const HINT_LENGTH = 8;

/** @returns a new key, or a token with another prefix; `randomInt` draws without bias */
export function generateKey(prefix = API_KEY_PREFIX): string {
  const characters = Array.from({ length: RANDOM_LENGTH }, () => BASE62.charAt(randomInt(BASE62.length)));
  return prefix + characters.join('');
}

/** @returns the SHA-256 of a key in hex, as stored */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** @returns the beginning of a key, which may be shown */
export function hintOf(key: string): string {
  return key.slice(0, HINT_LENGTH);
}

/** Compares two hashes in a time that does not reveal where they differ. */
export function sameHash(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return left.length === right.length && timingSafeEqual(left, right);
}

/* The scope of a key (protocol.md section 2.1). */

/** Tunnel names that a key cannot be limited to: they would look like another scope. */
export const SCOPE_WORDS: readonly string[] = ['all', 'owner', 'admin'];

/** @returns `all`, `owner`, `admin`, or the name of a tunnel */
export function shownScope(scope: KeyScope): string {
  return scope.kind === 'tunnel' ? scope.name : scope.kind;
}

/** Scopes that include everything of the account. */
export const ACCOUNT_SCOPES: readonly KeyScope['kind'][] = ['all', 'owner'];

/** Whether a key may be used for a tunnel of its account, by the requested name. */
export function reachesTunnel(scope: KeyScope, name: string): boolean {
  return ACCOUNT_SCOPES.includes(scope.kind) || (scope.kind === 'tunnel' && scope.name === name);
}

/** @throws ApiError 404 for a tunnel outside the scope, as if it belonged to another account */
export function mustReach(scope: KeyScope, name: string): void {
  if (!reachesTunnel(scope, name)) throw new ApiError(API_ERRORS.tunnelNotFound);
}

/** The error for using a key outside its scope. */
export function outOfScope(scope: KeyScope): ApiError {
  const only = scope.kind === 'tunnel' ? `the tunnel "${scope.name}"` : 'administration';
  return new ApiError(keyOutOfScope(ACCOUNT_SCOPES.includes(scope.kind) ? 'tunnels' : only));
}
