/** Errors of connections, told in plain words. */

const NETWORK_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing is listening there',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  EADDRNOTAVAIL: 'the network cannot be reached',
  ENETDOWN: 'the network is down',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'it did not answer in time',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not signed by a trusted authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by a trusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by a trusted authority',
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
export function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'it did not answer in time';
  const { code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : NETWORK_ERRORS[code];
  if (known !== undefined) return known;
  if (error.cause instanceof Error) return describeNetworkError(error.cause);
  return error.message === '' ? (code ?? error.name) : error.message;
}
