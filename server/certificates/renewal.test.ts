import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CertificateRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { openTestStore } from '../testing/fixtures.ts';
import type { Orders } from './acme-orders.ts';
import { KnownCertificates } from './known-certificates.ts';
import { CertificateRenewal } from './renewal.ts';

const HOUR = 3_600_000;

describe('CertificateRenewal', () => {
  let clock: FakeClock;
  let store: Store;
  let known: KnownCertificates;
  let ordered: string[];
  let stored: string[];
  let alive: Set<string>;
  let always: string[];
  let upkeep: CertificateRenewal;

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openTestStore(() => {});
    known = new KnownCertificates(store, clock);
    ordered = [];
    stored = [];
    alive = new Set(['relay.test', 'a.test']);
    always = [];
    const obtain: Orders['obtain'] = ({ subject }, cause, ignoreWait) => {
      ordered.push(`${subject} ${cause} ${ignoreWait ?? false}`);
      return Promise.resolve();
    };
    upkeep = new CertificateRenewal({
      own: 'relay.test',
      always: () => Promise.resolve(always),
      known,
      orders: {
        obtain,
        obtainFor: (_host, plan, cause, ignoreWait) => obtain(plan, cause, ignoreWait),
        store: ({ name }) => Promise.resolve(void stored.push(name)),
      },
      planFor: (subject) => Promise.resolve({ subject, solvers: [] }),
      mayHave: (name) => alive.has(name),
      looked: () => Promise.resolve(),
      clock,
    });
  });

  afterEach(() => upkeep.stop());

  function aCertificate(name: string, given: Partial<CertificateRecord> = {}): CertificateRecord {
    const now = clock.now();
    const times = { renewAt: now + 60 * HOUR, notAfter: now + 90 * HOUR, storedAt: now };
    return { name, chain: 'c', key: 'k', ...times, ...given };
  }

  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10_000) {
      clock.advance(Math.min(left, 10_000));
      for (let count = 0; count < 6; count += 1) await nextTurn();
    }
  }

  it('orders required certificates immediately, despite earlier failures, and again until they exist', async () => {
    await upkeep.start();
    assert.deepEqual(ordered, ['relay.test upkeep true']);
    await pass(10_000);
    assert.deepEqual(ordered.slice(1), ['relay.test upkeep false']);
    await store.storeCertificate(aCertificate('relay.test'), 0);
    await pass(30_000);
    assert.equal(ordered.length, 2);
  });

  it('orders required wildcards, as soon as there are any', async () => {
    for (const name of ['relay.test', 'a.test']) await store.storeCertificate(aCertificate(name), 0);
    await upkeep.start();
    always = ['*.t.test'];
    await pass(10_000);
    assert.deepEqual(ordered, ['*.t.test upkeep false']);
    await store.storeCertificate(aCertificate('*.t.test'), 0);
    await pass(30_000);
    assert.equal(ordered.length, 1);
  });

  it('renews certificates in time, but only needed ones', async () => {
    for (const name of ['relay.test', 'a.test', 'gone.test', '*.b.test'])
      await store.storeCertificate(aCertificate(name), 0);
    await upkeep.start();
    assert.deepEqual(ordered, []);
    clock.advance(60 * HOUR - 10_000);
    await pass(10_000);
    assert.deepEqual([...new Set(ordered)], ['a.test upkeep false', 'relay.test upkeep false']);
  });

  it('renews for a name that has returned, an hour later at most', async () => {
    await store.storeCertificate(aCertificate('relay.test'), 0);
    await store.storeCertificate(aCertificate('back.test', { renewAt: clock.now() }), 0);
    await upkeep.start();
    alive.add('back.test');
    await pass(10_000);
    assert.deepEqual(ordered, []);
    clock.advance(HOUR - 20_000);
    await pass(20_000);
    assert.deepEqual([...new Set(ordered)], ['back.test upkeep false']);
  });

  it('removes certificates that have ended', async () => {
    await store.storeCertificate(aCertificate('gone.test'), 0);
    await upkeep.start();
    clock.advance(90 * HOUR);
    await pass(20_000);
    assert.equal(await store.findCertificate('gone.test'), undefined);
  });

  it('retries once a minute to store rejected certificates', async () => {
    known.add(aCertificate('a.test'), false);
    await upkeep.start();
    assert.deepEqual(stored, ['a.test']);
    await pass(50_000);
    assert.equal(stored.length, 1);
    await pass(10_000);
    assert.equal(stored.length, 2);
  });
});
