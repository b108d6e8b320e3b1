/**
 * How the operator gets the first API key (docs/operating.md): a terminal shows it. Otherwise stderr may lead to a journal or
 * a log collector, which keeps what it gets and shows it to others, so the key goes to a file.
 */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../store/sqlite/folder.ts';
import type { Operator } from './operator.ts';

const FILE_NAME = 'first-key';

/** @throws Error with a text for the operator when the file cannot be written */
export function handOutFirstKey(
  key: string,
  dataDir: string,
  { log, tell }: Pick<Operator, 'log' | 'tell'>,
): void {
  if (tell !== undefined) {
    log('first key made', { account: 'default' });
    tell(`API key for the account "default", shown only now: ${key}`);
    return;
  }
  const file = join(dataDir, FILE_NAME);
  try {
    makeFolder(dataDir);
    // A file that is there, from an earlier relay or from somebody else, must not decide who may read the new one.
    rmSync(file, { force: true });
    writeNew(file, `${key}\n`);
  } catch (error) {
    throw new Error(
      `the first API key cannot be written to ${file}; choose another folder with CULVERT_DATA_DIR, or give a key with CULVERT_BOOTSTRAP_KEY`,
      { cause: error },
    );
  }
  log('first key made', { account: 'default', file });
}

/** Writes a file that must not exist yet, for its owner only. It is on the disk when this returns. */
function writeNew(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
