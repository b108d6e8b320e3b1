import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { LogEvent, LogFields } from '../log.ts';
import { ORDER_RETRY_MAX_MS } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { FakeAuthority } from '../testing/fake-authority.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ofEach, openTestStore } from '../testing/fixtures.ts';
import {
  AUTHORITY_RETRY_MAX_MS,
  AUTHORITY_RETRY_MS,
  type Cause,
  ORDER_RETRY_MS,
  Orders,
  ORDERS_AT_ONCE,
  REFUSED_NAMES_MAX,
} from './acme-orders.ts';
import { AcmeAccount } from './acme/order.ts';
import { AcmeSession } from './acme/session.ts';
import type { Plan } from './challenge-solver.ts';
import { KnownCertificates, PresentedChallenges } from './known-certificates.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('Orders', () => {
  let clock: FakeClock;
  let store: Store;
  let authority: FakeAuthority;
  let known: KnownCertificates;
  let orders: Orders;
  let logged: [LogEvent, LogFields | undefined][];
  let perHour: number;
  let gone: Set<string>;

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openTestStore(() => {});
    authority = new FakeAuthority(() => clock.now());
    perHour = 20;
    gone = new Set();
    logged = [];
    orders = await relay();
  });

  const log = (event: LogEvent, fields?: LogFields): void => void logged.push([event, fields]);

  async function relay(of: Store = store): Promise<Orders> {
    const session = new AcmeSession(authority, authority.directory);
    const account = new AcmeAccount(
      of,
      session,
      { directory: authority.directory, email: 'a@relay.test' },
      clock,
    );
    await account.ensure();
    known = new KnownCertificates(of, clock);
    return new Orders({
      store: of,
      known,
      session,
      account,
      isServed: (name) => !gone.has(name),
      perHour,
      clock,
      log,
    });
  }

  function planFor(subject: string): Plan {
    const challenges = new PresentedChallenges(store, clock, false);
    return { subject, solvers: [challenges.solver('tls-alpn-01'), challenges.solver('http-01')] };
  }

  /**
   * Advances the clock until the work is done. Keys are generated in threads in the meantime, so the clock runs at
   * most a hundred times as fast as the machine's: an order is reserved for only 4 minutes.
   */
  async function done(work: Promise<unknown>): Promise<void> {
    const state = { isDone: false };
    void work.finally(() => (state.isDone = true));
    while (!state.isDone) {
      await delay(1);
      if (clock.pending > 0) clock.advance(100);
    }
  }

  function obtain(name = 'a.test', cause: Cause = 'visitor'): Promise<void> {
    return done(orders.obtain(planFor(name), cause));
  }

  function ofAccount(name: string, account: string): Promise<void> {
    return done(orders.obtain({ ...planFor(name), account }, 'visitor'));
  }

  function failures(): unknown[] {
    return logged.filter(([event]) => event === 'certificate order failed').map(([, fields]) => fields);
  }

  it('obtain a certificate, store it, and order no other', async () => {
    await obtain();
    assert.ok(known.get('a.test') !== undefined);
    assert.ok((await store.findCertificate('a.test')) !== undefined);
    await obtain();
    assert.equal(authority.orders, 1);
  });

  it('store nothing for a domain that was removed in the meantime', async () => {
    authority.finds = (_type) => {
      gone.add('a.test');
      return true;
    };
    await obtain();
    assert.equal(authority.orders, 1);
    assert.equal(known.get('a.test'), undefined);
    assert.equal(await store.findCertificate('a.test'), undefined);
    assert.equal(failures().length, 1);
  });

  it('are not placed without a solver, and do not count as failures', async () => {
    await done(orders.obtain({ subject: '*.a.test', solvers: [] }, 'upkeep', true));
    assert.equal(authority.orders, 0);
    assert.deepEqual(logged, []);
    await done(orders.obtain({ ...planFor('*.a.test') }, 'upkeep'));
    assert.equal(authority.orders, 1);
  });

  it('are shared by simultaneous requests for a name', async () => {
    await Promise.all([obtain(), obtain(), obtain()]);
    assert.equal(authority.orders, 1);
  });

  it('are shared by all relays, which then also have the certificate', async () => {
    const other = await relay();
    const knownToOther = known;
    await Promise.all([
      done(orders.obtain(planFor('a.test'), 'visitor')),
      done(other.obtain(planFor('a.test'), 'visitor')),
    ]);
    assert.equal(authority.orders, 1);
    await knownToOther.refresh();
    assert.ok(knownToOther.get('a.test') !== undefined);
  });

  it('try the second solver if the first proves nothing, and start with that one the next time', async () => {
    const tried: string[] = [];
    authority.finds = (type) => {
      tried.push(type);
      return type === 'http-01';
    };
    await obtain();
    await obtain('b.test');
    assert.deepEqual(tried, ['tls-alpn-01', 'http-01', 'http-01']);
    assert.equal(authority.orders, 3);
  });

  it('wait 3 minutes after a failure, twice as long after each, half a day at most', async () => {
    authority.finds = () => false;
    perHour = 1000;
    orders = await relay();
    for (const wait of [ORDER_RETRY_MS, 2 * ORDER_RETRY_MS, 4 * ORDER_RETRY_MS]) {
      const before = authority.orders;
      await obtain();
      assert.equal(authority.orders, before + 2);
      clock.advance(wait - 1000);
      await obtain();
      assert.equal(authority.orders, before + 2);
      clock.advance(1000);
    }
    await store.failOrder('a.test', 30, 0);
    await obtain();
    clock.advance(ORDER_RETRY_MAX_MS);
    authority.finds = () => true;
    await obtain();
    assert.ok(known.get('a.test') !== undefined);
  });

  it('remember failures across a restart', async () => {
    authority.finds = () => false;
    await obtain();
    orders = await relay();
    await obtain();
    assert.equal(authority.orders, 2);
    await done(orders.obtain(planFor('a.test'), 'upkeep', true));
    assert.equal(authority.orders, 4);
  });

  it('pause for an authority that does not work, for 10 s, twice as long each time, an hour at most', async () => {
    authority.isDown = true;
    perHour = 1000;
    orders = await relay();
    let asked = 0;
    const send = authority.send.bind(authority);
    authority.send = (url, body) => {
      asked += 1;
      return send(url, body);
    };
    for (const wait of [AUTHORITY_RETRY_MS, 2 * AUTHORITY_RETRY_MS, 4 * AUTHORITY_RETRY_MS]) {
      const before = asked;
      await obtain();
      assert.equal(asked, before + 1);
      clock.advance(wait - 500);
      await obtain('b.test');
      assert.equal(asked, before + 1);
      clock.advance(500);
    }
    for (let count = 0; count < 10; count += 1) {
      await obtain();
      clock.advance(AUTHORITY_RETRY_MAX_MS);
    }
    authority.isDown = false;
    await obtain();
    assert.ok(known.get('a.test') !== undefined);
  });

  it("start immediately if earlier failures are ignored, even if a visitor's request came first", async () => {
    authority.finds = () => false;
    await obtain();
    authority.finds = () => true;
    orders = await relay();
    const visitor = orders.obtain(planFor('a.test'), 'visitor');
    await done(Promise.all([visitor, orders.obtain(planFor('a.test'), 'upkeep', true)]));
    assert.ok(known.get('a.test') !== undefined);
  });

  it('are not repeated with failures ignored, if a visitor has just tried', async () => {
    authority.finds = () => false;
    const visitor = orders.obtain(planFor('a.test'), 'visitor');
    await done(Promise.all([visitor, orders.obtain(planFor('a.test'), 'upkeep', true)]));
    assert.equal(failures().length, 1);
  });

  it('wait as long as an authority requests', async () => {
    authority.fault = () => authority.problem(429, 'rateLimited', { 'retry-after': '1800' });
    await obtain();
    authority.fault = () => undefined;
    clock.advance(1_799_000);
    await obtain();
    assert.equal(authority.orders, 0);
    clock.advance(1000);
    await obtain();
    assert.equal(authority.orders, 1);
  });

  it('do not delay renewals when visitors have exhausted a limit of the authority', async () => {
    authority.fault = () => authority.problem(429, 'rateLimited', { 'retry-after': '1800' });
    await obtain();
    authority.fault = () => undefined;
    await obtain('b.test');
    assert.equal(authority.orders, 0);
    await obtain('c.test', 'upkeep');
    assert.equal(authority.orders, 1);
    authority.isDown = true;
    await obtain('d.test', 'upkeep');
    authority.isDown = false;
    await obtain('d.test', 'upkeep');
    assert.equal(authority.orders, 1);
  });

  it('are limited per hour, with a quarter reserved for renewals', async () => {
    perHour = 8;
    orders = await relay();
    for (let count = 0; count < 10; count += 1) await obtain(`v${count}.test`);
    assert.equal(authority.orders, 6);
    for (let count = 0; count < 10; count += 1) await obtain(`u${count}.test`, 'upkeep');
    assert.equal(authority.orders, 8);
    assert.equal(logged.filter(([event]) => event === 'certificate order limit').length, 12);
    clock.advance(HOUR);
    await obtain('v9.test');
    assert.equal(authority.orders, 9);
  });

  it('are still available to seven further accounts after two have taken all they can', async () => {
    for (let index = 0; index < 10; index += 1)
      for (const account of ['ann', 'bob']) await ofAccount(`${account}-${index}.test`, account);
    const taken = authority.orders;
    for (let index = 0; taken + index < 15; index += 1) {
      await ofAccount(`shop-${index}.test`, `account ${index}`);
      assert.ok(known.get(`shop-${index}.test`) !== undefined, String(index));
    }
    assert.ok(taken <= 8, String(taken));
    assert.equal(authority.orders, 15);
    await obtain('relay.test', 'upkeep');
    assert.equal(authority.orders, 16);
  });

  it("are limited to half of the visitors' share per account and hour, so that others get theirs", async () => {
    perHour = 8;
    orders = await relay();
    for (let count = 0; count < 10; count += 1) await ofAccount(`a${count}.test`, 'ann');
    assert.equal(authority.orders, 3);
    for (let count = 0; count < 10; count += 1) await ofAccount(`b${count}.test`, 'bob');
    assert.equal(authority.orders, 4);
    clock.advance(HOUR);
    await ofAccount('a9.test', 'ann');
    assert.equal(authority.orders, 5);
  });

  it('run 32 at a time', async () => {
    perHour = 1000;
    orders = await relay();
    const names = Array.from({ length: ORDERS_AT_ONCE + 3 }, (_, index) => `n${index}.test`);
    await done(Promise.all(names.map((name) => orders.obtain(planFor(name), 'visitor'))));
    assert.equal(authority.orders, ORDERS_AT_ONCE);
  });

  it('remember 10,000 names that would currently fail', async () => {
    perHour = 1;
    let asked = 0;
    const counted = {
      ...store,
      beginOrder: (begin: Parameters<Store['beginOrder']>[0]) => {
        asked += 1;
        return Promise.resolve({ kind: 'wait', until: begin.now + HOUR, cause: 'failed' } as const);
      },
    };
    orders = await relay(counted);
    const ask = (index: number): Promise<void> => orders.obtain(planFor(`n${index}.test`), 'visitor');
    for (let index = 0; index <= REFUSED_NAMES_MAX; index += 1) await ask(index);
    assert.equal(asked, REFUSED_NAMES_MAX + 1);
    await ask(REFUSED_NAMES_MAX);
    await ask(1);
    assert.equal(asked, REFUSED_NAMES_MAX + 1);
    await ask(0);
    assert.equal(asked, REFUSED_NAMES_MAX + 2);
  });

  it('create another account if the authority does not know the stored one', async () => {
    await obtain();
    authority.accounts.clear();
    await obtain('b.test');
    assert.ok(known.get('b.test') !== undefined);
    assert.equal(authority.accounts.size, 1);
    assert.deepEqual(failures(), []);
  });

  it('create another account with another key if the stored key is no longer valid', async () => {
    await obtain();
    const { directory } = authority;
    const { key, url } = await store.acmeAccount({ directory, key: '', url: null }, 0);
    authority.fault = (sent) =>
      sent.kid === url
        ? authority.problem(403, 'unauthorized')
        : sent.url.endsWith('/account') && sent.payload !== '' && authority.accounts.size === 1
          ? authority.problem(403, 'unauthorized')
          : undefined;
    const send = authority.send.bind(authority);
    authority.send = async (to, body) => {
      const answer = await send(to, body);
      if (to.endsWith('/account') && answer.status === 403) authority.accounts.add('another');
      return answer;
    };
    await obtain('b.test');
    assert.ok(known.get('b.test') !== undefined, JSON.stringify(failures()));
    const now = await store.acmeAccount({ directory, key: '', url: null }, 0);
    assert.notEqual(now.key, key);
  });

  it('use a certificate that the store rejects, and store it again later', async () => {
    const full: Store = { ...store };
    full.storeCertificate = () => Promise.reject(new StoreError(new Error('disk full')));
    orders = await relay(full);
    await obtain();
    assert.ok(known.get('a.test') !== undefined);
    assert.deepEqual(ofEach([...known.unstored], 'name'), ['a.test']);
    await obtain();
    assert.equal(authority.orders, 1);
    full.storeCertificate = (...given) => store.storeCertificate(...given);
    for (const certificate of known.unstored) await orders.store(certificate, 0);
    assert.deepEqual([...known.unstored], []);
    assert.ok((await store.findCertificate('a.test')) !== undefined);
  });

  it('do not start while the store cannot be written to', async () => {
    const full = { ...store, beginOrder: () => Promise.reject(new StoreError(new Error('disk full'))) };
    orders = await relay(full);
    await obtain();
    assert.equal(authority.orders, 0);
  });

  it('are not repeated if the clock is ahead by more than the life of a certificate', async () => {
    authority.now = () => clock.now() - 100 * DAY;
    await obtain();
    await obtain('a.test', 'upkeep');
    assert.equal(authority.orders, 1);
    assert.ok(logged.some(([event]) => event === 'clock off'));
    clock.advance(ORDER_RETRY_MS);
    await obtain('a.test', 'upkeep');
    assert.equal(authority.orders, 2);
  });

  it('start immediately when a clock that was ahead is corrected', async () => {
    authority.now = () => clock.now() - 100 * DAY;
    await obtain();
    await known.removeEnded();
    authority.now = () => clock.now();
    clock.jump(-100 * DAY);
    await obtain();
    assert.equal(authority.orders, 2);
  });

  it('report that a clock is behind if a certificate is not valid yet', async () => {
    authority.now = () => clock.now() + DAY;
    await obtain();
    assert.ok(known.get('a.test') !== undefined);
    assert.ok(logged.some(([event]) => event === 'clock off'));
  });
});
