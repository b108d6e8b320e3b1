/**
 * Addresses that the relay may connect to for somebody it does not know: those of the internet. Everything else could be
 * the relay's own machine or network, such as the metadata service of a cloud.
 */
import { BlockList, isIP } from 'node:net';

/** IANA IPv4 and IPv6 Special-Purpose Address Registries, but for examples in documentation. */
const PRIVATE_IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const;
/** Of global unicast: protocols, Teredo and 6to4, which lead to IPv4. */
const PRIVATE_IPV6 = [
  ['2001::', 23],
  ['2002::', 16],
] as const;

const refused = new BlockList();
for (const [address, bits] of PRIVATE_IPV4) refused.addSubnet(address, bits, 'ipv4');
for (const [address, bits] of PRIVATE_IPV6) refused.addSubnet(address, bits, 'ipv6');
/** RFC 4291 section 2.4: everything else is local, multicast, or leads to IPv4. */
const unicast = new BlockList();
unicast.addSubnet('2000::', 3, 'ipv6');

/** Whether an address is one of the internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !refused.check(address, 'ipv4');
  return family === 6 && unicast.check(address, 'ipv6') && !refused.check(address, 'ipv6');
}
