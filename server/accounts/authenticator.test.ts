import assert from 'node:assert/strict';
import type { KeyEnd } from '../../shared/control.ts';
import { ApiError } from '../../shared/errors.ts';
import type { AccountRecord, KeyOwner, TunnelOrders } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount, aStore, aTunnel, type TestStore } from '../testing/fixtures.ts';
import { issueKey } from './accounts.ts';
import { generateKey } from './api-keys.ts';
import {
  ACCESS_BATCH,
  ACCESS_POLL_MS,
  AccessWatch,
  Authenticator,
  KEY_FIRST_USE_MS,
  KEY_USES_FLUSH_MS,
  KeyUses,
  KNOWN_KEYS_MAX,
  PolledAccessFeed,
  WRONG_KEYS_PER_MINUTE,
} from './authenticator.ts';
import { ADDRESS_LOOKUPS_AT_ONCE, ADDRESS_LOOKUPS_WAITING_MAX } from './credential-lookups.ts';

describe('Authenticator', () => {
  const account = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  let authenticator: Authenticator;
  let key: string;
  let keyId: string;
  let used: string[];
  const uses = { note: (id: string, isFirst = false) => void used.push(`${id}${isFirst ? ' first' : ''}`) };

  beforeEach(async () => {
    test = await aStore(account);
    used = [];
    clock = new FakeClock();
    authenticator = new Authenticator(test.store, clock, uses);
    const issued = await issueKey(test.store, new FakeClock(), account);
    [key, keyId] = [issued.key, issued.record.id];
  });

  async function refusal(authorization: string | undefined, address?: string): Promise<ApiError> {
    const error: unknown = await authenticator
      .authenticate(authorization, address)
      .catch((reason: unknown) => reason);
    return error instanceof ApiError ? error : assert.fail('the request was let in');
  }

  for (const scheme of ['Bearer ', 'bearer ', 'BEARER    ']) {
    it(`finds the account of a key behind "${scheme}"`, async () => {
      const owner = await authenticator.authenticate(`${scheme}${key}`);
      assert.deepEqual([owner.account, owner.keyId], [account, keyId]);
    });
  }

  for (const authorization of [undefined, '', 'Bearer', 'Bearer ', 'Basic eDp5', 'Bearercvt_', 'Bearer\tx']) {
    it(`treats ${JSON.stringify(authorization)} as a missing key`, async () => {
      const { status, message, headers } = await refusal(authorization);
      assert.deepEqual(
        [status, message, headers],
        [401, 'missing api key', { 'WWW-Authenticate': 'Bearer' }],
      );
    });
  }

  const WWW = { 'WWW-Authenticate': 'Bearer' };
  const INVALID = [401, 'invalid api key', WWW] as const;
  /** What happens before, what stands behind "Bearer", and the refusal. */
  for (const [what, before, given, refused] of [
    ['that does not exist', () => {}, generateKey, INVALID],
    ['that was revoked', () => test.store.revokeKey(keyId, 0), () => key, INVALID],
    [
      'of a suspended account, with the reason',
      () => test.store.setSuspension(account.name, 'unpaid'),
      () => key,
      [403, 'this account is suspended: unpaid', { 'Culvert-Error-Values': '{"reason":"unpaid"}' }],
    ],
    [
      'when the store fails',
      () => void (test.down = true),
      () => key,
      [503, 'service unavailable', { 'Retry-After': '1' }],
    ],
    ...['cvt_short', 'abc_', ' x', '!', `cvt_${'a'.repeat(201)}`].map(
      (malformed) =>
        [
          `that is malformed without querying the store: ${malformed.slice(0, 9)}`,
          () => void (test.down = true),
          () =>
            malformed.length > 4
              ? malformed
              : malformed === 'abc_'
                ? key.replace('cvt_', malformed)
                : key + malformed,
          INVALID,
        ] as const,
    ),
  ] as const)
    it(`refuses a key ${what}`, async () => {
      await before();
      const { status, message, headers } = await refusal(`Bearer ${given()}`);
      assert.deepEqual([status, message, headers], refused);
    });

  it('refuses a key from the moment it expires', async () => {
    const { key: shortLived } = await issueKey(test.store, clock, account, { ttl: 60 });
    clock.advance(59_999);
    await authenticator.authenticate(`Bearer ${shortLived}`);
    clock.advance(1);
    assert.equal((await refusal(`Bearer ${shortLived}`)).message, 'invalid api key');
  });

  it('reports used keys, but not wrong ones', async () => {
    await authenticator.authenticate(`Bearer ${key}`);
    await refusal(`Bearer ${generateKey()}`);
    await authenticator.authenticate(`Bearer ${key}`);
    assert.deepEqual(used, [`${keyId} first`, keyId]);
  });

  describe('after too many wrong keys from one address', () => {
    const HOME = '203.0.113.9';
    const wrong = () => refusal(`Bearer ${generateKey()}`, HOME);

    async function tooMany(): Promise<void> {
      for (let count = 0; count < WRONG_KEYS_PER_MINUTE; count += 1)
        assert.equal((await wrong()).status, 401);
    }

    it('refuses more than 30, until another is allowed, and does not count those of other addresses', async () => {
      await tooMany();
      const { status, message, headers } = await wrong();
      assert.deepEqual(
        [status, message, headers],
        [429, 'too many wrong api keys from this address', { 'Retry-After': '2' }],
      );
      assert.equal((await refusal(`Bearer ${generateKey()}`, '203.0.113.10')).status, 401);
      assert.equal((await refusal(`Bearer ${generateKey()}`)).status, 401);
      clock.advance(2000);
      assert.deepEqual([(await wrong()).status, (await wrong()).status], [401, 429]);
    });

    it('counts simultaneous ones', async () => {
      const all = await Promise.all(Array.from({ length: 100 }, wrong));
      assert.equal(all.filter(({ status }) => status === 401).length, WRONG_KEYS_PER_MINUTE);
    });

    it('accepts a right key that it has never seen', async () => {
      await tooMany();
      assert.equal((await authenticator.authenticate(`Bearer ${key}`, HOME)).keyId, keyId);
      await test.store.revokeKey(keyId, 0);
      assert.deepEqual([(await refusal(`Bearer ${key}`, HOME)).status, (await wrong()).status], [401, 429]);
    });

    it('does not count valid keys, nor any while the store fails', async () => {
      for (let count = 0; count < 2 * WRONG_KEYS_PER_MINUTE; count += 1) {
        const { key: another } = await issueKey(test.store, clock, account);
        await authenticator.authenticate(`Bearer ${another}`, HOME);
        test.down = true;
        assert.equal((await wrong()).status, 503);
        test.down = false;
      }
      assert.equal((await wrong()).status, 401);
    });

    it('looks up two at a time, lets 1,000 wait, and lets no known key wait for them', async () => {
      const looks: (() => void)[] = [];
      const store = {
        findKeyOwner: (hash: string) =>
          new Promise<KeyOwner>((resolve) => looks.push(() => resolve(ownerOf(hash)))),
      };
      authenticator = new Authenticator(store as Partial<Store> as Store, clock, uses);
      const keys = Array.from({ length: KNOWN_KEYS_MAX + 1 }, generateKey);
      const ask = async (one = '', from = HOME) => await authenticator.authenticate(`Bearer ${one}`, from);
      for (const one of keys) {
        const asked = ask(one);
        await settled();
        looks.pop()?.();
        await asked;
      }
      const flood = Array.from({ length: ADDRESS_LOOKUPS_AT_ONCE + ADDRESS_LOOKUPS_WAITING_MAX }, () =>
        ask(generateKey()),
      );
      assert.equal((await refusal(`Bearer ${generateKey()}`, HOME)).status, 503);
      await settled();
      assert.equal(looks.length, ADDRESS_LOOKUPS_AT_ONCE);
      // The first of the keys is no longer remembered.
      for (const [one, from, isAsked] of [
        [keys[0], HOME, 0],
        [keys[1], HOME, 1],
        [keys[0], '203.0.113.10', 1],
      ] as const) {
        const before: number = looks.length;
        void ask(one, from).catch(() => {});
        await settled();
        assert.equal(looks.length - before, isAsked, `${one} ${from}`);
      }
      while (looks.length > 0) {
        looks.shift()?.();
        await settled();
      }
      await Promise.all(flood);
    });
  });

  function ownerOf(hash: string): KeyOwner {
    return { account, keyId, hash, expiresAt: null, scope: { kind: 'all' }, label: '' };
  }
});

