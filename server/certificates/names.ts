/** Names that certificates are for. */

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The host that a handshake names, in lower case; `undefined` for what no public certificate can be for: addresses, names of
 * one label, anything that is not a name.
 */
export function certifiable(serverName: string): string | undefined {
  const name = serverName.toLowerCase();
  const labels = name.split('.');
  const isName = name.length <= 253 && labels.length > 1 && labels.every((label) => LABEL.test(label));
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') && labels.at(-1) !== 'localhost' ? name : undefined;
}

/** The wildcard that covers a host of two labels or more. */
export function wildcardOf(host: string): string {
  return `*${host.slice(host.indexOf('.'))}`;
}
