import assert from 'node:assert/strict';
import type { KeyEnd } from '../../shared/control.ts';
import { ACCESS_BATCH, ACCESS_POLL_MS } from '../limits.ts';
import type { AccountRecord, TunnelOrders } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import { anAccount, aStore, aTunnel, type TestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { AccessWatch, PolledAccessFeed } from './account-watch.ts';
import { issueKey } from './accounts.ts';

describe('AccessWatch', () => {
  const account = anAccount({ name: 'acme', plan: 'dev' });
  const other = anAccount();
  let test: TestStore;
  let keysInUse: string[];
  let accountIds: string[];
  let revoked: [string, KeyEnd][];
  let updated: AccountRecord[];
  let ended: string[];
  let orders: TunnelOrders[];
  let logged: string[];
  let watch: AccessWatch;
  let clock: FakeClock;

  beforeEach(async () => {
    test = await aStore(account, other);
    clock = new FakeClock();
    [keysInUse, accountIds] = [[], []];
    [revoked, updated, ended, logged, orders] = [[], [], [], [], []];
    const keys = {
      keysInUse: () => keysInUse,
      revoke: (gone: ReadonlyMap<string, KeyEnd>) => void revoked.push(...gone),
    };
    const accounts = {
      accountIds: () => accountIds,
      updateAccount: (changed: AccountRecord) => void updated.push(changed),
      endAccount: (id: string) => void ended.push(id),
      followOrders: (said: TunnelOrders) => void orders.push(said),
    };
    watch = new AccessWatch(test.store, keys, accounts, clock, (event) => logged.push(event));
  });

  async function aKey(): Promise<string> {
    return (await issueKey(test.store, new FakeClock(), account)).record.id;
  }

  it('closes the sockets of revoked keys, and no others', async () => {
    const [gone, kept] = [await aKey(), await aKey()];
    keysInUse = [gone, kept];
    await watch.follow();
    assert.deepEqual([revoked, logged], [[], []]);
    await test.store.revokeKey(gone, 0);
    await watch.follow();
    assert.deepEqual([revoked, logged], [[[gone, 'revoked']], ['keys revoked']]);
  });

  it('closes the sockets of an expired key', async () => {
    const { record } = await issueKey(test.store, clock, account, { ttl: 60 });
    keysInUse = [record.id];
    clock.advance(59_999);
    await watch.follow();
    assert.deepEqual(revoked, []);
    clock.advance(1);
    await watch.follow();
    assert.deepEqual(revoked, [[record.id, 'expired']]);
  });

  it("applies operators' actions on tunnels", async () => {
    const [closed, suspended] = [aTunnel(account.id), aTunnel(account.id)];
    for (const tunnel of [closed, suspended]) await test.store.insertTunnel(tunnel);
    assert.equal(await test.store.orderClose({ ...closed, heldUntil: 0 }, 5), true);
    assert.equal(await test.store.orderClose({ ...closed, heldUntil: 0 }, 5), false);
    assert.equal((await test.store.suspendTunnel(suspended.id, 'phishing'))?.tunnel.suspended, 'phishing');
    assert.equal(await test.store.suspendTunnel('unknown', 'phishing'), undefined);
    await watch.follow();
    const said = { closed: [closed.id], suspended: [{ id: suspended.id, reason: 'phishing' }] };
    assert.deepEqual(orders, [said]);
  });

  it('updates tunnels when the plan of their account has changed', async () => {
    accountIds = [account.id];
    await test.store.setPlan('acme', 'team');
    await watch.follow();
    assert.deepEqual(updated, [{ ...account, plan: 'team' }]);
  });

  it('ends the tunnels and sockets of a removed account', async () => {
    const key = await aKey();
    [keysInUse, accountIds] = [[key], [account.id, other.id]];
    await test.store.removeAccount('acme', 0);
    await watch.follow();
    assert.deepEqual([revoked, ended], [[[key, 'removed']], [account.id]]);
    assert.deepEqual(updated, [other]);
  });

  it('queries the store in batches', async () => {
    const key = await aKey();
    const unknown = Array.from({ length: 2 * ACCESS_BATCH }, (_, index) => `unknown-${index}`);
    keysInUse = [...unknown, key];
    await watch.follow();
    assert.deepEqual(
      revoked,
      unknown.map((id) => [id, 'removed']),
    );
  });

  it('changes nothing while the store fails', async () => {
    [keysInUse, accountIds] = [['unknown'], ['unknown']];
    test.down = true;
    await assert.rejects(watch.follow(), StoreError);
    assert.deepEqual([revoked, ended], [[], []]);
  });
});

describe('PolledAccessFeed', () => {
  let clock: FakeClock;
  let revision: number | StoreError;
  let calls: number;
  let failing: boolean;
  let feed: PolledAccessFeed;

  beforeEach(() => {
    clock = new FakeClock();
    [revision, calls, failing] = [7, 0, false];
    const accessRevision = () =>
      typeof revision === 'number' ? Promise.resolve(String(revision)) : Promise.reject(revision);
    feed = new PolledAccessFeed({ accessRevision }, clock);
    feed.start(() => {
      calls += 1;
      return failing ? Promise.reject(new StoreError('down')) : Promise.resolve();
    });
  });

  afterEach(() => feed.stop());

  async function look(): Promise<number> {
    clock.advance(ACCESS_POLL_MS);
    // A check has ended when nothing of it is queued.
    await new Promise((resolve) => setImmediate(resolve));
    return calls;
  }

  it('calls at the start, and then for each change', async () => {
    assert.deepEqual([await look(), await look()], [1, 1]);
    revision = 8;
    assert.deepEqual([await look(), await look()], [2, 2]);
  });

  it('notices changes well within a second', () => {
    assert.ok(2 * ACCESS_POLL_MS < 1000);
  });

  it('calls again when the call has failed', async () => {
    failing = true;
    assert.deepEqual([await look(), await look()], [1, 2]);
    failing = false;
    assert.deepEqual([await look(), await look()], [3, 3]);
  });

  it('continues after the store was down', async () => {
    revision = new StoreError('down');
    assert.equal(await look(), 0);
    revision = 7;
    assert.equal(await look(), 1);
  });

  it('leaves no timer behind', async () => {
    await look();
    await feed.stop();
    assert.equal(clock.pending, 0);
  });
});
