/** IP addresses and CIDR networks as people write them (RFC 4632 section 3.1, RFC 4291 section 2.3). */
import { isIP } from 'node:net';

export interface Network {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  /** of the network; all bits for a single address */
  readonly bits: number;
}

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** @returns what `192.0.2.7`, `10.0.0.0/8`, `::1` or `2001:db8::/32` names; `undefined` for anything else */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  // A zone means something on one machine only.
  if (version === 0 || rest.length > 0 || address.includes('%')) return undefined;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (prefix === undefined) return { address, family, bits: BITS[family] };
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= BITS[family] ? { address, family, bits } : undefined;
}
