/** What counts as one address (docs/protocol.md section 4.6). */
import { isIPv6 } from 'node:net';

/** Groups of an IPv6 address that say whose network it is in: whoever has one has a whole /64. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** @returns an IPv4 address as it is, the /64 of an IPv6 address */
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
