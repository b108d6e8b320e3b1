/**
 * Which hosts a connection's certificate is valid for: requests for others are misdirected (RFC 9110 section 15.5.20).
 */
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Number of hosts that are remembered for a connection: a page loads from few. */
const REMEMBERED_MAX = 100;

/**
 * @param socket after its handshake
 * @returns whether requests for a host may come over this connection: that which the visitor named in its handshake, and
 *   what the certificate is valid for. `host` is in lower case, without a port
 */
export function coverageOf(socket: TLSSocket): (host: string) => boolean {
  const named = typeof socket.servername === 'string' ? socket.servername.toLowerCase() : '';
  const certificate = socket.getX509Certificate();
  const known = new Map<string, boolean>();
  return (host) => {
    if (host === named) return true;
    const before = known.get(host);
    if (before !== undefined) return before;
    // Nobody names an IP address in a handshake (RFC 6066 section 3).
    const covers = isAddress(host) ? named === '' : certificate?.checkHost(host) !== undefined;
    if (known.size < REMEMBERED_MAX) known.set(host, covers);
    return covers;
  };
}

function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0;
}
