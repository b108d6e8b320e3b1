/** API keys: generated, hashed and compared (protocol.md section 2.1). */
import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { API_ERRORS, ApiError, type Clause, withValues } from '../../shared/errors.ts';
import { API_KEY_PREFIX } from '../../shared/value-rules.ts';
import type { AgentScope, KeyOwner, KeyScope, TunnelRecord } from '../store/records.ts';

/**
 * Longest lifetime, counted from now, that an agent's key can give a tunnel, a signed link or an approval.
 * @limit owner: Lifetime of an agent's tunnel, link or approval | 400, and the error states the maximum
 */
const AGENT_MAX_TTL_SECONDS = 3600;

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

/** @returns `all`, `owner`, `admin`, the name of a tunnel, or `agent:` and the prefix of an agent's names */
export function shownScope(scope: KeyScope): string {
  if (scope.kind === 'agent') return `agent:${scope.prefix}`;
  return scope.kind === 'tunnel' ? scope.name : scope.kind;
}

/** Scopes that include everything of the account. */
export const ACCOUNT_SCOPES: readonly KeyScope['kind'][] = ['all', 'owner'];

/** The key of a request. */
export type Holder = Pick<KeyOwner, 'keyId' | 'scope'>;

/**
 * Whether a key may be used for a tunnel of its account. An agent's key reaches what agents' keys have created: without a
 * name, only its own.
 */
export function reachesTunnel(
  { keyId, scope }: Holder,
  { name, terms }: { name: string; terms: Pick<TunnelRecord, 'createdKey' | 'byAgent'> },
): boolean {
  switch (scope.kind) {
    case 'all':
    case 'owner':
      return true;
    case 'admin':
      return false;
    case 'tunnel':
      return scope.name === name;
    case 'agent':
      return terms.byAgent && (name === '' ? terms.createdKey === keyId : isAgentName(scope, name));
  }
}

/** @throws ApiError 404 for a tunnel outside the scope, as if it belonged to another account */
export function mustReach(key: Holder, tunnel: Parameters<typeof reachesTunnel>[1]): void {
  if (!reachesTunnel(key, tunnel)) throw new ApiError(API_ERRORS.tunnelNotFound);
}

/** The error for using a key outside its scope. */
export function outOfScope(scope: KeyScope): ApiError {
  return new ApiError(withValues(API_ERRORS.keyOutOfScope, { scope: purposeOf(scope) }));
}

function purposeOf(scope: KeyScope): string | Clause {
  switch (scope.kind) {
    case 'all':
    case 'owner':
      return 'tunnels';
    case 'admin':
      return 'administration';
    case 'tunnel':
      return { code: 'tunnel', text: `the tunnel "${scope.name}"`, values: { name: scope.name } };
    case 'agent':
      return { code: 'agent', text: "an agent's tunnels" };
  }
}

/* The bounds of an agent's key (protocol.md section 2.1), which hold whatever its client says. */

/** What the names of an agent's tunnels begin with. */
export function namePrefix({ prefix }: AgentScope): string {
  return `${prefix}-`;
}

/**
 * Whether an agent may give a tunnel this name. It could otherwise take hosts of another tunnel of its account: a name with
 * two hyphens may be a host of a wildcard tunnel, and then has precedence (protocol.md section 4.7).
 */
export function isAgentName(scope: AgentScope, name: string): boolean {
  return name.startsWith(namePrefix(scope)) && !name.includes('--');
}

/** @returns the longest life of a tunnel that the key allows, counted from now, in seconds */
export function maxTtlOf(scope: KeyScope): number {
  return scope.kind === 'agent' ? AGENT_MAX_TTL_SECONDS : Infinity;
}
