/** Domains that users bring to their tunnels, as the REST interface has them (docs/protocol.md section 12). */

/** What the TXT record that proves whose a domain is has before the domain in its name. */
export const PROOF_LABEL = '_culvert';

export type DomainStatus = 'pending' | 'verified';

/** A record that has to be entered where the domain's DNS is kept. */
export interface DnsRecord {
  type: 'A' | 'AAAA' | 'CNAME' | 'TXT';
  name: string;
  value: string;
}

export interface Domain {
  /** UUID */
  id: string;
  /** in lower case, other characters than ASCII in punycode */
  domain: string;
  status: DomainStatus;
  records: DnsRecord[];
  /** RFC 3339, UTC */
  created_at: string;
  /** RFC 3339, UTC; `null` for one that is not verified */
  verified_at: string | null;
  /** since when its records are not as they should be, RFC 3339, UTC; `null` where they are, or were never looked at again */
  failing_since: string | null;
  /** when the relay lets go of it if nothing changes, RFC 3339, UTC; `null` if it does not */
  ends_at: string | null;
}

/** What was found when a domain was looked at. */
export interface DomainCheck {
  /** `proof`: the TXT record; `address`: where the domain leads */
  what: 'proof' | 'address';
  ok: boolean;
  /** what the DNS has instead; none where there is nothing, or it is right */
  found: string[];
  /** what is wrong, as a sentence; `''` where nothing is */
  problem: string;
}

/** A domain that was just looked at. */
export interface CheckedDomain extends Domain {
  checks: DomainCheck[];
}
