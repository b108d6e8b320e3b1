/**
 * Names of tunnels and subdomains of accounts are one namespace (protocol.md section 3.2): the tunnel `ann` could set
 * cookies for every tunnel of the account whose subdomain that is. Hosts of wildcard tunnels belong to it too, except
 * that an account may name its own tunnel like a host of its own wildcard tunnel (section 4.7). Each side stores its
 * own first and then looks at the other's, in the same transaction.
 */
import { type Kysely, sql } from 'kysely';
import { wildcardSlugsOf } from '../../../shared/wildcard-hosts.ts';
import { EXPIRED_GRACE_MS, type TunnelRecord } from '../records.ts';
import type { Database } from '../schema.ts';
import { ConflictError } from '../store-errors.ts';

/** A tunnel as the namespace sees it. */
type NamedTunnel = Pick<TunnelRecord, 'slug' | 'accountId' | 'wildcard'>;

/**
 * To be called when the tunnel is stored.
 *
 * @param now wall time in ms
 * @param nameHold ms during which the slug of an ended tunnel stays reserved for its account
 * @throws ConflictError `slug` if an account has it as its subdomain, it is a host of another account's wildcard
 *   tunnel, or one of its own hosts, as a wildcard tunnel, is a name of another account
 */
export async function mustBeFreeForTunnel(
  transaction: Kysely<Database>,
  tunnel: NamedTunnel,
  now: number,
  nameHold: number,
): Promise<void> {
  const { slug, accountId, wildcard } = tunnel;
  await (wildcard ? turns(transaction).forUpdate() : turns(transaction).forShare()).execute();
  const account = await transaction
    .selectFrom('accounts')
    .select('id')
    .where('subdomain', '=', slug)
    .executeTakeFirst();
  const since = now - Math.max(EXPIRED_GRACE_MS, nameHold);
  const isTaken =
    account !== undefined ||
    (await isWildcardHost(transaction, slug, { accountId, since })) ||
    (await isHeldAsHost(transaction, wildcardSlugsOf(slug), { accountId, now })) ||
    (wildcard && (await hasHostOfOthers(transaction, tunnel, { since, now })));
  if (isTaken) throw new ConflictError('slug');
}

/**
 * To be called when the account is stored.
 *
 * @param now wall time in ms
 * @throws ConflictError `subdomain` if a tunnel has it as its slug, or had it and it is held, or if it is a host of
 *   another account's wildcard tunnel
 */
export async function mustBeFreeForAccount(
  transaction: Kysely<Database>,
  { id, subdomain }: { readonly id: string; readonly subdomain: string },
  now: number,
): Promise<void> {
  await turns(transaction).forUpdate().execute();
  const since = now - EXPIRED_GRACE_MS;
  const tunnel = await transaction
    .selectFrom('tunnels')
    .select('id')
    .where('slug', '=', subdomain)
    .where('expires_at', '>', since)
    .executeTakeFirst();
  const held = await transaction
    .selectFrom('released_names')
    .select('slug')
    .where('slug', '=', subdomain)
    .where('held_until', '>', now)
    .executeTakeFirst();
  const isTaken =
    tunnel !== undefined ||
    held !== undefined ||
    (await isWildcardHost(transaction, subdomain, { accountId: id, since }));
  if (isTaken) throw new ConflictError('subdomain');
}

/** Whether a label is a host of another account's wildcard tunnel. */
async function isWildcardHost(
  db: Kysely<Database>,
  label: string,
  { accountId, since }: { readonly accountId: string; readonly since: number },
): Promise<boolean> {
  const slugs = wildcardSlugsOf(label);
  if (slugs.length === 0) return false;
  const tunnel = await db
    .selectFrom('tunnels')
    .select('id')
    .where('slug', 'in', slugs)
    .where('wildcard', '=', 1)
    .where('account_id', '!=', accountId)
    .where('expires_at', '>', since)
    .executeTakeFirst();
  return tunnel !== undefined;
}

/** Whether one of the slugs is held for another account. Whether its tunnel was a wildcard one is not known. */
async function isHeldAsHost(
  db: Kysely<Database>,
  slugs: readonly string[],
  { accountId, now }: { readonly accountId: string; readonly now: number },
): Promise<boolean> {
  if (slugs.length === 0) return false;
  const held = await db
    .selectFrom('released_names')
    .select('slug')
    .where('slug', 'in', slugs)
    .where('account_id', '!=', accountId)
    .where('held_until', '>', now)
    .executeTakeFirst();
  return held !== undefined;
}

/** Whether a host of a wildcard tunnel is a name of another account: of a tunnel, a held one, or a subdomain. */
async function hasHostOfOthers(
  db: Kysely<Database>,
  { slug, accountId }: NamedTunnel,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<boolean> {
  // A label has at least one character before the two hyphens; slugs contain nothing that LIKE interprets.
  const hosts = `_%--${slug}`;
  const tunnel = await db
    .selectFrom('tunnels')
    .select('id')
    // In the words of the index.
    .where(sql<boolean>`slug like '%--%'`)
    .where('slug', 'like', hosts)
    .where('account_id', '!=', accountId)
    .where('expires_at', '>', since)
    .executeTakeFirst();
  if (tunnel !== undefined) return true;
  const held = await db
    .selectFrom('released_names')
    .select('slug')
    .where('slug', 'like', hosts)
    .where('account_id', '!=', accountId)
    .where('held_until', '>', now)
    .executeTakeFirst();
  if (held !== undefined) return true;
  const account = await db
    .selectFrom('accounts')
    .select('id')
    .where('subdomain', 'like', hosts)
    .where('id', '!=', accountId)
    .executeTakeFirst();
  return account !== undefined;
}

/**
 * The row on which the sides take turns if transactions run at the same time; tunnels among themselves do not wait,
 * except for wildcard ones, which are rare. It is the last thing a transaction locks, here as elsewhere, so that no two transactions wait for each other.
 */
function turns(transaction: Kysely<Database>) {
  return transaction.selectFrom('access_revision').select('id');
}
