/**
 * Names of tunnels, kept ones too, and subdomains of accounts are one namespace (protocol.md section 3.2): the tunnel `ann` could set
 * cookies for every tunnel of the account whose subdomain that is. Hosts of wildcard tunnels belong to it too, except
 * that an account may name its own tunnel like a host of its own wildcard tunnel (section 4.7). Each side stores its
 * own first and then looks at the other's, in the same transaction.
 */
import { sql } from 'kysely';
import { wildcardSlugsOf } from '../../../shared/wildcard-hosts.ts';
import { EXPIRED_GRACE_MS, type KeptName, type TunnelRecord } from '../records.ts';
import { ConflictError } from '../store-errors.ts';
import type { Db } from './operation.ts';

/** Whose names, and at which moment. */
interface Claim {
  readonly accountId: string;
  /** wall time in ms */
  readonly now: number;
  /** wall time in ms: tunnels that expired until then no longer have their names */
  readonly since: number;
}

/**
 * To be called when the tunnel is stored.
 *
 * @param now wall time in ms
 * @param nameHold ms during which the slug of an ended tunnel stays reserved for its account
 * @throws ConflictError `slug` if an account has it as its subdomain, it is held for another account, it is a host of
 *   another account's wildcard tunnel, or one of its own hosts, as a wildcard tunnel, is a name of another account
 */
export async function mustBeFreeForTunnel(
  db: Db,
  { slug, accountId, wildcard }: Pick<TunnelRecord, 'slug' | 'accountId' | 'wildcard'>,
  now: number,
  nameHold: number,
): Promise<void> {
  const claim = { accountId, now, since: now - Math.max(EXPIRED_GRACE_MS, nameHold) };
  await (wildcard ? turns(db).forUpdate() : turns(db).forShare()).execute();
  const account = await db
    .selectFrom('accounts')
    .select('id')
    .where('subdomain', '=', slug)
    .executeTakeFirst();
  // Whether the tunnel of a held or kept name was a wildcard one is not known.
  const above = wildcardSlugsOf(slug);
  const held = nameHold > 0 ? [slug, ...above] : above;
  const isTaken =
    account !== undefined ||
    (await isWildcardHost(db, slug, claim)) ||
    (await isHeld(db, held, claim)) ||
    (await isKept(db, [slug, ...above], accountId)) ||
    (wildcard && (await hasHostOfOthers(db, slug, claim)));
  if (isTaken) throw new ConflictError('slug');
}

/**
 * To be called when the name is stored.
 *
 * @param now wall time in ms
 * @throws ConflictError `slug` if another account's tunnel has it or lost it so recently that it is held, if it is an
 *   account's subdomain, or if it is or may become a host of another account's wildcard tunnel
 */
export async function mustBeFreeForName(
  db: Db,
  { name, accountId }: Pick<KeptName, 'name' | 'accountId'>,
  now: number,
  nameHold: number,
): Promise<void> {
  // A tunnel that is being stored is either seen here or sees this name.
  await turns(db).forUpdate().execute();
  await mustBeFreeForTunnel(db, { slug: name, accountId, wildcard: false }, now, nameHold);
  const tunnel = await db
    .selectFrom('tunnels')
    .select('id')
    .where('slug', '=', name)
    .where('accountId', '!=', accountId)
    .where('expiresAt', '>', now - Math.max(EXPIRED_GRACE_MS, nameHold))
    .executeTakeFirst();
  if (tunnel !== undefined) throw new ConflictError('slug');
}

/**
 * To be called when the account is stored.
 *
 * @param now wall time in ms
 * @throws ConflictError `subdomain` if a tunnel has it as its slug, or had it and it is held, or if it is a host of
 *   another account's wildcard tunnel
 */
