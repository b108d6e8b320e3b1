import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { checkAsyncScript } from '../../shared/testing/script.ts';
import type { LogEvent, LogFields } from '../log.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { FakeAuthority } from '../testing/fake-authority.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ofEach, openTestStore } from '../testing/fixtures.ts';
import {
  AUTHORITY_RETRY_MAX_MS,
  AUTHORITY_RETRY_MS,
  type Cause,
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

/** Each step with the orders placed, the names that have a certificate since then, and what was logged. */
const SCRIPTS: Readonly<Record<string, string>> = {
  'obtain a certificate, store it, and order no other': 'obtain a: 1 order, got a; obtain a',
  'store nothing for a domain that was removed in the meantime': 'removed while a; obtain a: 1 order, failed',
  'are shared by simultaneous requests for a name': 'obtain a & obtain a & obtain a: 1 order, got a',
  'try the second solver if the first proves nothing, and start with that one the next time':
    'proven by http-01; obtain a: 2 orders, got a; obtain b: 1 order, got b',
  'wait 3 minutes after a failure, twice as long after each, half a day at most': `proven by none; rate 1000;
    obtain a: 2 orders, failed; +179; obtain a; +1; obtain a: 2 orders, failed; +359; obtain a; +1;
    obtain a: 2 orders, failed; +719; obtain a; +1; obtain a: 2 orders, failed; fails 30; obtain a; +43200;
    proven by any; obtain a: 1 order, got a`,
  'remember failures across a restart': `proven by none; obtain a: 2 orders, failed; restart; obtain a;
    again a: 2 orders, failed`,
  "start immediately if earlier failures are ignored, even if a visitor's request came first": `proven by none;
    obtain a: 2 orders, failed; proven by any; restart; obtain a & again a: 1 order, got a`,
  'are not repeated with failures ignored, if a visitor has just tried':
    'proven by none; obtain a & again a: 2 orders, failed',
  'wait as long as an authority requests': `limited 1800; obtain a: failed; unlimited; +1799; obtain a; +1;
    obtain a: 1 order, got a`,
  'do not delay renewals when visitors have exhausted a limit of the authority': `limited 1800; obtain a: failed;
    unlimited; obtain b; upkeep c: 1 order, got c; down; upkeep d: failed; up; upkeep d`,
  'are limited per hour, with a quarter reserved for renewals': `rate 8; obtain v 10: 6 orders, got 6, limit 4;
    upkeep u 10: 2 orders, got 2, limit 8; +3600; obtain w: 1 order, got w`,
  "are limited to half of the visitors' share per account and hour, so that others get theirs": `rate 8;
    obtain a 10 for ann: 3 orders, got 3, limit 7; obtain b 10 for bob: 1 order, got b0, limit 9; +3600;
    obtain c for ann: 1 order, got c`,
  'create another account if the authority does not know the stored one':
    'obtain a: 1 order, got a; accounts lost; obtain b: 1 order, got b',
  'are not repeated if the clock is ahead by more than the life of a certificate': `authority -100 d;
    obtain a: 1 order, clock off; upkeep a; +180; upkeep a: 1 order, clock off`,
  'start immediately when a clock that was ahead is corrected': `authority -100 d; obtain a: 1 order, clock off;
    ended; authority 0 d; jump -100 d; obtain a: 1 order, got a`,
  'report that a clock is behind if a certificate is not valid yet':
    'authority 1 d; obtain a: 1 order, got a, clock off',
};

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

  /** Takes one step of a script. @returns what happened */
  async function play(step: string): Promise<string> {
    const [before, had] = [authority.orders, new Set(ofEach([...known.all()], 'name'))];
    logged.length = 0;
    await Promise.all(step.split(' & ').map((action) => act(action)));
    const placed = authority.orders - before;
    const got: string[] = [];
    for (const { name } of known.all())
      if (!had.has(name) && known.get(name) !== undefined) {
        assert.ok(await store.findCertificate(name));
        got.push(name.replace('.test', ''));
      }
    const limits = times('certificate order limit');
    return [
      placed > 0 && `${placed} order${placed > 1 ? 's' : ''}`,
      got.length > 0 && `got ${got.length > 1 ? got.length : got[0]}`,
      times('certificate order failed') > 0 && 'failed',
      limits > 0 && `limit ${limits}`,
      times('clock off') > 0 && 'clock off',
    ]
      .filter(Boolean)
      .join(', ');
  }

  function times(wanted: LogEvent): number {
    return logged.filter(([event]) => event === wanted).length;
  }

  async function act(action: string): Promise<void> {
    const [verb = '', name = '', ...more] = action.split(' ');
    const days = Number(verb === 'jump' || verb === 'authority' ? name : 0) * DAY;
    if (verb.startsWith('+')) clock.advance(Number(verb) * 1000);
    else if (verb === 'proven') authority.finds = (type) => action.endsWith('any') || action.endsWith(type);
    else if (verb === 'removed') authority.finds = () => gone.add(`${more[0]}.test`).size > 0;
    else if (verb === 'limited')
      authority.fault = () => authority.problem(429, 'rateLimited', { 'retry-after': name });
    else if (verb === 'unlimited') authority.fault = () => undefined;
    else if (verb === 'down' || verb === 'up') authority.isDown = verb === 'down';
    else if (verb === 'accounts') authority.accounts.clear();
    else if (verb === 'authority') authority.now = () => clock.now() + days;
    else if (verb === 'jump') clock.jump(days);
    else if (verb === 'fails') await store.failOrder('a.test', Number(name), 0);
    else if (verb === 'ended') await known.removeEnded();
    else if (verb === 'restart' || verb === 'rate') {
      perHour = Number(name) || perHour;
      orders = await relay();
    } else {
      const account = more.includes('for') ? { account: more.at(-1) ?? '' } : {};
      const many = /^\d+/.exec(more[0] ?? '')?.[0] ?? '1';
      for (let index = 0; index < Number(many); index += 1) {
        const plan = { ...planFor(`${name}${many === '1' ? '' : index}.test`), ...account };
        await done(orders.obtain(plan, verb === 'obtain' ? 'visitor' : 'upkeep', verb === 'again'));
      }
    }
  }

  for (const [title, script] of Object.entries(SCRIPTS)) it(title, () => checkAsyncScript(script, play));

  it('are not placed without a solver, and do not count as failures', async () => {
    await done(orders.obtain({ subject: '*.a.test', solvers: [] }, 'upkeep', true));
    assert.equal(authority.orders, 0);
    assert.deepEqual(logged, []);
    await done(orders.obtain({ ...planFor('*.a.test') }, 'upkeep'));
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
});
