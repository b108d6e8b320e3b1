/** IP addresses and CIDR networks in text form (RFC 4632 section 3.1, RFC 4291 section 2.3). */
import { isIPv6 } from './host.ts';

export interface Network {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  /** prefix length; all bits for a single address */
  readonly bits: number;
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`);
const BITS = { ipv4: 32, ipv6: 128 } as const;

/** @returns the network of `192.0.2.7`, `10.0.0.0/8`, `::1` or `2001:db8::/32`; `undefined` for any other text */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = familyOf(address);
  if (family === undefined || rest.length > 0) return undefined;
  if (prefix === undefined) return { address, family, bits: BITS[family] };
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= BITS[family] ? { address, family, bits } : undefined;
}

function familyOf(address: string): Network['family'] | undefined {
  if (IPV4.test(address)) return 'ipv4';
  // No zone, which has a meaning only on one machine.
  return isIPv6(address) ? 'ipv6' : undefined;
}
