import { MessageError, type MessageValue, toMessage } from '../messages.ts';
import { isLoopback } from '../network/dial.ts';
import type { Endpoint } from '../network/network.ts';

/** Where a relay is. */
export interface RelayAddress extends Endpoint {
  /** `http://host:port`, without a path; a default port is left out */
  readonly origin: string;
}

/** Thrown for text that is not a relay's address; the message says what is accepted. */
export class RelayAddressError extends MessageError {
  constructor(said: MessageValue) {
    super(said, { code: 'relay-address', field: 'relay' });
  }
}

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

/** Whether nobody on the way to the relay can read what is sent there, such as the key. */
export function isProtected({ secure, hostname }: RelayAddress): boolean {
  return secure || isLoopback(hostname);
}

/**
 * The address of a tunnel's control socket (protocol.md section 5), on which the relay may send other messages than
 * `connection` (protocol.md section 5.1).
 */
export function controlUrl(relay: RelayAddress, tunnelId: string): string {
  return `${relay.origin.replace(/^http/, 'ws')}/ws/control?tunnel_id=${encodeURIComponent(tunnelId)}&events=1`;
}
