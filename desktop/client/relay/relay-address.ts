import { MessageError, toMessage } from '../messages.ts';
import { isLoopback } from '../network/dial.ts';
import type { Endpoint } from '../network/network.ts';

/** The address of a relay. */
export interface RelayAddress extends Endpoint {
  /** `http://host:port`, without a path; a default port is left out */
  readonly origin: string;
}

/** Thrown for text that is not a relay's address. The message describes what is accepted. */
export class RelayAddressError extends MessageError {}

/**
 * Reads the address of a relay: with or without the `/v1` of the REST interface, with or without a slash at the end.
 *
 * @throws RelayAddressError
 */
export function parseRelayAddress(text: string): RelayAddress {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new RelayAddressError(toMessage('relay.notAddress', { text }));
  }
  const extra = url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '';
  if (extra || !/^(?:\/v1)?\/?$/.test(url.pathname)) {
    throw new RelayAddressError(toMessage('relay.moreThanAddress', { text }));
  }
  const secure = url.protocol === 'https:';
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return { origin: url.origin, secure, hostname, port, host: url.host };
}

/** Whether data to the relay, such as the key, cannot be read on the way. */
export function isProtected({ secure, hostname }: RelayAddress): boolean {
  return secure || isLoopback(hostname);
}

/**
 * The address of a tunnel's control WebSocket (docs/protocol.md section 5). The relay may send messages other than
 * `connection` on it (docs/protocol.md section 5.1).
 */
export function controlUrl(relay: RelayAddress, tunnelId: string): string {
  return `${relay.origin.replace(/^http/, 'ws')}/ws/control?tunnel_id=${encodeURIComponent(tunnelId)}&events=1`;
}

/** Scheme, host and path, with only those URL characters (RFC 3986) that have no special meaning in a shell. */
const ADDRESS = /^https?:\/\/[\w.~%:[\]/-]+$/i;

/**
 * Whether text is the address of a tunnel that can be printed, copied into a shell and opened in a browser: `http` or
 * `https`, with a host, without credentials, query and fragment. Addresses come from relays, which may be hostile.
 */
export function isWebAddress(text: string): boolean {
  return text.length <= TUNNEL_ADDRESS_MAX_CHARS && ADDRESS.test(text) && URL.canParse(text);
}
