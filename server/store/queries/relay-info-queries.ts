/** Queries on what a serving relay tells the commands that share its database. */
import { read, write } from './operation.ts';

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
