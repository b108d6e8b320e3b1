import { TUNNEL_ADDRESS_MAX_CHARS } from '../limits.ts';

/** Scheme, host and path, and of the characters of a URL (RFC 3986) only those that no shell obeys. */
const ADDRESS = /^https?:\/\/[\w.~%:[\]/-]+$/i;

/**
 * Whether text is the address of a tunnel that can be printed, copied into a shell and opened in a browser: of `http` or
 * `https`, with a host, without credentials, query and fragment. Relays give addresses, and not all relays are friends.
 */
export function isWebAddress(text: string): boolean {
  return text.length <= TUNNEL_ADDRESS_MAX_CHARS && ADDRESS.test(text) && URL.canParse(text);
}
