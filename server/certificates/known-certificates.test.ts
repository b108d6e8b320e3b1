import assert from 'node:assert/strict';
import type { CertificateRecord } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { selfSigned } from '../testing/fake-authority.ts';
import { aChallenge, openTestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { certificateOf } from './acme-orders.ts';
import {
  CERTIFICATE_READS_MAX,
  CHALLENGE_LOOKUPS_MAX,
  CONTEXTS_MAX,
  KnownCertificates,
  PresentedChallenges,
} from './known-certificates.ts';

const DAY = 86_400_000;

describe('KnownCertificates', () => {
  let clock: FakeClock;
  let store: Store;
  let known: KnownCertificates;
  let pair: { readonly chain: string; readonly key: string };
  let now: number;

  before(async () => {
    now = new FakeClock().now();
    pair = await selfSigned('a.test', now, now + 90 * DAY);
  });

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openTestStore(() => {});
    known = new KnownCertificates(store, clock);
  });

  function aCertificate(name: string, given: Partial<CertificateRecord> = {}): CertificateRecord {
    return { ...certificateOf(name, pair, clock.now(), 0.5), ...given };
  }

  it('are renewed after two thirds of their life, or up to a fiftieth of it earlier', () => {
    assert.equal(certificateOf('a.test', pair, now, 0).renewAt, now + 60 * DAY);
    assert.equal(certificateOf('a.test', pair, now, 1).renewAt, now + (60 - 1.8) * DAY);
    assert.equal(certificateOf('a.test', pair, now, 1).notAfter, now + 90 * DAY);
  });

  it('cover their host, or all hosts below a domain, one label deep', async () => {
    await store.storeCertificate(aCertificate('a.test'), 0);
    await store.storeCertificate(aCertificate('*.b.test'), 0);
    await known.refresh();
    assert.equal(known.covering('a.test')?.name, 'a.test');
    assert.equal(known.covering('x.b.test')?.name, '*.b.test');
    for (const host of ['b.test', 'x.y.b.test', 'x.a.test', 'test'])
      assert.equal(known.covering(host), undefined, host);
  });

  it('include those that other relays have stored, also as replacements', async () => {
    await store.storeCertificate(aCertificate('a.test', { storedAt: 1000 }), 0);
    await known.refresh();
    const first = known.get('a.test');
    assert.ok(first && (await known.load(first)) && known.context(first));
    await store.storeCertificate(aCertificate('a.test', { storedAt: 900 }), 0);
    await known.refresh();
    const second = known.get('a.test');
    assert.equal(second?.storedAt, 900);
    assert.equal(second && known.context(second), undefined);
  });

  it('include those that others store after a clock that was ahead is corrected', async () => {
    await store.storeCertificate(aCertificate('a.test', { storedAt: clock.now() + DAY }), 0);
    await known.refresh();
    await store.storeCertificate(aCertificate('b.test'), 0);
    await known.refresh();
    assert.ok(known.get('b.test') !== undefined);
  });

  it('are not used after their end, and then removed', async () => {
    await store.storeCertificate(aCertificate('a.test'), 0);
    await known.refresh();
    clock.advance(90 * DAY);
    assert.equal(known.covering('a.test'), undefined);
    clock.advance(1);
    await known.removeEnded();
    assert.equal(known.size, 0);
    assert.equal(await store.findCertificate('a.test'), undefined);
  });

  it('are forgotten with their keys', async () => {
    const stored = aCertificate('a.test');
    known.add(stored, false);
    assert.ok((await known.load(stored)) && known.context(stored));
    known.forget('a.test');
    assert.deepEqual(
      [known.get('a.test'), known.context(stored), [...known.unstored]],
      [undefined, undefined, []],
    );
  });

  it('are read from the store once for simultaneous requests', async () => {
    await store.storeCertificate(aCertificate('a.test'), 0);
    let reads = 0;
    const counted: Store = {
      ...store,
      findCertificate: (name) => {
        reads += 1;
        return store.findCertificate(name);
      },
    };
    known = new KnownCertificates(counted, clock);
    await known.refresh();
    const summary = known.get('a.test');
    assert.ok(summary);
    await Promise.all([known.load(summary), known.load(summary), known.load(summary)]);
    assert.equal(reads, 1);
    assert.ok(known.context(summary));
  });

  it('are read 256 at a time', async () => {
    const summary = aCertificate('a.test');
    const held: (() => void)[] = [];
    const slow: Store = {
      ...store,
      findCertificate: () => new Promise((resolve) => held.push(() => resolve(undefined))),
    };
    known = new KnownCertificates(slow, clock);
    const reads = Array.from({ length: CERTIFICATE_READS_MAX + 1 }, (_, index) =>
      known.load({ ...summary, name: `n${index}.test` }),
    );
    assert.equal(held.length, CERTIFICATE_READS_MAX);
    for (const go of held) go();
    await Promise.all(reads);
  });

  it('are loaded for at most 2,000 names, the most recently used ones', async () => {
    const one = aCertificate('a.test');
    const many: Store = {
      ...store,
      findCertificate: (name) => Promise.resolve({ ...one, name }),
      certificateSummaries: () =>
        Promise.resolve(
          Array.from({ length: CONTEXTS_MAX + 1 }, (_, index) => ({ ...one, name: `n${index}.test` })),
        ),
    };
    known = new KnownCertificates(many, clock);
    await known.refresh();
    const summaries = [...known.all()];
    for (const summary of summaries.slice(0, CONTEXTS_MAX)) await known.load(summary);
    const [first, second] = summaries;
    const last = summaries.at(-1);
    assert.ok(first && second && last && known.context(first));
    await known.load(last);
    assert.ok(known.context(first));
    assert.equal(known.context(second), undefined);
  });
});

