/** Domains of the account, as the app shows them (docs/protocol.md section 12). */
import type { DnsRecord, DomainStatus } from '../../shared/domains.ts';

export interface DomainView {
  /** of the relay */
  readonly id: string;
  readonly domain: string;
  readonly status: DomainStatus;
  /** what has to be entered where its DNS is kept */
  readonly records: readonly Readonly<DnsRecord>[];
}

/** A domain that the relay has just looked at. */
export interface CheckedDomainView extends DomainView {
  /** what is still missing; none if it is as it should be */
  readonly problems: readonly { readonly text: string; readonly found: readonly string[] }[];
}
