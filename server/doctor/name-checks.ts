/** What the DNS says about the relay's names. */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { type Config, publicUrlOf } from '../config.ts';
import type { DnsLookup } from '../domains/dns-lookup.ts';
import { type Check, Fault, Skipped } from './check.ts';

/** A name below the tunnel domain that no tunnel has. */
export function unusedHost({ tunnelDomain }: Pick<Config, 'tunnelDomain'>): string {
  return `doctor-${randomBytes(6).toString('hex')}.${tunnelDomain}`;
}

/** Whether each machine is meant by the name itself (RFC 6761 section 6.3). */
export function isThisMachine(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

export function nameChecks(config: Config, lookup: DnsLookup): Check[] {
  const own = publicUrlOf(config, config.port).hostname.replace(/^\[|\]$/g, '');

  async function addresses(host: string, record: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) throw new Skipped(`${host} is an address`);
    if (isThisMachine(host)) throw new Skipped(`${record} is this machine`);
    const answers = await Promise.all([lookup(host, 'A'), lookup(host, 'AAAA')]);
    const found = answers.flatMap((answer) => (answer.kind === 'found' ? answer.values : []));
    if (found.length > 0) return found;
    const failed = answers.find((answer) => answer.kind === 'failed');
    if (failed !== undefined)
      throw new Fault(`${record}: ${failed.text}`, 'Try again, or name a DNS server with CULVERT_RESOLVER.');
    throw new Fault(
      `${record} has no address in the DNS`,
      `Add an A record (and AAAA, if the machine has IPv6) for ${record} with the public address of this machine or of its proxy.`,
    );
  }

  async function dns(): Promise<string> {
    return `${own} is ${(await addresses(own, own)).join(', ')}`;
  }

  async function wildcard(): Promise<string> {
    const record = `*.${config.tunnelDomain}`;
    const found = await addresses(unusedHost(config), record);
    const ofRelay = isIP(own) === 0 ? await addresses(own, own).catch(() => []) : [own];
    const elsewhere = ofRelay.length > 0 && !found.some((address) => ofRelay.includes(address));
    return `${record} is ${found.join(', ')}${elsewhere ? `, which is not where ${own} leads` : ''}`;
  }

  return [
    { name: 'dns', look: dns },
    { name: 'wildcard', look: wildcard },
  ];
}
