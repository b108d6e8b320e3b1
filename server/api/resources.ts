/** A JSON object that the API returns: each of its fields is defined once, with its value and its schema. */
import type { CheckedDomain, DnsRecord, Domain, DomainCheck } from '../../shared/domains.ts';
import { formatDuration } from '../../shared/duration.ts';
import type { Knock } from '../../shared/knocks.ts';
import { type Link, LINK_PARAMETER, type NewLink } from '../../shared/links.ts';
import { type Account, PLANS, type TtlLimits, type Tunnel } from '../../shared/tunnel.ts';
import { endOf, stateOf } from '../access/approval-requests.ts';
import { PLAN_RULES, type PlanRules, ttlLimitsOf } from '../accounts/accounts.ts';
import type { DomainLook, Finding } from '../domains/domain-check.ts';
import { CREATE_BURST, CREATES_PER_MINUTE, DOMAIN_CLAIM_MS, DOMAIN_GRACE_MS } from '../limits.ts';
import type { AccountRecord, DomainRecord, LinkRecord, StoredKnock } from '../store/records.ts';
import { type Addresses, type LiveTunnel, tunnelUrls } from '../tunnels/live-tunnel.ts';
import type { MadeLink } from '../tunnels/tunnel-links.ts';
import {
  accessView,
  addressSchema,
  count,
  type JsonObject,
  localPort,
  normalizedDuration,
  object,
  text,
  timestamp,
  uuid,
} from './json-schema.ts';

/** One field: its schema, and how its value is taken from what is shown. */
export interface Field<Source, Value> {
  readonly schema: JsonObject;
  readonly of: (source: Source) => Value;
}

/** A row for each field of `Shown`, in the order in which they are written. */
export type Fields<Source, Shown> = { readonly [Name in keyof Shown]-?: Field<Source, Shown[Name]> };

export interface Resource<Source, Shown> {
  readonly schema: JsonObject;
  view(source: Source): Shown;
}

export function resource<Source, Shown extends object>(
  fields: Fields<Source, Shown>,
): Resource<Source, Shown> {
  const rows = Object.entries<Field<Source, unknown>>(fields);
  return {
    schema: object(Object.fromEntries(rows.map(([name, { schema }]) => [name, schema]))),
    view(source) {
      const shown: Record<string, unknown> = {};
      for (const [name, { of }] of rows) shown[name] = of(source);
      return shown as Shown;
    },
  };
}

/* A tunnel as the REST interface shows it (docs/protocol.md section 3.3). */

interface TunnelSource extends ReturnType<typeof tunnelUrls> {
  readonly tunnel: LiveTunnel;
  readonly isOnline: boolean;
}

export const TUNNEL = resource<TunnelSource, Tunnel>({
  id: { schema: uuid, of: ({ tunnel }) => tunnel.id },
  slug: { schema: text, of: ({ tunnel }) => tunnel.slug },
  client_id: { schema: uuid, of: ({ tunnel }) => tunnel.account.id },
  local_port: { schema: localPort, of: ({ tunnel }) => tunnel.localPort },
  name: {
    schema: { ...text, description: 'as requested, or empty' },
    of: ({ tunnel }) => tunnel.name,
  },
  ttl: { schema: normalizedDuration, of: ({ tunnel }) => formatDuration(tunnel.ttl) },
  mode: { schema: { const: 'relay' }, of: () => 'relay' },
  created_at: { schema: timestamp, of: ({ tunnel }) => rfc3339(tunnel.createdAt) },
  expires_at: { schema: timestamp, of: ({ tunnel }) => rfc3339(tunnel.expiresAt) },
  idle_ttl: { schema: { type: 'boolean' }, of: ({ tunnel }) => tunnel.idle },
  bytes_in: {
    schema: { ...count, description: 'bytes from visitors handed to the client' },
    of: ({ tunnel }) => tunnel.bytesIn,
  },
  bytes_out: {
    schema: { ...count, description: 'bytes from the client to visitors' },
    of: ({ tunnel }) => tunnel.bytesOut,
  },
  requests: { schema: count, of: ({ tunnel }) => tunnel.requests },
  online: {
    schema: { type: 'boolean', description: 'whether its client is there' },
    of: ({ isOnline }) => isOnline,
  },
  access: { schema: accessView, of: ({ tunnel }) => tunnel.access?.view() ?? {} },
  public_url: {
    schema: { ...addressSchema, description: 'the address to hand out' },
    of: ({ public_url }) => public_url,
  },
  urls: {
    schema: object({
      subdomain: addressSchema,
      'path?': addressSchema,
      'account?': addressSchema,
      'domain?': addressSchema,
    }),
    of: ({ urls }) => urls,
  },
});

/**
 * @param online ids of the tunnels whose client is there
 * @returns the tunnel object
 */
export function viewTunnel(tunnel: LiveTunnel, addresses: Addresses, online: ReadonlySet<string>): Tunnel {
  return TUNNEL.view({ tunnel, isOnline: online.has(tunnel.id), ...tunnelUrls(tunnel, addresses) });
}

/** @returns in UTC with milliseconds, as JavaScript writes ISO strings */
function rfc3339(wallTime: number): string {
  return new Date(wallTime).toISOString();
}

/* An account as the REST interface shows it (docs/protocol.md section 3.6). */

interface LimitsSource {
  readonly rules: PlanRules;
  readonly ttl: TtlLimits;
}

