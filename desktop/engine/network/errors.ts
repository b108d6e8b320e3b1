/** Errors of connections, told in plain words. */
import { say, type Sayable, SaidError } from '../said/said.ts';
import type { SayingCode } from '../said/sayings.ts';

const NETWORK_ERRORS: Readonly<Record<string, SayingCode>> = {
  ECONNREFUSED: 'network.refused',
  ECONNRESET: 'network.reset',
  EPIPE: 'network.closed',
  UND_ERR_SOCKET: 'network.closed',
  ENOTFOUND: 'network.noHost',
  EAI_AGAIN: 'network.notLookedUp',
  EHOSTUNREACH: 'network.hostUnreachable',
  EADDRNOTAVAIL: 'network.unreachable',
  ENETDOWN: 'network.down',
  ENETUNREACH: 'network.unreachable',
  ETIMEDOUT: 'network.silent',
  ERR_TLS_CERT_ALTNAME_INVALID: 'network.otherName',
  ERR_SSL_WRONG_VERSION_NUMBER: 'network.noTls',
  CERT_HAS_EXPIRED: 'network.certificateExpired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'network.untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'network.untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'network.untrusted',
};

const OFFLINE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
]);

/** Whether an error of a connection says that this machine has no network, or none that leads there. */
export function isOffline(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && OFFLINE.has(code);
}

/** Says in plain words what a network error means; a fetch error hides it in its causes. */
export function sayNetworkError(error: unknown): Sayable {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return say('network.silent');
  const { code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : NETWORK_ERRORS[code];
  if (known !== undefined) return say(known);
  if (error.cause instanceof Error) return sayNetworkError(error.cause);
  if (error instanceof SaidError) return error.said;
  return error.message === '' ? (code ?? error.name) : error.message;
}
