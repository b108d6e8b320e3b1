/** What has to be entered where the DNS of a domain is kept (docs/protocol.md section 12.2). */
import { isIP } from 'node:net';
import type { DnsRecord } from '../../shared/domains.ts';
import type { DomainRecord } from '../store/records.ts';
import { proofName, proofText } from './proof.ts';
import { isApex } from './public-suffix.ts';

/**
 * A name that was registered has other records, which no CNAME may be beside (RFC 1034 section 3.6.2).
 *
 * @param host the relay's own name or address, IPv6 without brackets
 * @param addresses of the relay, for domains that cannot have a CNAME; none if they are not known
 */
export function recordsOf(
  { domain, proof }: Pick<DomainRecord, 'domain' | 'proof'>,
  host: string,
  addresses: readonly string[],
): DnsRecord[] {
  const txt: DnsRecord = { type: 'TXT', name: proofName(domain), value: proofText(proof) };
  const leadsTo = isApex(domain) && addresses.length > 0 ? addresses : [host];
  return [...leadsTo.map((value) => addressRecord(domain, value)), txt];
}

function addressRecord(name: string, value: string): DnsRecord {
  const family = isIP(value);
  return { type: family === 4 ? 'A' : family === 6 ? 'AAAA' : 'CNAME', name, value };
}
