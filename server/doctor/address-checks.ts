/** Whether the relay answers over IPv6 where the DNS says so: browsers try it first. */
import { isIP } from 'node:net';
import { type Config, publicUrlOf } from '../config.ts';
import type { DnsLookup } from '../domains/dns-lookup.ts';
import { ask } from './ask.ts';
import { type Check, Fault, Skipped } from './check.ts';
import { isThisMachine, unusedHost } from './name-checks.ts';

/** This machine has no way to IPv6 addresses. */
const NO_WAY = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

export function addressChecks(config: Config, lookup: DnsLookup): Check[] {
  const to = publicUrlOf(config, config.port);
  const own = to.hostname.replace(/^\[|\]$/g, '');

  async function ipv6(): Promise<string> {
    const hosts = [own, unusedHost(config)].filter((host) => isIP(host) === 0 && !isThisMachine(host));
    const answers = await Promise.all(hosts.map((host) => lookup(host, 'AAAA')));
    const found = new Set(answers.flatMap((answer) => (answer.kind === 'found' ? answer.values : [])));
    if (found.size === 0) throw new Skipped('no name has an AAAA record: visitors come over IPv4');
    for (const address of found) await mustAnswer(address);
    return `${[...found].join(', ')}: answers`;
  }

  async function mustAnswer(address: string): Promise<void> {
    try {
      const { status } = await ask({ to, path: '/healthz', address });
      if (status !== 200) throw new Error(`status ${status}`);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      if (NO_WAY.has(code)) throw new Skipped(`this machine has no way to ${address}`);
      throw new Fault(
        `an AAAA record leads to ${address}, where no relay answers: ${error instanceof Error ? error.message : String(error)}`,
        'Let the relay or its proxy listen there too (CULVERT_HOST=::, nginx: listen [::]:443) and the firewall let it in, or remove the record.',
        { cause: error },
      );
    }
  }

  return [{ name: 'ipv6', needs: 'public', look: ipv6 }];
}
