import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { generateKey } from '../accounts/api-keys.ts';
import { storeOperations } from '../observe/counters.ts';
import type { Store } from '../store/store.ts';
import { anAccount, aStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { handOutFirstKey, observeStore, STORE_SLOW_MS } from './state-setup.ts';

describe('the first API key', () => {
  let folder: string;
  let shell: FakeShell;

  beforeEach(() => {
    folder = temporaryDirectory();
    shell = new FakeShell();
  });

  it('is shown on a terminal, and written nowhere', () => {
    const key = generateKey();
    handOutFirstKey(key, folder, { log: shell.log, tell: (line) => shell.err(line) });
    assert.deepEqual(shell.stderr, [`API key for the account "default", shown only now: ${key}`]);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('is written to a file in the data folder that only its owner can read, if there is no terminal', () => {
    const key = generateKey();
    const dataDir = join(folder, 'new');
    handOutFirstKey(key, dataDir, { log: shell.log, tell: undefined });
    const file = join(dataDir, 'first-key');
    assert.equal(readFileSync(file, 'utf8'), `${key}\n`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(shell.logged, [['first key made', { account: 'default', file }]]);
    assert.deepEqual(shell.stderr, []);
  });

  it('is not written through a link that was placed there', () => {
    const elsewhere = join(folder, 'elsewhere');
    writeFileSync(elsewhere, '', { mode: 0o644 });
    symlinkSync(elsewhere, join(folder, 'first-key'));
    handOutFirstKey(generateKey(), folder, { log: shell.log, tell: undefined });
    assert.equal(readFileSync(elsewhere, 'utf8'), '');
    assert.equal(statSync(join(folder, 'first-key')).mode & 0o777, 0o600);
  });

  it('fails the start with advice if the file cannot be written', () => {
    const dataDir = join(folder, 'file', 'below');
    writeFileSync(join(folder, 'file'), '');
    assert.throws(
      () => handOutFirstKey(generateKey(), dataDir, { log: shell.log, tell: undefined }),
      /first-key; .*CULVERT_DATA_DIR.*CULVERT_BOOTSTRAP_KEY/,
    );
    assert.deepEqual(shell.logged, []);
  });
});

function counted(operation: string): [count: number, failures: number] {
  const { seconds, failures } = storeOperations.get(operation) ?? { seconds: { count: 0 }, failures: 0 };
  return [seconds.count, failures];
}

describe('observeStore', () => {
  const clock = new FakeClock();
  let logged: unknown[];
  let store: Store;
  let test: Awaited<ReturnType<typeof aStore>>;

  beforeEach(async () => {
    logged = [];
    test = await aStore();
    store = observeStore(test.store, clock, (event, fields) => logged.push([event, fields]));
  });

  afterEach(() => test.store.close());

  it('counts each operation, and those that failed', async () => {
    const before = counted('findAccount');
    const account = anAccount({ name: 'acme' });
    await store.insertAccounts([account]);
    assert.deepEqual(await store.findAccount('acme'), account);
    test.down = true;
    await assert.rejects(store.findAccount('acme'));
    assert.deepEqual(counted('findAccount'), [before[0] + 2, before[1] + 1]);
    assert.deepEqual(logged, []);
  });

  it('does not count a violated constraint as a failure of the store', async () => {
    const account = anAccount();
    await store.insertAccounts([account]);
    const [, before] = counted('insertAccounts');
    await assert.rejects(store.insertAccounts([account]));
    assert.equal(counted('insertAccounts')[1], before);
  });

  it('reports slow operations, but not each of many', async () => {
    for (let i = 0; i < 3; i += 1) {
      const ping = store.ping();
      clock.advance(STORE_SLOW_MS);
      await ping;
    }
    assert.deepEqual(logged, [['store slow', { operation: 'ping', ms: STORE_SLOW_MS }]]);
  });
});