export async function mustBeFreeForAccount(
  db: Db,
  { id, subdomain }: { readonly id: string; readonly subdomain: string },
  now: number,
): Promise<void> {
  await turns(db).forUpdate().execute();
  const since = now - EXPIRED_GRACE_MS;
  const tunnel = await db
    .selectFrom('tunnels')
    .select('id')
    .where('slug', '=', subdomain)
    .where('expiresAt', '>', since)
    .executeTakeFirst();
  const isTaken =
    tunnel !== undefined ||
    // Also for the account itself.
    (await isHeld(db, [subdomain], { accountId: '', now })) ||
    (await isKept(db, [subdomain], '')) ||
    (await isWildcardHost(db, subdomain, { accountId: id, since }));
  if (isTaken) throw new ConflictError('subdomain');
}

/** Whether a label is a host of another account's wildcard tunnel. */
async function isWildcardHost(
  db: Db,
  label: string,
  { accountId, since }: Pick<Claim, 'accountId' | 'since'>,
): Promise<boolean> {
  const slugs = wildcardSlugsOf(label);
  if (slugs.length === 0) return false;
  const tunnel = await db
    .selectFrom('tunnels')
    .select('id')
    .where('slug', 'in', slugs)
    .where('wildcard', '=', true)
    .where('accountId', '!=', accountId)
    .where('expiresAt', '>', since)
    .executeTakeFirst();
  return tunnel !== undefined;
}

/** Whether one of the slugs is held for another account. */
async function isHeld(
  db: Db,
  slugs: readonly string[],
  { accountId, now }: Pick<Claim, 'accountId' | 'now'>,
): Promise<boolean> {
  if (slugs.length === 0) return false;
  const held = await heldForOthers(db, { accountId, now }).where('slug', 'in', slugs).executeTakeFirst();
  return held !== undefined;
}

/** Whether another account keeps one of the names. */
async function isKept(db: Db, names: readonly string[], accountId: string): Promise<boolean> {
  const kept = await keptByOthers(db, accountId).where('name', 'in', names).executeTakeFirst();
  return kept !== undefined;
}

function keptByOthers(db: Db, accountId: string) {
  return db.selectFrom('kept_names').select('name').where('accountId', '!=', accountId);
}

function heldForOthers(db: Db, { accountId, now }: Pick<Claim, 'accountId' | 'now'>) {
  return db
    .selectFrom('released_names')
    .select('slug')
    .where('accountId', '!=', accountId)
    .where('heldUntil', '>', now);
}

/** Whether a host of a wildcard tunnel is a name of another account: of a tunnel, a held one, or a subdomain. */
async function hasHostOfOthers(db: Db, slug: string, claim: Claim): Promise<boolean> {
  // A label has at least one character before the two hyphens; slugs contain nothing that LIKE interprets.
  const hosts = `_%--${slug}`;
  const tunnel = await db
    .selectFrom('tunnels')
    .select('id')
    // In the words of the index.
    .where(sql<boolean>`slug like '%--%'`)
    .where('slug', 'like', hosts)
    .where('accountId', '!=', claim.accountId)
    .where('expiresAt', '>', claim.since)
    .executeTakeFirst();
  if (tunnel !== undefined) return true;
  if ((await heldForOthers(db, claim).where('slug', 'like', hosts).executeTakeFirst()) !== undefined)
    return true;
  const kept = await keptByOthers(db, claim.accountId).where('name', 'like', hosts).executeTakeFirst();
  if (kept !== undefined) return true;
  const account = await db
    .selectFrom('accounts')
    .select('id')
    .where('subdomain', 'like', hosts)
    .where('id', '!=', claim.accountId)
    .executeTakeFirst();
  return account !== undefined;
}

/**
 * The row on which the sides take turns if transactions run at the same time; tunnels among themselves do not wait,
 * except for wildcard ones, which are rare. It is the last thing a transaction locks, here as elsewhere, so that no two transactions wait for each other.
 */
function turns(db: Db) {
  return db.selectFrom('access_revision').select('id');
}
