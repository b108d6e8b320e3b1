/** A domain as the REST interface shows it (docs/protocol.md section 12.2). */
import type { CheckedDomain, DnsRecord, Domain, DomainCheck } from '../../../shared/domains.ts';
import type { DomainLook, Finding } from '../../domains/domain-look.ts';
import { DOMAIN_CLAIM_MS, DOMAIN_GRACE_MS } from '../../limits.ts';
import type { DomainRecord } from '../../store/records.ts';
import { type JsonObject, object, text, timestamp, uuid } from '../json-schema.ts';
import { type Fields, resource } from './resource.ts';

interface Source {
  readonly claim: DomainRecord;
  readonly records: DnsRecord[];
}

const orNull = { ...timestamp, type: ['string', 'null'] };

const FIELDS: Fields<Source, Domain> = {
  id: { schema: uuid, of: ({ claim }) => claim.id },
  domain: {
    schema: { ...text, description: 'in lower case, other characters than ASCII in punycode' },
    of: ({ claim }) => claim.domain,
  },
  status: {
    schema: { enum: ['pending', 'verified'] },
    of: ({ claim }) => (claim.verifiedAt === null ? 'pending' : 'verified'),
  },
  records: {
    schema: {
      type: 'array',
      description: 'what has to be entered where the DNS of the domain is kept',
      items: object({ type: { enum: ['A', 'AAAA', 'CNAME', 'TXT'] }, name: text, value: text }),
    },
    of: ({ records }) => records,
  },
  created_at: { schema: timestamp, of: ({ claim }) => rfc3339(claim.createdAt) },
  verified_at: { schema: orNull, of: ({ claim }) => rfc3339OrNull(claim.verifiedAt) },
  failing_since: {
    schema: { ...orNull, description: 'since when its records are wrong' },
    of: ({ claim }) => rfc3339OrNull(claim.failingSince),
  },
  ends_at: {
    schema: { ...orNull, description: 'when the relay lets go of it if nothing changes' },
    of: ({ claim }) => rfc3339OrNull(endOf(claim)),
  },
};

export const DOMAIN = resource<Source, Domain>(FIELDS);

const check: JsonObject = object({
  what: { enum: ['proof', 'address'], description: 'the TXT record, or where the domain leads' },
  ok: { type: 'boolean' },
  found: { type: 'array', items: text, description: 'what the DNS has instead' },
  problem: { ...text, description: 'what is wrong; empty where nothing is' },
});

export const CHECKED_DOMAIN = resource<Source & { readonly look: DomainLook }, CheckedDomain>({
  ...FIELDS,
  checks: {
    schema: { type: 'array', items: check },
    of: ({ look }) => [viewCheck(look.address), viewCheck(look.proof)],
  },
});

function viewCheck({ what, ok, found, problem }: Finding): DomainCheck {
  return { what, ok, found, problem };
}

function endOf({ verifiedAt, failingSince, createdAt }: DomainRecord): number | null {
  if (verifiedAt === null) return createdAt + DOMAIN_CLAIM_MS;
  return failingSince === null ? null : failingSince + DOMAIN_GRACE_MS;
}

function rfc3339(wallTime: number): string {
  return new Date(wallTime).toISOString();
}

function rfc3339OrNull(wallTime: number | null): string | null {
  return wallTime === null ? null : rfc3339(wallTime);
}
