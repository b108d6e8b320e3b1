import assert from 'node:assert/strict';
import { aChallenge, ofEach, useStore } from '../testing/fixtures.ts';
import type { OrderBegin } from './queries/certificate-queries.ts';
import type { CertificateRecord } from './records.ts';

const HOUR = 3_600_000;
const DIRECTORY = 'https://authority.test/dir';

function begin(given: Partial<OrderBegin> = {}): OrderBegin {
  const attempt = String(Math.random());
  return {
    name: 'a.test',
    attempt,
    now: 1000,
    heldUntil: 1100,
    perHour: 3,
    account: null,
    beyondFirst: 3,
    ignoreWait: false,
    ...given,
  };
}

/** One of an account's. */
function ofAccount(account: string, now: number): OrderBegin {
  return begin({ name: `${account}-${now}.test`, account, now, perHour: 5, beyondFirst: 3 });
}

function aCertificate(given: Partial<CertificateRecord> = {}): CertificateRecord {
  return { name: 'a.test', chain: 'c', key: 'k', renewAt: 5000, notAfter: 9000, storedAt: 1000, ...given };
}

describe('certificates in the store', () => {
  const store = useStore();

  beforeEach(async () => {
    await store.acmeAccount({ directory: DIRECTORY, key: 'first', url: null }, 0);
  });

  it('have one account per authority, which another relay may have created already', async () => {
    const found = await store.acmeAccount({ directory: DIRECTORY, key: 'second', url: null }, 0);
    assert.deepEqual(found, { directory: DIRECTORY, key: 'first', url: null });
    await store.setAcmeAccount({ directory: DIRECTORY, key: 'first', url: 'https://authority.test/1' });
    const again = await store.acmeAccount({ directory: DIRECTORY, key: 'third', url: null }, 0);
    assert.equal(again.url, 'https://authority.test/1');
  });

  it('are found by name, only the newest of each', async () => {
    await store.storeCertificate(aCertificate(), 0);
    const renewed = aCertificate({ chain: 'c2', storedAt: 2000, renewAt: 6000, notAfter: 10_000 });
    await store.storeCertificate(renewed, 0);
    assert.deepEqual(await store.findCertificate('a.test'), renewed);
    assert.equal(await store.findCertificate('b.test'), undefined);
    const { chain: _chain, key: _key, ...summary } = renewed;
    assert.deepEqual(await store.certificateSummaries(2000), [summary]);
    assert.deepEqual(await store.certificateSummaries(2001), []);
  });

  it('are removed after their expiry', async () => {
    await store.storeCertificate(aCertificate(), 0);
    await store.storeCertificate(aCertificate({ name: 'b.test', notAfter: 9001 }), 0);
    assert.deepEqual(await store.removeCertificates(9001), ['a.test']);
    assert.deepEqual(ofEach(await store.certificateSummaries(0), 'name'), ['b.test']);
  });

  it('are ordered by only one of several relays that begin at the same moment', async () => {
    const turns = await Promise.all(Array.from({ length: 5 }, () => store.beginOrder(begin())));
    assert.deepEqual(turns.map(({ kind }) => kind).sort(), ['begun', 'held', 'held', 'held', 'held']);
  });

  it('are not ordered again by a relay that asks while the certificate is being stored', async () => {
    for (const index of Array.from({ length: 100 }).keys()) {
      const order = (): OrderBegin => begin({ name: `${index}.test`, perHour: 1000, beyondFirst: 1000 });
      await store.beginOrder(order());
      const storing = store.storeCertificate(aCertificate({ name: `${index}.test` }), 0);
      const turns = await Promise.all(Array.from({ length: 10 }, () => store.beginOrder(order())));
      await storing;
      for (const { kind } of turns) assert.notEqual(kind, 'begun');
    }
  });

  const begun = { kind: 'begun', failures: 0 };
  const again = { kind: 'begun', failures: 2 };
  /** What happens after the first order, and what further ones get. */
  for (const [what, act, orders] of [
    [
      'by one relay at a time',
      () => Promise.resolve(),
      [
        [{}, { kind: 'held', until: 1100 }],
        [{ name: 'b.test' }, begun],
        [{ now: 1100, heldUntil: 1200 }, begun],
      ],
    ],
    [
      'only once there is none that is not due for renewal',
      () => store.storeCertificate(aCertificate({ renewAt: 1500 }), 0),
      [
        [{}, { kind: 'stored' }],
        [{ now: 1500 }, begun],
      ],
    ],
    [
      'again after a failure only when they are due',
      () => store.failOrder('a.test', 2, 3000),
      [[{ now: 2999 }, { kind: 'wait', until: 3000, cause: 'failed' }]],
    ],
    [
      'again immediately if a failure is to be ignored',
      () => store.failOrder('a.test', 2, 3000),
      [[{ now: 2999, ignoreWait: true }, again]],
    ],
    [
      'after a failure that is in the future since the clock was set back',
      () => store.failOrder('a.test', 2, 24 * HOUR),
      [[{ now: 1100 }, again]],
    ],
    ['again by a single relay that was restarted', () => store.releaseOrders(), [[{}, begun]]],
  ] as readonly [string, () => Promise<unknown>, [Partial<OrderBegin>, object][]][])
    it(`are ordered ${what}`, async () => {
      assert.deepEqual(await store.beginOrder(begin()), begun);
      await act();
      for (const [order, turn] of orders) assert.deepEqual(await store.beginOrder(begin(order)), turn);
    });

  it('are ordered a limited number of times per hour, over all names', async () => {
    for (const name of ['a.test', 'b.test']) await store.beginOrder(begin({ name }));
    const further = await store.beginFurtherOrder(begin({ name: 'b.test', now: 1050 }));
    assert.equal(further.kind, 'begun');
    const full = { kind: 'wait', until: 1000 + HOUR, cause: 'limit' };
    assert.deepEqual(await store.beginOrder(begin({ name: 'c.test', now: 1060 })), full);
    assert.deepEqual(await store.beginFurtherOrder(begin({ now: 1060 })), full);
    const later = begin({ name: 'c.test', now: 1000 + HOUR });
    assert.equal((await store.beginOrder(later)).kind, 'begun');
  });

  it('are ordered once per hour and account, and more often only while few were ordered for all accounts', async () => {
    await store.beginOrder(begin({ now: 990, perHour: 5 }));
    for (const [account, now] of [
      ['ann', 1000],
      ['ann', 1010],
      ['bob', 1020],
    ] as const)
      assert.equal((await store.beginOrder(ofAccount(account, now))).kind, 'begun');
    const full = { kind: 'wait', until: 1000 + HOUR, cause: 'limit' };
    for (const account of ['ann', 'bob'])
      assert.deepEqual(await store.beginOrder(ofAccount(account, 1030)), full);
    assert.deepEqual(await store.beginFurtherOrder(ofAccount('bob', 1030)), full);
    assert.equal((await store.beginOrder(ofAccount('eve', 1040))).kind, 'begun');
    assert.deepEqual(await store.beginOrder(ofAccount('joe', 1050)), { ...full, until: 990 + HOUR });
    assert.equal((await store.beginOrder(ofAccount('joe', 990 + HOUR))).kind, 'begun');
    assert.equal((await store.beginOrder(ofAccount('ann', 1020 + HOUR))).kind, 'begun');
  });

  it('wait at most an hour after the clock was set back', async () => {
    await store.beginOrder(begin({ now: 50 * HOUR, heldUntil: 0, perHour: 1 }));
    const turn = await store.beginOrder(begin({ now: 1000, perHour: 1 }));
    assert.deepEqual(turn, { kind: 'wait', until: 1000 + HOUR, cause: 'limit' });
  });
});

describe('challenges in the store', () => {
  const store = useStore();

  it('are found by type and host until they expire, even several per host', async () => {
    const both = [aChallenge(), aChallenge({ token: 'u' })];
    for (const challenge of both) await store.putChallenge(challenge, 1000);
    await store.putChallenge(aChallenge({ token: 'v', type: 'dns-01' }), 1000);
    await store.putChallenge(aChallenge({ token: 'w', host: 'b.test' }), 1000);
    assert.deepEqual(await store.findChallenges('http-01', 1999, 'a.test'), both);
    assert.deepEqual(await store.findChallenges('http-01', 2000, 'a.test'), []);
  });

  it('are gone once they are removed or restarted', async () => {
    await store.putChallenge(aChallenge(), 1000);
    await store.putChallenge(aChallenge({ token: 'u' }), 1000);
    await store.removeChallenge('t');
    assert.equal((await store.findChallenges('http-01', 1000, 'a.test')).length, 1);
    await store.releaseOrders();
    assert.deepEqual(await store.findChallenges('http-01', 1000, 'a.test'), []);
  });
});
