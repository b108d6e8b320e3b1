/** Moves all data of a store from one database to another, as a whole or not at all. */
import { sql } from 'kysely';
import { markMoved } from './database-address.ts';
import { type Db, TRANSFER_BATCH } from './queries/operation.ts';
import type { Database } from './records.ts';
import { MOVING } from './schema.ts';

/** Rows of each table. */
export type TableCounts = Readonly<Record<string, number>>;

/** The database that everything is moved to. */
interface TransferTarget {
  /** with the schema of this version and nothing in it */
  readonly db: Db;
  /** as people know it */
  readonly name: string;
  /** wall time in ms */
  readonly now: number;
}

/**
 * @param from read at one moment; it keeps its rows and records where they were moved
 * @returns how many rows each table has now, in both
 * @throws Error with a text for the operator, and nothing copied
 */
export function transfer(from: Db, { db: to, name, now }: TransferTarget): Promise<TableCounts> {
  return from.transaction().execute(async (source) => {
    const moved = await to.transaction().execute(async (target) => {
      await mustBeEmpty(target);
      for (const each of MOVING)
        for await (const rows of rowsOf(source, each))
          await target.insertInto(each.table).values(rows).execute();
      const { revision } = await source
        .selectFrom('access_revision')
        .select('revision')
        .executeTakeFirstOrThrow();
      await target.updateTable('access_revision').set({ revision }).execute();
      const counts = await countRows(target);
      mustBeSame(await countRows(source), counts);
      return counts;
    });
    await markMoved(source, name, now);
    return moved;
  });
}

async function mustBeEmpty(target: Db): Promise<void> {
  const used = Object.entries(await countRows(target)).find(([, count]) => count > 0);
  if (used === undefined) return;
  throw new Error(`it is not empty (${used[0]} has ${used[1]} rows); create a new database for it`);
}

/** Reads the rows of a table in batches, in the order of its key. */
export async function* rowsOf<Table extends keyof Database>(
  db: Db,
  { table, key }: { readonly table: Table; readonly key: string },
): AsyncGenerator<Database[Table][]> {
  const column = sql.ref<string>(key);
  let last = '';
  for (;;) {
    const rows = await db
      .selectFrom<keyof Database>(table)
      .selectAll()
      .where(column, '>', last)
      .orderBy(column)
      .limit(TRANSFER_BATCH)
      .execute();
    const end = rows.at(-1);
    if (end === undefined) return;
    yield rows as unknown as Database[Table][];
    last = Reflect.get(end, key) as string;
  }
}

async function countRows(db: Db): Promise<TableCounts> {
  const counts: Record<string, number> = {};
  for (const { table } of MOVING) {
    const { count } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    counts[table] = count;
  }
  return counts;
}

function mustBeSame(source: TableCounts, target: TableCounts): void {
  for (const [table, count] of Object.entries(source)) {
    if (count === target[table]) continue;
    throw new Error(`${table} has ${count} rows in one and ${target[table]} in the other; nothing was kept`);
  }
}