const LIMITS = resource<LimitsSource, Account['limits']>({
  default_ttl: { schema: normalizedDuration, of: ({ ttl }) => formatDuration(ttl.defaultTtl) },
  max_ttl: { schema: normalizedDuration, of: ({ ttl }) => formatDuration(ttl.maxTtl) },
  creates_per_minute: { schema: count, of: () => CREATES_PER_MINUTE },
  create_burst: { schema: count, of: () => CREATE_BURST },
  max_tunnels: {
    schema: { type: ['integer', 'null'], description: 'null: unlimited' },
    of: ({ rules }) => rules.maxTunnels,
  },
  max_connections: {
    schema: { type: ['integer', 'null'], description: 'of each tunnel; null: unlimited' },
    of: ({ rules }) => rules.maxConnections,
  },
  max_domains: {
    schema: { type: ['integer', 'null'], description: 'null: unlimited' },
    of: ({ rules }) => rules.maxDomains,
  },
});

interface AccountSource {
  readonly account: AccountRecord;
  /** what the relay allows everybody */
  readonly ttl: TtlLimits;
}

export const ACCOUNT = resource<AccountSource, Account>({
  client_id: { schema: uuid, of: ({ account }) => account.id },
  name: { schema: text, of: ({ account }) => account.name },
  plan: { schema: { enum: PLANS }, of: ({ account }) => account.plan },
  subdomain: { schema: { type: ['string', 'null'] }, of: ({ account }) => account.subdomain },
  limits: {
    schema: LIMITS.schema,
    of: ({ account: { plan }, ttl }) => LIMITS.view({ rules: PLAN_RULES[plan], ttl: ttlLimitsOf(plan, ttl) }),
  },
});

/* A domain as the REST interface shows it (docs/protocol.md section 12.2). */

interface DomainSource {
  readonly claim: DomainRecord;
  readonly records: DnsRecord[];
}

const orNull = { ...timestamp, type: ['string', 'null'] };

const FIELDS: Fields<DomainSource, Domain> = {
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
    of: ({ claim }) => rfc3339OrNull(domainEndOf(claim)),
  },
};

export const DOMAIN = resource<DomainSource, Domain>(FIELDS);

const check: JsonObject = object({
  what: { enum: ['proof', 'address'], description: 'the TXT record, or where the domain leads' },
  ok: { type: 'boolean' },
  found: { type: 'array', items: text, description: 'what the DNS has instead' },
  problem: { ...text, description: 'what is wrong; empty where nothing is' },
});

export const CHECKED_DOMAIN = resource<DomainSource & { readonly look: DomainLook }, CheckedDomain>({
  ...FIELDS,
  checks: {
    schema: { type: 'array', items: check },
    of: ({ look }) => [viewCheck(look.address), viewCheck(look.proof)],
  },
});

function viewCheck({ what, ok, found, problem }: Finding): DomainCheck {
  return { what, ok, found, problem };
}

function domainEndOf({ verifiedAt, failingSince, createdAt }: DomainRecord): number | null {
  if (verifiedAt === null) return createdAt + DOMAIN_CLAIM_MS;
  return failingSince === null ? null : failingSince + DOMAIN_GRACE_MS;
}

function rfc3339OrNull(wallTime: number | null): string | null {
  return wallTime === null ? null : rfc3339(wallTime);
}

/* A signed link as the REST interface shows it (docs/protocol.md section 11.2). */

const LINK_FIELDS = {
  id: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  note: text,
  'path?': { type: 'string', description: "where it leads below the tunnel's address" },
  created_at: timestamp,
  expires_at: timestamp,
};

export const LINK_SCHEMA = object(LINK_FIELDS);
export const NEW_LINK_SCHEMA = object({
  ...LINK_FIELDS,
  url: { ...addressSchema, description: 'the address to hand out; it is not shown again' },
});

export function viewLink({ id, note, path, createdAt, expiresAt }: LinkRecord): Link {
  return {
    id,
    note,
    ...(path !== null && { path }),
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
  };
}

export function viewNewLink({ tunnel, link, token }: MadeLink, addresses: Addresses): NewLink {
  const path = link.path ?? '/';
  const { public_url } = tunnelUrls(tunnel, addresses);
  const url = `${public_url}${path}${path.includes('?') ? '&' : '?'}${LINK_PARAMETER}=${token}`;
  return { ...viewLink(link), url };
}

/* A knock as the REST interface shows it (docs/protocol.md section 11.3). */

export const KNOCK = resource<StoredKnock, Knock>({
  id: { schema: { type: 'string', pattern: '^[0-9a-f]{16}$' }, of: ({ id }) => id },
  status: { schema: { enum: ['waiting', 'admitted', 'refused'] }, of: stateOf },
  address: { schema: { ...text, description: "the visitor's IP address" }, of: ({ address }) => address },
  agent: {
    schema: { ...text, description: "the visitor's `User-Agent`, without control characters" },
    of: ({ agent }) => agent,
  },
  at: { schema: timestamp, of: ({ at }) => new Date(at).toISOString() },
  ends_at: {
    schema: { ...timestamp, description: 'until when the visitor waits, is in, or may not knock again' },
    of: (knock) => new Date(endOf(knock)).toISOString(),
  },
});

/* Responses of one word. */

function status(word: string): { readonly schema: JsonObject; readonly body: { readonly status: string } } {
  return { schema: object({ status: { const: word } }), body: { status: word } };
}

export const CLOSED = status('closed');
export const REVOKED = status('revoked');
export const REMOVED = status('removed');
export const HEALTHY = status('ok');
export const READY = status('ready');
export const SERVED = status('served');
