import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import { lockDatabase } from '../store/sqlite/relay-lock.ts';
import type { Store } from '../store/store.ts';
import { aKeyRecord, aLink, anAccount, aTunnel } from '../testing/fixtures.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { main } from './main.ts';

describe('culvert-relay backup and restore', () => {
  const account = anAccount({ name: 'before' });
  let folder: string;
  let database: string;
  let file: string;
  let shell: FakeShell;
  let store: Store;

  beforeEach(async () => {
    shell = new FakeShell();
    folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
    shell.env['CULVERT_DATA_DIR'] = folder;
    database = join(folder, 'culvert.db');
    file = join(folder, 'copy.db');
    store = await openSqlite(database, () => {});
    await store.insertAccount(account);
    for (const id of ['kept', 'revoked']) await store.insertKey(aKeyRecord({ id, accountId: account.id }));
  });

  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });

  async function run(...argv: string[]): Promise<number> {
    return await main(shell, argv, () => assert.fail('no relay should start'));
  }

  async function names(): Promise<string[]> {
    const again = await openSqlite(database, () => {});
    const accounts = await again.listAccounts();
    await again.close();
    return accounts.map(({ name }) => name);
  }

  it('copy the database while it is in use, for its owner only, and put it back', async () => {
    assert.equal(await run('backup', file), 0, shell.stderr.join());
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await store.insertAccount(anAccount({ name: 'after' }));
    await store.close();
    assert.equal(await run('restore', file, '--json'), 0, shell.stderr.join());
    const { kept } = JSON.parse(shell.stdout.at(-1) ?? '') as { kept: string };
    assert.deepEqual(await names(), ['before']);
    const replaced = await openSqlite(kept, () => {});
    assert.equal((await replaced.listAccounts()).length, 2);
    await replaced.close();
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('.part')),
      [],
    );
    store = await openSqlite(database, () => {});
  });

  it('keep keys revoked that were revoked since the copy', async () => {
    await run('backup', file);
    await store.revokeKey('revoked', 5);
    await store.close();
    assert.equal(await run('restore', file), 0, shell.stderr.join());
    assert.match(shell.stdout.join('\n'), /^1 keys that were revoked since then stay revoked\.$/m);
    store = await openSqlite(database, () => {});
    assert.deepEqual(await store.findEndedKeys(['kept', 'revoked'], 10), [{ id: 'revoked', end: 'revoked' }]);
  });

  it('leave the secrets of cookies and links out of the copy, and keep those that there are', async () => {
    const secrets = ['pass 1', 'links 1', 'session tickets 1', 'dns zones'];
    const before: string[] = [];
    for (const name of secrets) before.push(await store.relaySecret(name, 1));
    const tunnel = aTunnel(account.id);
    await store.insertTunnel(tunnel);
    await store.insertLink(aLink(tunnel.id), { maxLinks: 1, maxRevoked: 1 });
    await run('backup', file);
    const bytes = readFileSync(file);
    assert.deepEqual(
      before.map((secret) => bytes.includes(secret)),
      [false, false, false, true],
    );
    await store.close();
    assert.equal(await run('restore', file), 0, shell.stderr.join());
    store = await openSqlite(database, () => {});
    for (const [index, name] of secrets.entries())
      assert.equal(await store.relaySecret(name, 1), before[index]);
    assert.equal((await store.linksOf(tunnel.id, 1000)).length, 1);
    await store.close();
    rmSync(database);
    assert.equal(await run('restore', file), 0, shell.stderr.join());
    assert.match(shell.stdout.join('\n'), /^1 signed link no longer works: /m);
    store = await openSqlite(database, () => {});
    assert.deepEqual(await store.linksOf(tunnel.id, 1000), []);
    assert.notEqual(await store.relaySecret('links 1', 1), before[1]);
  });

  it('put a copy where there is no database', async () => {
    await run('backup', file);
    await store.close();
    rmSync(database);
    assert.equal(await run('restore', file), 0, shell.stderr.join());
    assert.deepEqual(await names(), ['before']);
    store = await openSqlite(database, () => {});
  });

  it('change nothing while a relay uses the database, or with a file that is none', async () => {
    await run('backup', file);
    const lock = lockDatabase(database);
    assert.equal(await run('restore', file), 1);
    assert.match(shell.stderr.at(-1) ?? '', /nothing was restored: another relay uses the database/);
    lock.release();
    const broken = join(folder, 'broken');
    writeFileSync(broken, 'no database at all, but some text that is long enough to look like one');
    assert.equal(await run('restore', broken), 1);
    assert.match(shell.stderr.at(-1) ?? '', /nothing was restored: .*not a database/);
    assert.equal(await run('restore', join(folder, 'missing')), 1);
    assert.equal((await store.listAccounts()).length, 1);
  });

  it('overwrite no file, and say what they take', async () => {
    await run('backup', file);
    assert.equal(await run('backup', file), 1);
    assert.match(shell.stderr.at(-1) ?? '', /is there already; choose another name$/);
    assert.equal(await run('backup'), 2);
    shell.env['CULVERT_DATA_DIR'] = join(folder, 'elsewhere');
    assert.equal(await run('backup', join(folder, 'x')), 1);
    assert.match(shell.stderr.at(-1) ?? '', /there is no database/);
    shell.env['CULVERT_DATABASE_URL'] = 'postgres://ann@db/culvert';
    assert.equal(await run('backup', join(folder, 'x')), 2);
    assert.match(shell.stderr.at(-1) ?? '', /for PostgreSQL there is pg_dump$/);
  });
});