describe('PresentedChallenges', () => {
  const clock = new FakeClock();
  const challenge = aChallenge({ expiresAt: clock.now() + 1000 });
  let store: Store;

  beforeEach(async () => {
    store = await openTestStore(() => {});
  });

  it('are found by every relay until they are withdrawn, also by one that replaces a standalone one', async () => {
    for (const isAlone of [false, true]) {
      const here = new PresentedChallenges(store, clock, isAlone);
      const there = new PresentedChallenges(store, clock, false);
      await here.solver('http-01').present(challenge);
      for (const relay of [here, there]) assert.deepEqual(await relay.find('http-01', 'a.test'), [challenge]);
      assert.deepEqual(await there.find('tls-alpn-01', 'a.test'), []);
      assert.deepEqual([await there.all('http-01'), await there.all('dns-01')], [[challenge], []]);
      await here.solver('http-01').withdraw(challenge);
      for (const relay of [here, there]) assert.deepEqual(await relay.find('http-01', 'a.test'), []);
    }
  });

  it('need no store on a standalone relay', async () => {
    const failing = {
      ...store,
      putChallenge: fail,
      removeChallenge: fail,
      findChallenges: fail,
    };
    const alone = new PresentedChallenges(failing, clock, true);
    await alone.solver('dns-01').present({ ...challenge, type: 'dns-01' });
    assert.equal((await alone.find('dns-01', 'a.test')).length, 1);
    assert.deepEqual(await alone.find('dns-01', 'b.test'), []);
    assert.equal((await alone.all('dns-01')).length, 1);
    await alone.solver('dns-01').withdraw({ ...challenge, type: 'dns-01' });
    assert.deepEqual(await alone.all('dns-01'), []);
  });

  it('are looked up by only a few queries at a time, and not found while the store fails', async () => {
    let asked = 0;
    const find = (): Promise<never> => {
      asked += 1;
      return fail();
    };
    const relay = new PresentedChallenges({ ...store, findChallenges: find }, clock, false);
    const many = Array.from({ length: CHALLENGE_LOOKUPS_MAX + 5 }, () => relay.find('http-01', 'a.test'));
    assert.deepEqual((await Promise.all(many)).flat(), []);
    assert.equal(asked, CHALLENGE_LOOKUPS_MAX);
    await relay.find('http-01', 'a.test');
    assert.equal(asked, CHALLENGE_LOOKUPS_MAX + 1);
  });
});

function fail(): Promise<never> {
  return Promise.reject(new StoreError(new Error('away')));
}
