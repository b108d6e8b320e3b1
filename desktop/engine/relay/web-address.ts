import { TUNNEL_ADDRESS_MAX_CHARS } from '../limits.ts';

/** Scheme, host and path, with only those characters of a URL (RFC 3986) that mean nothing to a shell. */
const ADDRESS = /^https?:\/\/[\w.~%:[\]/-]+$/i;

/**
 * Whether text is the address of a tunnel that can be printed, copied into a shell and opened in a browser: of `http` or
 * `https`, with a host, without credentials, query and fragment. Addresses come from relays, and not every relay is a
 * friend.
 */
export function isWebAddress(text: string): boolean {
  return text.length <= TUNNEL_ADDRESS_MAX_CHARS && ADDRESS.test(text) && URL.canParse(text);
}
