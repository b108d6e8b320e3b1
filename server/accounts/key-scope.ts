/** What a key may be used for (docs/protocol.md section 2.1). */
import { API_ERRORS, ApiError, keyOutOfScope } from '../../shared/errors.ts';
import type { KeyScope } from '../store/records.ts';

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
