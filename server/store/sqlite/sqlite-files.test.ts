import assert from 'node:assert/strict';
import {
  chownSync,
  copyFileSync,
  existsSync,
  renameSync,
  readdirSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { onPosix } from '../../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { allTunnels, anAccount, aTunnel } from '../../testing/fixtures.ts';
import { StoreError } from '../store-errors.ts';
import type { Store } from '../store.ts';
import { backUp } from './backup.ts';
import { openSqlite } from './open-sqlite.ts';
import { lockDatabase, type RelayLock } from './sqlite-files.ts';

describe('a database whose files have moved', () => {
  const account = anAccount();
  let folder: string;
  let path: string;
  let store: Store;

  beforeEach(async () => {
    folder = temporaryDirectory();
    path = join(folder, 'culvert.db');
    store = await openSqlite(path, () => {});
    await store.insertAccounts([account]);
  });

  afterEach(() => store.close());

  async function refused(why: RegExp): Promise<void> {
    const delta = { id: 'x', bytesIn: 1, bytesOut: 1, requests: 1, expiresAt: 0, termsRevision: 0 };
    for (const write of [store.insertTunnel(aTunnel(account.id)), store.addTraffic([delta])]) {
      await assert.rejects(write, (error) => error instanceof StoreError && why.test(String(error.cause)));
    }
    assert.deepEqual(await store.findAccount(account.name), account);
  }

  for (const [title, suffix, isReplaced, why] of [
    [
      'without culvert.db',
      '',
      false,
      /culvert\.db\S* is missing; put the original file back, or restart the relay/,
    ],
    [
      'without culvert.db-wal',
      '-wal',
      false,
      /culvert\.db\S* is missing; put the original file back, or restart/,
    ],
    [
      'when another file has replaced it',
      '',
      true,
      /culvert\.db was replaced; put the original file back, or/,
    ],
  ] as const)
    it(`accepts no writes ${title}, still reads, and recovers when it is back`, async () => {
      const aside = join(folder, 'aside');
      renameSync(path + suffix, aside);
      if (isReplaced) copyFileSync(aside, path);
      await refused(why);
      renameSync(aside, path + suffix);
      await store.insertTunnel(aTunnel(account.id));
      assert.equal((await allTunnels(store)).length, 1);
    });
});

describe('lockDatabase', () => {
  let folder: string;
  let locks: RelayLock[];

  beforeEach(() => {
    folder = temporaryDirectory();
    locks = [];
  });

  afterEach(() => {
    for (const taken of locks) taken.release();
  });

  function lock(...path: string[]): RelayLock {
    const taken = lockDatabase(join(folder, ...path));
    locks.push(taken);
    return taken;
  }

  it('creates the folder, and leaves the database to a program that opens it without a lock', async () => {
    lock('data', 'culvert.db');
    await (await openSqlite(join(folder, 'data', 'culvert.db'), () => {})).close();
    assert.ok(existsSync(join(folder, 'data', 'culvert.db')));
  });

  it('locks each database for one relay, until that releases it', () => {
    const first = lock('one.db');
    lock('two.db');
    locks.splice(locks.indexOf(first), 1);
    first.release();
    lock('one.db');
    // There is nothing to lock in memory.
    for (const taken of [lockDatabase(':memory:'), lockDatabase(':memory:')]) taken.release();
  });

  onPosix('is nothing that another user could take', () => {
    lock('culvert.db');
    assert.equal(statSync(join(folder, 'culvert.db.lock')).mode & 0o777, 0o600);
  });

  it('names the folder that cannot be used', () => {
    writeFileSync(join(folder, 'file'), '');
    assert.throws(() => lock('file', 'culvert.db'), /^Error: cannot lock the database .*culvert\.db$/);
  });

  onPosix('knows a database by any of its names', () => {
    symlinkSync(folder, `${folder}-other`);
    try {
      lock('culvert.db');
      assert.throws(
        () => lockDatabase(join(`${folder}-other`, 'culvert.db'), 0),
        /another relay is using the database .*culvert\.db; stop that relay first, or use a different database with/,
      );
    } finally {
      rmSync(`${folder}-other`);
    }
  });
});

describe('what root creates in the folder of a service', () => {
  let folder: string;

  beforeEach(() => {
    folder = temporaryDirectory();
    // Another user cannot give files away, and then its own are right.
    if (process.getuid?.() === 0) chownSync(folder, 65_534, 65_534);
  });

  onPosix('belongs to the service: the database, its lock and a copy', async () => {
    const path = join(folder, 'culvert.db');
    lockDatabase(path).release();
    const store = await openSqlite(path, () => {});
    await store.insertAccounts([anAccount()]);
    backUp(path, join(folder, 'copy.db'));
    const files = readdirSync(folder);
    const expected = owner(statSync(folder));
    for (const file of files) assert.equal(owner(statSync(join(folder, file))), expected, file);
    for (const file of ['culvert.db', 'culvert.db-wal', 'culvert.db.lock', 'copy.db'])
      assert.ok(files.includes(file), file);
    await store.close();
  });
});

function owner({ uid, gid }: Stats): string {
  return `${uid}:${gid}`;
}
