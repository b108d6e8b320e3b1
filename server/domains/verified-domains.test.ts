import assert from 'node:assert/strict';
import type { DomainOwner } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { storeAnswers } from '../testing/fixtures.ts';
import { DOMAIN_RETRY_MS, DOMAINS_BATCH, mustNotBeOwn, VerifiedDomains } from './verified-domains.ts';

describe('VerifiedDomains', () => {
  let clock: FakeClock;
  let stored: Map<string, string>;
  let down: boolean;
  /** queries, in order */
  let asked: string[];
  /** answers that the test releases; each was correct at the time of its query */
  let held: (() => void)[] | undefined;
  let domains: VerifiedDomains;
  let gone: string[];

  async function answer(found: DomainOwner[]): Promise<DomainOwner[]> {
    if (down) throw new StoreError(new Error('down'));
    if (held !== undefined) await new Promise<void>((resolve) => held?.push(resolve));
    return found;
  }

  function owners(names: readonly string[]): DomainOwner[] {
    return names.flatMap((domain) => {
      const accountId = stored.get(domain);
      return accountId === undefined ? [] : [{ domain, accountId }];
    });
  }

  beforeEach(() => {
    clock = new FakeClock();
    stored = new Map();
    down = false;
    asked = [];
    held = undefined;
    const store = {
      verifiedDomains(after: string, limit: number) {
        asked.push(`all after ${after}`);
        const names = [...stored.keys()].filter((name) => name > after);
        return answer(owners(names.toSorted().slice(0, limit)));
      },
      findVerifiedDomains(names: readonly string[]) {
        asked.push(names.join());
        return answer(owners(names));
      },
    };
    gone = [];
    domains = new VerifiedDomains(store, clock);
    domains.onGone = (domain) => void gone.push(domain);
  });

  afterEach(() => domains.stop());

  it('loads all domains at the start, 1,000 at a time', async () => {
    for (let index = 0; index < 2 * DOMAINS_BATCH + 1; index += 1) stored.set(`a${index}.test`, 'one');
    await domains.start();
    assert.equal(domains.size, 2 * DOMAINS_BATCH + 1);
    assert.equal(asked.length, 3);
  });

  it('follows a domain that is verified or released', async () => {
    await domains.start();
    stored.set('a.test', 'one');
    await domains.follow('a.test');
    assert.ok(domains.has('a.test'));
    stored.delete('a.test');
    await domains.follow('a.test');
    assert.ok(!domains.has('a.test'));
    assert.deepEqual(gone, ['a.test']);
  });

  it('lists the domains of a host in the order of precedence, each only with its own account', async () => {
    for (const [name, owner] of [
      ['a.one.test', 'one'],
      ['*.one.test', 'one'],
      ['a.two.test', 'other'],
      ['*.two.test', 'two'],
      ['three.test', 'three'],
    ] as const)
      stored.set(name, owner);
    await domains.start();
    const cases: [host: string, found: string[]][] = [
      ['a.one.test', ['a.one.test', '*.one.test']],
      ['b.one.test', ['*.one.test']],
      ['one.test', []],
      ['x.a.one.test', []],
      ['xn--b.one.test', []],
      ['a.two.test', ['a.two.test']],
      ['b.two.test', ['*.two.test']],
      ['three.test', ['three.test']],
      ['a.three.test', []],
      ['*.one.test', ['*.one.test']],
      ['', []],
    ];
    for (const [host, found] of cases) assert.deepEqual(domains.domainsOf(host), found, host);
  });

  it('reports each domain that is gone once, but not those that have moved to another account', async () => {
    for (const name of ['a.test', 'b.test', 'c.test']) stored.set(name, 'one');
    await domains.start();
    stored.delete('a.test');
    stored.set('b.test', 'two');
    domains.review();
    await storeAnswers();
    await domains.follow('a.test');
    await domains.follow('b.test');
    await domains.follow('never.test');
    assert.deepEqual(gone, ['a.test']);
    assert.equal(domains.ownerOf('b.test'), 'two');
  });

  it('reads again what has changed during the read: late answers never win', async () => {
    await domains.start();
    held = [];
    stored.set('a.test', 'one');
    const first = domains.follow('a.test');
    stored.delete('a.test');
    const second = domains.follow('a.test');
    for (const release of held.splice(0)) release();
    await storeAnswers();
    for (const release of held.splice(0)) release();
    await Promise.all([first, second]);
    assert.ok(!domains.has('a.test'));
    assert.deepEqual(asked, ['all after ', 'a.test', 'a.test']);
  });

  it('reads everything again if notifications may have been missed, and then changes in the meantime', async () => {
    await domains.start();
    held = [];
    domains.review();
    stored.set('a.test', 'one');
    const followed = domains.follow('a.test');
    for (const release of held.splice(0)) release();
    await storeAnswers();
    for (const release of held.splice(0)) release();
    await followed;
    assert.ok(domains.has('a.test'));
  });

  it('queries a store that has failed again after 1 s, and keeps its state', async () => {
    stored.set('a.test', 'one');
    await domains.start();
    down = true;
    stored.delete('a.test');
    stored.set('b.test', 'one');
    domains.review();
    await domains.follow('b.test');
    assert.deepEqual([domains.has('a.test'), domains.has('b.test')], [true, false]);
    down = false;
    clock.advance(DOMAIN_RETRY_MS);
    await storeAnswers();
    assert.deepEqual([domains.has('a.test'), domains.has('b.test')], [false, true]);
    assert.equal(clock.pending, 0);
  });
});

describe('mustNotBeOwn', () => {
  const names = { host: 'relay.example.com', tunnelDomain: 't.example.com', serviceDomain: 's.example.com' };

  for (const domain of 'relay.example.com t.example.com a.t.example.com *.s.example.com *.example.com'.split(
    ' ',
  ))
    it(`refuses ${domain}`, () => assert.throws(() => mustNotBeOwn(domain, names), { status: 409 }));

  for (const domain of ['example.com', 'a.relay.example.com', 'at.example.com', '*.a.example.com'])
    it(`accepts ${domain}`, () => assert.doesNotThrow(() => mustNotBeOwn(domain, names)));
});