describe('KeyUses', () => {
  let clock: FakeClock;
  let told: [ids: readonly string[], at: number][];
  let isDown: boolean;
  let uses: KeyUses;
  let inUse: string[];
  const users = { keysInUse: () => inUse };

  beforeEach(() => {
    clock = new FakeClock(0);
    told = [];
    isDown = false;
    inUse = [];
    const markKeysUsed = (ids: readonly string[], at: number): Promise<void> => {
      if (isDown) return Promise.reject(new StoreError(new Error('down')));
      told.push([ids, at]);
      return Promise.resolve();
    };
    uses = new KeyUses({ markKeysUsed }, clock);
    uses.start(users);
  });

  it('writes to the store after 30 s, once for any number of uses, and not again', async () => {
    for (let count = 0; count < 1000; count += 1) uses.note('a');
    uses.note('b');
    clock.advance(KEY_USES_FLUSH_MS - 1);
    assert.deepEqual(told, []);
    clock.advance(1);
    await settled();
    assert.deepEqual(told, [[['a', 'b'], KEY_USES_FLUSH_MS]]);
    clock.advance(KEY_USES_FLUSH_MS);
    await settled();
    assert.equal(told.length, 1);
  });

  it('writes the first use of a key after 1 s, at most once a second for any number of keys', async () => {
    inUse = ['open'];
    for (const id of ['a', 'b']) uses.note(id, true);
    clock.advance(KEY_FIRST_USE_MS);
    await settled();
    assert.deepEqual(told, [[['a', 'b'], KEY_FIRST_USE_MS]]);
    uses.note('c', true);
    await uses.stop(users);
    assert.equal(told.length, 2);
    assert.equal(clock.pending, 0);
  });

  it('counts a key as used as long as anything that was opened with it is open', async () => {
    inUse = ['a'];
    for (let count = 0; count < 2; count += 1) {
      clock.advance(KEY_USES_FLUSH_MS);
      await settled();
    }
    assert.deepEqual(
      told.map(([ids]) => ids),
      [['a'], ['a']],
    );
  });

  it('retries after the store has failed, and writes the rest at the end', async () => {
    isDown = true;
    uses.note('a');
    clock.advance(KEY_USES_FLUSH_MS);
    await settled();
    isDown = false;
    uses.note('b');
    await uses.stop(users);
    assert.deepEqual(
      told.map(([ids]) => new Set(ids)),
      [new Set(['a', 'b'])],
    );
    assert.equal(clock.pending, 0);
  });
});

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

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
    (await watch.follow())();
    assert.deepEqual([revoked, logged], [[], []]);
    await test.store.revokeKey(gone, 0);
    (await watch.follow())();
    assert.deepEqual([revoked, logged], [[[gone, 'revoked']], ['keys revoked']]);
  });

  it('closes the sockets of an expired key', async () => {
    const { record } = await issueKey(test.store, clock, account, { ttl: 60 });
    keysInUse = [record.id];
    clock.advance(59_999);
    (await watch.follow())();
    assert.deepEqual(revoked, []);
    clock.advance(1);
    (await watch.follow())();
    assert.deepEqual(revoked, [[record.id, 'expired']]);
  });

  it("applies operators' actions on tunnels", async () => {
    const [closed, suspended] = [aTunnel(account.id), aTunnel(account.id)];
    for (const tunnel of [closed, suspended]) await test.store.insertTunnel(tunnel);
    assert.equal(await test.store.orderClose({ ...closed, heldUntil: 0 }, 5), true);
    assert.equal(await test.store.orderClose({ ...closed, heldUntil: 0 }, 5), false);
    assert.equal((await test.store.suspendTunnel(suspended.id, 'phishing'))?.tunnel.suspended, 'phishing');
    assert.equal(await test.store.suspendTunnel('unknown', 'phishing'), undefined);
    (await watch.follow())();
    const said = { closed: [closed.id], suspended: [{ id: suspended.id, reason: 'phishing' }] };
    assert.deepEqual(orders, [said]);
  });

  it('updates tunnels when the plan of their account has changed', async () => {
    accountIds = [account.id];
    await test.store.setPlan('acme', 'team');
    (await watch.follow())();
    assert.deepEqual(updated, [{ ...account, plan: 'team' }]);
  });

  it('ends the tunnels and sockets of a removed account', async () => {
    const key = await aKey();
    [keysInUse, accountIds] = [[key], [account.id, other.id]];
    await test.store.removeAccount('acme', 0);
    (await watch.follow())();
    assert.deepEqual([revoked, ended], [[[key, 'removed']], [account.id]]);
    assert.deepEqual(updated, [other]);
  });

  it('queries the store in batches', async () => {
    const key = await aKey();
    const unknown = Array.from({ length: 2 * ACCESS_BATCH }, (_, index) => `unknown-${index}`);
    keysInUse = [...unknown, key];
    (await watch.follow())();
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

  it('calls at the start, and then for each change, well within a second', async () => {
    assert.ok(2 * ACCESS_POLL_MS < 1000);
    assert.deepEqual([await look(), await look()], [1, 1]);
    revision = 8;
    assert.deepEqual([await look(), await look()], [2, 2]);
  });

  it('calls again when the call has failed', async () => {
    failing = true;
    assert.deepEqual([await look(), await look()], [1, 2]);
    failing = false;
    assert.deepEqual([await look(), await look()], [3, 3]);
  });

  it('continues after the store was down, and leaves no timer behind', async () => {
    revision = new StoreError('down');
    assert.equal(await look(), 0);
    revision = 7;
    assert.equal(await look(), 1);
    await feed.stop();
    assert.equal(clock.pending, 0);
  });
});
