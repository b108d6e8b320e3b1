/** On which addresses DNS is served. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';

const EVERY_ADDRESS = ['0.0.0.0', '::'];

/**
 * Each of them has a socket of its own: a response over UDP must come from the address that was asked, and the system's own
 * resolver often has the port on a loopback address.
 *
 * @param host as `CULVERT_HOST` has it; all addresses of one kind are those that others can reach, or, where there are
 *     none, loopback
 * @throws the system's error when a host name has no address
 */
export async function dnsAddresses(host: string, interfaces = networkInterfaces): Promise<string[]> {
  if (EVERY_ADDRESS.includes(host)) return reachable(host, interfaces());
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** `::` includes IPv4, as for the listener of visitors. */
function reachable(host: string, interfaces: ReturnType<typeof networkInterfaces>): string[] {
  const all = Object.values(interfaces)
    .flatMap((own) => own ?? [])
    .filter(({ family }) => host === '::' || family === 'IPv4')
    .filter((own) => !isLinkLocal(own));
  const outside = all.filter(({ internal }) => !internal);
  return (outside.length > 0 ? outside : all).map(({ address }) => address);
}

function isLinkLocal({ address }: NetworkInterfaceInfo): boolean {
  return /^fe[89ab]/i.test(address);
}
