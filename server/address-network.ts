/**
 * Addresses that count as one (protocol.md section 4.6), and whether a list of networks covers a large part of
 * the internet.
 */
import { type BlockList, isIPv6 } from 'node:net';

/** Groups of an IPv6 address that identify its network: each customer has a whole /64. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** @returns an IPv4 address unchanged, the /64 of an IPv6 address */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [front = '', back] = (address.split('%', 1)[0] ?? '').split('::');
  const before = groupsOf(front);
  const after = groupsOf(back ?? '');
  const zeros = back === undefined ? 0 : GROUPS - before.length - after.length;
  const groups = [...before, ...Array.from({ length: zeros }, () => 0), ...after];
  return `${groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The groups of a part of an address; an IPv4 address at its end is two of them, and never among the first four. */
function groupsOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}

/** A public address of each /8 of IPv4 and of each /8 of IPv6. */
const SAMPLES = {
  ipv4: Array.from({ length: 223 }, (_, index) => index + 1)
    .filter((first) => first !== 10 && first !== 127)
    .map((first) => `${first}.77.77.77`),
  // Global unicast is 2000::/3 (RFC 4291 section 2.4).
  ipv6: Array.from({ length: 32 }, (_, index) => `${(0x20 + index).toString(16)}00:77::77`),
} as const;
/** The share of the samples that makes a list too large for a list of proxies. */
const MUCH = 1 / 8;

/**
 * Whether a list covers a large part of the internet, with one network or with many: `0.0.0.0/0`, `::/0`, or two
 * halves.
 */
export function namesMuchOfTheInternet(networks: BlockList): boolean {
  if (networks.rules.length === 0) return false;
  return (['ipv4', 'ipv6'] as const).some((family) => {
    const samples = SAMPLES[family];
    return samples.filter((address) => networks.check(address, family)).length >= samples.length * MUCH;
  });
}
