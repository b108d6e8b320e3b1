/** Accounts, keys, tunnels and admin actions as JSON, for the command line and the API. */
import {
  ADDRESS,
  COUNT,
  described,
  object,
  oneOf,
  optional,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  type TypeOf,
  UUID,
} from '../../shared/fields.ts';
import { invitationUrl, INVITE_LABEL } from '../../shared/team.ts';
import { PLANS } from '../../shared/tunnel.ts';
import { shownScope } from '../accounts/api-keys.ts';
import type { NewInvitation } from '../accounts/team.ts';
import type {
  AccountRecord,
  AuditRecord,
  KeyListing,
  OpenInvitation,
  OwnedTunnel,
  SuspendedName,
} from '../store/records.ts';

/** @returns RFC 3339 in UTC, as the API writes it */
export function timestamp(wallTime: number): string {
  return new Date(wallTime).toISOString();
}

export function timestampOr<T>(none: T, wallTime: number | null): string | T {
  return wallTime === null ? none : timestamp(wallTime);
}

const ACCOUNT_NAME = described(TEXT, "the account's name");

export const ADMIN_ACCOUNT = object(
  {
    id: UUID,
    name: TEXT,
    plan: oneOf(PLANS),
    subdomain: described(TEXT_OR_NULL, 'null if there is no subdomain'),
    created_at: TIME,
    suspended: optional(described(TEXT, 'the reason for the suspension, if it is suspended')),
  },
  'AdminAccount',
);
export type AccountView = TypeOf<typeof ADMIN_ACCOUNT>;

export function viewAccount({ id, name, plan, subdomain, createdAt, suspended }: AccountRecord): AccountView {
  const view = { id, name, plan, subdomain, created_at: timestamp(createdAt) };
  return suspended === null ? view : { ...view, suspended };
}

export const ADMIN_KEY = object(
  {
    id: UUID,
    account: ACCOUNT_NAME,
    hint: described(TEXT, 'the first characters of the key'),
    created_at: TIME,
    label: TEXT,
    expires_at: TIME_OR_NULL,
    last_used_at: described(
      TIME_OR_NULL,
      'when the key was last used, accurate to one minute; null if it was never used',
    ),
    scope: described(
      TEXT,
      "`all`, `owner`, `admin`, the name of a tunnel, or `agent:` and the prefix of the names of an agent's tunnels",
    ),
  },
  'AdminKey',
);

export function viewKey(key: KeyListing): TypeOf<typeof ADMIN_KEY> {
  const { id, account, hint, createdAt, label, expiresAt, lastUsedAt, scope } = key;
  return {
    id,
    account,
    hint,
    created_at: timestamp(createdAt),
    label,
    expires_at: timestampOr(null, expiresAt),
    last_used_at: timestampOr(null, lastUsedAt),
    scope: shownScope(scope),
  };
}

/** A tunnel as the operator sees it: its owner and its use, up to a second old. */
export const ADMIN_TUNNEL = object(
  {
    id: UUID,
    slug: TEXT,
    account: ACCOUNT_NAME,
    created_at: TIME,
    expires_at: TIME,
    bytes_in: COUNT,
    bytes_out: COUNT,
    requests: COUNT,
    suspended: described(TEXT_OR_NULL, 'the reason for the suspension, or null'),
  },
  'AdminTunnel',
);

export function viewTunnel({ tunnel, account }: OwnedTunnel): TypeOf<typeof ADMIN_TUNNEL> {
  return {
    id: tunnel.id,
    slug: tunnel.slug,
    account: account.name,
    created_at: timestamp(tunnel.createdAt),
    expires_at: timestamp(tunnel.expiresAt),
    bytes_in: tunnel.bytesIn,
    bytes_out: tunnel.bytesOut,
    requests: tunnel.requests,
    suspended: tunnel.suspended,
  };
}

/** The address of a tunnel that ended while it was suspended. */
export const ADMIN_SUSPENDED_NAME = object(
  {
    id: described(UUID, 'the id of the tunnel, which has ended'),
    slug: TEXT,
    account: described(TEXT_OR_NULL, "the account's name, or null if the account was deleted"),
    domain: described(TEXT_OR_NULL, "the tunnel's domain, or null"),
    suspended: described(TEXT_OR_NULL, 'the reason for the suspension, or null'),
  },
  'AdminSuspendedName',
);

export function viewSuspendedName(name: SuspendedName): TypeOf<typeof ADMIN_SUSPENDED_NAME> {
  const { tunnelId, slug, account, domain, reason } = name;
  return { id: tunnelId, slug, account, domain, suspended: reason };
}

/** The resumed tunnel, or only its address if the tunnel has ended. */
export function viewResumed(resumed: OwnedTunnel | SuspendedName) {
  return 'tunnel' in resumed ? viewTunnel(resumed) : { ...viewSuspendedName(resumed), suspended: null };
}

/** An invitation that nobody has taken. */
export const ADMIN_INVITE = object(
  { id: UUID, account: ACCOUNT_NAME, label: INVITE_LABEL, expires_at: TIME },
  'AdminOpenInvite',
);

export function viewInvitation({
  id,
  account,
  label,
  expiresAt,
}: OpenInvitation): TypeOf<typeof ADMIN_INVITE> {
  return { id, account: account.name, label, expires_at: timestamp(expiresAt) };
}

/** An invitation that was just made. */
export const ADMIN_NEW_INVITE = object(
  {
    ...ADMIN_INVITE.fields,
    url: described(ADDRESS, 'URL of the invitation, which works once and is not shown again'),
  },
  'AdminNewInvite',
);

/**
 * @param account its name
 * @param origin the relay's own address
 */
export function viewNewInvitation(
  { token, record }: NewInvitation,
  account: string,
  origin: string,
): TypeOf<typeof ADMIN_NEW_INVITE> {
  const { id, label, expiresAt } = record;
  return { id, account, label, url: invitationUrl(origin, token), expires_at: timestamp(expiresAt) };
}

export const ADMIN_ACT = object(
  {
    at: TIME,
    actor: described(TEXT, '`shell:USER`, `key:ID`, `invite:ID`, or `relay` for the first key'),
    action: TEXT,
    subject: TEXT,
    detail: TEXT,
  },
  'AdminAct',
);

export function viewAct({ at, actor, action, subject, detail }: AuditRecord): TypeOf<typeof ADMIN_ACT> {
  return { at: timestamp(at), actor, action, subject, detail };
}
