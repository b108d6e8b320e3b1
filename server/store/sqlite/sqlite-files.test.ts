import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allTunnels, anAccount, aTunnel } from '../../testing/fixtures.ts';
import { StoreError } from '../store-errors.ts';
import type { Store } from '../store.ts';
import { openSqlite } from './open-sqlite.ts';

describe('a database whose files have moved', () => {
  const account = anAccount();
  let folder: string;
  let path: string;
  let store: Store;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
    path = join(folder, 'culvert.db');
    store = await openSqlite(path, () => {});
    await store.insertAccount(account);
  });

  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });

  async function refused(why: RegExp): Promise<void> {
    const delta = { id: 'x', bytesIn: 1, bytesOut: 1, requests: 1, expiresAt: 0, termsRevision: 0 };
    for (const write of [store.insertTunnel(aTunnel(account.id)), store.addTraffic([delta])]) {
      await assert.rejects(write, (error) => error instanceof StoreError && why.test(String(error.cause)));
    }
    assert.deepEqual(await store.findAccount(account.name), account);
  }

  for (const suffix of ['', '-wal']) {
    it(`accepts no writes without culvert.db${suffix}, still reads, and recovers when it is back`, async () => {
      renameSync(path + suffix, join(folder, 'aside'));
      await refused(/culvert\.db\S* is missing; put the original file back, or restart the relay/);
      renameSync(join(folder, 'aside'), path + suffix);
      await store.insertTunnel(aTunnel(account.id));
      assert.equal((await allTunnels(store)).length, 1);
    });
  }

  it('accepts no writes when another file has replaced it', async () => {
    renameSync(path, join(folder, 'aside'));
    copyFileSync(join(folder, 'aside'), path);
    await refused(/culvert\.db was replaced; put the original file back, or restart the relay/);
    renameSync(join(folder, 'aside'), path);
    await store.insertTunnel(aTunnel(account.id));
    assert.equal((await allTunnels(store)).length, 1);
  });
});
