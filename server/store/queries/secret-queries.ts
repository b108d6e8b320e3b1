/** Queries on secrets of the relay, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import type { Database } from '../schema.ts';

const BYTES = 32;

/** See {@link Store.relaySecret}. */
export async function relaySecret(db: Kysely<Database>, name: string, now: number): Promise<string> {
  const found = await findSecret(db, name);
  if (found !== undefined) return found;
  const value = Buffer.from(crypto.getRandomValues(new Uint8Array(BYTES))).toString('base64url');
  await db
    .insertInto('relay_secrets')
    .values({ name, value, created_at: now })
    // Another relay may have created it in between.
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  return (await findSecret(db, name)) ?? value;
}

/** See {@link Store.removeSecrets}. */
export async function removeSecrets(db: Kysely<Database>, prefix: string, before: number): Promise<void> {
  await db
    .deleteFrom('relay_secrets')
    .where('name', 'like', `${prefix}%`)
    .where('created_at', '<', before)
    .execute();
}

async function findSecret(db: Kysely<Database>, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('relay_secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.value;
}
