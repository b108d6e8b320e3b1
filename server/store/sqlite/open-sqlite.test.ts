import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { onPosix } from '../../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { describeError } from '../../log.ts';
import { anAccount } from '../../testing/fixtures.ts';
import { StoreError } from '../store-errors.ts';
import type { Store } from '../store.ts';
import { openSqlite, SQLITE_CHECKPOINT_MS } from './open-sqlite.ts';
import { loadSqlite } from './sqlite-files.ts';

function modesOf(path: string): number[] {
  return ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix).mode & 0o777);
}

describe('openSqlite', () => {
  const { DatabaseSync } = loadSqlite();
  let folder: string;
  let path: string;
  let stores: Store[];

  beforeEach(() => {
    folder = temporaryDirectory();
    path = join(folder, 'data', 'culvert.db');
    stores = [];
  });

  afterEach(async () => {
    for (const store of stores) await store.close();
  });

  async function open(): Promise<Store> {
    const store = await openSqlite(path, () => {});
    stores.push(store);
    return store;
  }

  async function refusal(): Promise<string> {
    const error: unknown = await open().catch((reason: unknown) => reason);
    return error instanceof Error ? describeError(error) : assert.fail('it was opened');
  }

  onPosix(
    'creates the file in a folder only its own user can read, and closes files that others may read',
    async () => {
      await (await open()).insertAccounts([anAccount()]);
      assert.equal(statSync(join(folder, 'data')).mode & 0o777, 0o700);
      chmodSync(join(folder, 'data'), 0o755);
      for (const suffix of ['', '-wal', '-shm']) chmodSync(path + suffix, 0o644);
      await open();
      assert.deepEqual(modesOf(path), [0o600, 0o600, 0o600]);
    },
  );

  onPosix('creates files for the own user only in a folder that anyone can read', async () => {
    mkdirSync(join(folder, 'data'), { mode: 0o755 });
    await (await open()).insertAccounts([anAccount()]);
    assert.deepEqual(modesOf(path), [0o600, 0o600, 0o600]);
  });

  it('keeps what was stored, for several programs, even if they open it at the same moment as the first', async () => {
    const [first, second] = await Promise.all([open(), open()]);
    const account = anAccount();
    await first.insertAccounts([account]);
    for (const store of [second, await open()])
      assert.deepEqual(await store.findAccount(account.name), account);
  });

  it('keeps a write-ahead log, so that readers and writers do not wait for each other', async () => {
    await open();
    const database = new DatabaseSync(path);
    assert.deepEqual({ ...database.prepare('pragma journal_mode').get() }, { journal_mode: 'wal' });
    database.close();
  });

  it('waits while another program writes, without stopping this one, and still reads', async () => {
    const store = await open();
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    await store.ping();
    assert.equal(await store.hasKeys(), false);
    const account = anAccount();
    const written = store.insertAccounts([account]);
    // Timers still fire, so this one ends the wait.
    setTimeout(() => other.exec('commit'), 30);
    await written;
    assert.deepEqual(await store.findAccount(account.name), account);
    other.close();
  });

  it('refuses a database of another version', async () => {
    await open();
    const database = new DatabaseSync(path);
    database.exec('update schema_version set version = 99');
    database.close();
    assert.match(
      await refusal(),
      /another version of Culvert has created the database \(its schema is 99.*install that version/,
    );
  });

  it('explains what is wrong with a file that is not a database', async () => {
    path = join(folder, 'notes.txt');
    writeFileSync(path, 'this is a text file, and a rather long one at that. '.repeat(50));
    assert.match(await refusal(), /^cannot open the database .*notes\.txt: file is not a database$/);
  });

  it('logs that it has created a database, once', async () => {
    const log: string[] = [];
    for (const _ of [1, 2]) await (await openSqlite(path, (event) => log.push(event))).close();
    assert.deepEqual(log, ['database created']);
  });

  for (const [what, place, text] of [
    ['an empty file', () => writeFileSync(path, ''), /culvert\.db: the file is empty.*restore a backup/],
    [
      'a copy without tables',
      () => new DatabaseSync(path).exec('pragma journal_mode = wal'),
      /culvert\.db: the file is empty/,
    ],
    [
      'a link to nothing',
      () => symlinkSync(join(folder, 'away'), path),
      /it is a link to a file that does not exist/,
    ],
    [
      'a log alone',
      () => writeFileSync(`${path}-wal`, 'x'),
      /the file is missing, but .*culvert\.db-wal is there/,
    ],
  ] as const)
    it(`creates no database in place of ${what}, and changes no file`, async () => {
      mkdirSync(join(folder, 'data'));
      place();
      const before = readdirSync(join(folder, 'data')).sort();
      assert.match(await refusal(), text);
      assert.deepEqual(readdirSync(join(folder, 'data')).sort(), before);
    });

  it('has everything in its file a few seconds later, for a plain copy', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const store = await open();
      await store.insertAccounts([anAccount({ name: 'ann' })]);
      mock.timers.tick(SQLITE_CHECKPOINT_MS);
      await store.ping();
    } finally {
      mock.timers.reset();
    }
    const copy = join(folder, 'copy.db');
    copyFileSync(path, copy);
    const copied = await openSqlite(copy, () => {});
    stores.push(copied);
    assert.equal((await copied.findAccount('ann'))?.name, 'ann');
  });

  it('names the folder that cannot be created', async () => {
    writeFileSync(join(folder, 'file'), '');
    path = join(folder, 'file', 'culvert.db');
    assert.match(await refusal(), /^cannot open the database .*culvert\.db: /);
  });

  it('fails with a StoreError when it is closed under the store', async () => {
    const store = await openSqlite(path, () => {});
    await store.close();
    await assert.rejects(store.hasKeys(), StoreError);
  });
});
