/**
 * New databases that are up to date: migrating one takes a fifth of a relay's start, and the suites start hundreds. A
 * first start on nothing at all is what e2e/protocol/relay-program.test.ts and the suites about migrations test.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../../server/store/postgres/open-postgres.ts';
import { openSqlite } from '../../server/store/sqlite/open-sqlite.ts';
import { newDatabase } from './postgres.ts';
import { runScope, type Scope } from './scope.ts';

const FILE = 'culvert.db';

let template: Promise<Buffer> | undefined;
/** by the address of a database of the server */
const templates = new Map<string, Promise<string>>();

/** Puts a database without any accounts into the data directory of a relay that has not been started. */
export async function addDatabase(dataDirectory: string): Promise<void> {
  template ??= makeTemplate();
  writeFileSync(join(dataDirectory, FILE), await template, { mode: 0o600 });
}

async function makeTemplate(): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-template-'));
  try {
    const path = join(directory, FILE);
    await (await openSqlite(path, () => {})).close();
    return readFileSync(path);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * Creates a database without any accounts, which is dropped with the scope.
 *
 * @param url of any database of the server
 * @returns its address
 */
export async function newMigratedDatabase(scope: Scope, url: string): Promise<string> {
  const made = templates.get(url) ?? makeTemplateAt(url);
  templates.set(url, made);
  return await newDatabase(scope, url, await made);
}

/** @returns its address */
async function makeTemplateAt(server: string): Promise<string> {
  const url = await newDatabase(runScope, server);
  await (await openPostgres({ kind: 'postgres', url }, () => {})).close();
  return url;
}
