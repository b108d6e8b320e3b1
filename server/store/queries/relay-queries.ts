/** Queries on secrets of the relay, and on what it tells commands that share its database, in SQL that every supported database understands. */
import { raiseAccessRevision } from './account-queries.ts';
import { act, type Db, read, write } from './operation.ts';

const BYTES = 32;

/**
 * Prefixes of the secrets that sign cookies, links and session tickets. Anyone who has them can forge these, so copies of a
 * database are made without them.
 */
export const SIGNING_SECRETS = ['pass ', 'links', 'sign-in ', 'session tickets '] as const;

/**
 * Returns a random secret of 43 characters that all relays on the database share. It is created on first use.
 *
 * @param now wall time in ms
 */
export const relaySecret = write(async (db, name: string, now: number): Promise<string> => {
  const found = await findSecret(db, name);
  if (found !== undefined) return found;
  const value = Buffer.from(crypto.getRandomValues(new Uint8Array(BYTES))).toString('base64url');
  await db
    .insertInto('relay_secrets')
    .values({ name, value, createdAt: now })
    // Another relay may have created it in between.
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  return (await findSecret(db, name)) ?? value;
});

/**
 * Removes the secrets of cookies, signed links and session tickets, and the links themselves. New secrets are created on
 * first use. Relays that serve follow as they do when a key is revoked.
 *
 * @returns how many links have ended
 */
export const renewSecrets = act(async (db): Promise<number> => {
  for (const prefix of SIGNING_SECRETS) await removeSecrets(db, prefix, Infinity);
  const links = await removeLinks(db);
  await raiseAccessRevision(db);
  return links;
});

/**
 * Forgets all signed links: their keys are gone.
 *
 * @returns how many there were that were not revoked
 */
export async function removeLinks(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('tunnel_links')
    .where('revokedAt', 'is', null)
    .executeTakeFirstOrThrow();
  await db.deleteFrom('tunnel_links').execute();
  return Number(numDeletedRows);
}

/**
 * Removes the secrets whose name begins with a prefix.
 *
 * @param before wall time in ms: secrets created later stay
 */
export const removeSecrets = write(async (db, prefix: string, before: number): Promise<void> => {
  await db
    .deleteFrom('relay_secrets')
    .where('name', 'like', `${prefix}%`)
    .where('createdAt', '<', Math.min(before, Number.MAX_SAFE_INTEGER))
    .execute();
});

async function findSecret(db: Db, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('relay_secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.value;
}

/** Stores the public URL of the relay, as its origin. Relays of a cluster share one. */
export const setPublicOrigin = write(async (db, origin: string): Promise<void> => {
  await db
    .insertInto('relay_info')
    .values({ name: 'public_origin', value: origin })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: origin }))
    .execute();
});

/** @returns the public URL of the relay that served last; `undefined` if none has stored it yet */
export const publicOrigin = read(async (db): Promise<string | undefined> => {
  const row = await db
    .selectFrom('relay_info')
    .select('value')
    .where('name', '=', 'public_origin')
    .executeTakeFirst();
  return row?.value;
});
