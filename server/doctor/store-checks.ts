/** The database, and how old its last copy is. */
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { BACKUP_OLD_MS } from '../limits.ts';
import { describeError } from '../log.ts';
import { nameOfDatabase } from '../store/address.ts';
import { openStore } from '../store/open-store.ts';
import { OlderSchemaError } from '../store/migrate.ts';
import { lastBackup } from '../store/sqlite/backup.ts';
import { type Check, Fault, Skipped } from './check.ts';

/** Name of the check of the database. */
export const DATABASE = 'database';
const DAY_MS = 24 * 3_600_000;

export function storeChecks({ database }: Pick<Config, 'database'>, clock: Pick<Clock, 'now'>): Check[] {
  const name = nameOfDatabase(database);

  async function open(): Promise<string> {
    try {
      const store = await openStore(database, 'as-it-is', () => {});
      try {
        return `${name} answers, with ${(await store.listAccounts()).length} accounts`;
      } finally {
        await store.close();
      }
    } catch (error) {
      if (isOlder(error))
        throw new Skipped(
          `${describeError(error)}: this program is newer than the relay that serves. "culvert-relay serve" changes it at its start; back it up before`,
        );
      throw new Fault(
        describeError(error),
        'Give the settings of the relay (its relay.env, --data-dir or --database-url); only "culvert-relay serve" makes a database.',
        { cause: error },
      );
    }
  }

  function backup(): Promise<string> {
    if (database.kind !== 'sqlite') throw new Skipped('PostgreSQL does not say when it was copied last');
    const at = lastBackup(database.path);
    if (at === undefined)
      throw new Skipped('none was made with "culvert-relay backup FILE"; others cannot be known');
    const days = Math.floor((clock.now() - at) / DAY_MS);
    if (clock.now() - at <= BACKUP_OLD_MS) return Promise.resolve(`the last one was made ${days} days ago`);
    throw new Fault(
      `the last one was made ${days} days ago`,
      'Run "culvert-relay backup FILE" every day, and move the file to another machine.',
    );
  }

  return [
    { name: DATABASE, look: open },
    { name: 'backup', look: async () => await backup() },
  ];
}

/** Whether the database was not opened because it is that of an older version. */
function isOlder(error: unknown): boolean {
  return error instanceof Error && (error instanceof OlderSchemaError || isOlder(error.cause));
}
