/**
 * Names of tunnels and subdomains of accounts are one namespace (protocol.md section 3.2): the tunnel `ann` could set
 * cookies for every tunnel of the account whose subdomain that is. Each side stores its own first and then looks at the
 * other's, in the same transaction.
 */
import type { Kysely } from 'kysely';
import { EXPIRED_GRACE_MS } from '../../limits.ts';
import type { Database } from '../schema.ts';
import { ConflictError } from '../store-errors.ts';
import { read } from './operation.ts';

/**
 * To be called when the tunnel is stored.
 *
 * @throws ConflictError `slug` if an account has it as its subdomain
 */
export async function mustBeFreeForTunnel(transaction: Kysely<Database>, slug: string): Promise<void> {
  await turns(transaction).forShare().execute();
  const account = await transaction
    .selectFrom('accounts')
    .select('id')
    .where('subdomain', '=', slug)
    .executeTakeFirst();
  if (account !== undefined) throw new ConflictError('slug');
}

/**
 * To be called when the account is stored.
 *
 * @param now wall time in ms
 * @throws ConflictError `subdomain` if a tunnel has it as its slug, or had it and it is held
 */
export async function mustBeFreeForAccount(
  transaction: Kysely<Database>,
  subdomain: string,
  now: number,
): Promise<void> {
  await turns(transaction).forUpdate().execute();
  const tunnel = await transaction
    .selectFrom('tunnels')
    .select('id')
    .where('slug', '=', subdomain)
    .where('expires_at', '>', now - EXPIRED_GRACE_MS)
    .executeTakeFirst();
  const held = await transaction
    .selectFrom('released_names')
    .select('slug')
    .where('slug', '=', subdomain)
    .where('held_until', '>', now)
    .executeTakeFirst();
  if (tunnel !== undefined || held !== undefined) throw new ConflictError('subdomain');
}

/** Lists slugs of tunnels that are also the subdomain of an account, in any order. An earlier version allowed this. */
export const nameClashes = read(async (db): Promise<string[]> => {
  const rows = await db
    .selectFrom('tunnels')
    .innerJoin('accounts', 'accounts.subdomain', 'tunnels.slug')
    .select('tunnels.slug')
    .execute();
  return rows.map(({ slug }) => slug);
});

/**
 * The row on which the two sides take turns if transactions run at the same time; tunnels among themselves do not wait. It is
 * the last thing a transaction locks, here as elsewhere, so that no two transactions wait for each other.
 */
function turns(transaction: Kysely<Database>) {
  return transaction.selectFrom('access_revision').select('id');
}
