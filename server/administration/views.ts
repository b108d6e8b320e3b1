/** Accounts, keys, tunnels and acts as programs see them, on the command line and through the API. */
import type { Plan } from '../../shared/tunnel.ts';
import { shownScope } from '../accounts/api-keys.ts';
import type { NewInvitation } from '../accounts/invitations.ts';
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

export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly subdomain: string | null;
  readonly created_at: string;
  /** why it is suspended; not there for one that is not */
  readonly suspended?: string;
}

export function viewAccount({ id, name, plan, subdomain, createdAt, suspended }: AccountRecord): AccountView {
  const view = { id, name, plan, subdomain, created_at: timestamp(createdAt) };
  return suspended === null ? view : { ...view, suspended };
}

export function viewKey(key: KeyListing) {
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

/** A tunnel as its operator sees it: whose it is, and how much it is used, to within a second. */
export function viewTunnel({ tunnel, account }: OwnedTunnel) {
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
export function viewSuspendedName({ tunnelId, slug, account, domain, reason }: SuspendedName) {
  return { id: tunnelId, slug, account, domain, suspended: reason };
}

/** What was resumed: a tunnel, or only its address if it has ended. */
export function viewResumed(resumed: OwnedTunnel | SuspendedName) {
  return 'tunnel' in resumed ? viewTunnel(resumed) : { ...viewSuspendedName(resumed), suspended: null };
}

/** An invitation that nobody has taken. */
export function viewInvitation({ id, account, expiresAt }: OpenInvitation) {
  return { id, account: account.name, expires_at: timestamp(expiresAt) };
}

/**
 * An invitation that was just made.
 *
 * @param account name of the one that it is to
 * @param origin the relay's own address
 */
export function viewNewInvitation({ token, record }: NewInvitation, account: string, origin: string) {
  const { id, expiresAt } = record;
  return { id, account, url: `${origin}/invite/${token}`, expires_at: timestamp(expiresAt) };
}

export function viewAct({ at, actor, action, subject, detail }: AuditRecord) {
  return { at: timestamp(at), actor, action, subject, detail };
}
