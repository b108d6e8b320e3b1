import assert from 'node:assert/strict';
import type { DomainRecord } from '../store/records.ts';
import { aDomain, anAccount, aStore, aTunnel, type TestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { DnsAnswer } from './domain-check.ts';
import {
  DOMAIN_CHECK_JITTER_MS,
  DOMAIN_CHECK_MS,
  DOMAIN_CLAIM_MS,
  DOMAIN_GRACE_MS,
  DOMAIN_SWEEP_AT_ONCE,
  DOMAIN_SWEEP_BATCH,
  DOMAIN_SWEEP_LEASE_MS,
  DOMAIN_SWEEP_MS,
  DomainWatch,
  HeldDomains,
} from './domain-watch.ts';
import { VerifiedDomains } from './verified-domains.ts';

const DAY_MS = 24 * 3600_000;
const NONE: DnsAnswer = { kind: 'none', exists: false };
const FAILED: DnsAnswer = { kind: 'failed', text: 'SERVFAIL' };

/** Waits for the answers of the store. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 60; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('DomainWatch', () => {
  const account = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  /** the TXT record of every domain; `undefined`: the correct one */
  let txt: DnsAnswer | undefined;
  let asked: number;
  /** delays answers */
  let answering: Promise<void>;
  let logged: string[];
  let displaced: string[];
  let verified: VerifiedDomains;
  let held: HeldDomains;
  let watch: DomainWatch;

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account);
    [txt, asked, logged, displaced] = [undefined, 0, [], []];
    answering = Promise.resolve();
    const { store } = test;
    verified = new VerifiedDomains(store, clock);
    const coordination = { displace: (ids: readonly string[]) => void displaced.push(...ids) };
    held = new HeldDomains({ store, clock, verified, coordination, tellPeers: undefined, nameHold: 0 });
    watch = new DomainWatch({
      store,
      clock,
      held,
      host: '192.0.2.1',
      log: (event) => void logged.push(event),
      lookup: async (name, type) => {
        if (type === 'TXT') asked += 1;
        await answering;
        if (type === 'A') return { kind: 'found', values: ['192.0.2.1'] };
        const proof = `culvert-verify=proof of ${name.slice('_culvert.'.length)}`;
        return type === 'TXT' ? (txt ?? { kind: 'found', values: [proof] }) : NONE;
      },
    });
    watch.start();
  });

  afterEach(() => watch.stop());

  async function verify(domain: string): Promise<DomainRecord> {
    const claim = aDomain(account.id, domain, { createdAt: clock.now() });
    await test.store.insertDomain(claim, null);
    const now = clock.now();
    await test.store.verifyDomain({ id: claim.id, instead: null, checkAt: now + DAY_MS, now, nameHold: 0 });
    await verified.follow(domain);
    return claim;
  }

  /** Lets time pass in the relay's steps. */
  async function pass(ms: number): Promise<void> {
    clock.advance(ms - DOMAIN_SWEEP_MS);
    await settled();
    clock.advance(DOMAIN_SWEEP_MS);
    await settled();
  }

  async function stored(): Promise<DomainRecord | undefined> {
    return (await test.store.domainsOf(account.id))[0];
  }

  it('checks a domain about once a day', async () => {
    await verify('a.test');
    await pass(DAY_MS);
    assert.equal(asked, 1);
    await pass(DOMAIN_CHECK_MS - DOMAIN_CHECK_JITTER_MS - 3 * DOMAIN_SWEEP_MS);
    assert.equal(asked, 1);
    await pass(2 * DOMAIN_CHECK_JITTER_MS + 4 * DOMAIN_SWEEP_MS);
    assert.equal(asked, 2);
  });

  it('releases a domain whose records were wrong for 7 days, and ends its tunnels', async () => {
    const { id } = await verify('a.test');
    const tunnel = aTunnel(account.id, { domain: 'a.test' });
    await test.store.insertTunnel(tunnel);
    txt = NONE;
    await pass(DAY_MS);
    const since = (await stored())?.failingSince;
    assert.equal(since, clock.now());
    assert.deepEqual(logged, ['domain failing']);
    for (let day = 0; day < 6; day += 1) await pass(DAY_MS + DOMAIN_CHECK_JITTER_MS);
    assert.equal((await stored())?.failingSince, since);
    assert.ok(verified.has('a.test'));
    await pass(DAY_MS);
    assert.ok(clock.now() - (since ?? 0) >= DOMAIN_GRACE_MS);
    assert.deepEqual([await stored(), verified.has('a.test')], [undefined, false]);
    assert.deepEqual(displaced, [tunnel.id]);
    assert.deepEqual(await test.store.findTunnels([tunnel.id]), []);
    assert.deepEqual(logged, ['domain failing', 'domain let go']);
    assert.notEqual(id, '');
  });

  it('also releases one whose owner checks it twice a day', async () => {
    await verify('a.test');
    txt = NONE;
    for (let half = 0; half < 18; half += 1) {
      const claim = await stored();
      if (claim !== undefined) await held.noteFailing(claim);
      await pass(DAY_MS / 2);
    }
    assert.deepEqual([await stored(), verified.has('a.test')], [undefined, false]);
  });

  it('forgets that they were wrong once they are correct', async () => {
    await verify('a.test');
    txt = NONE;
    await pass(DAY_MS);
    txt = undefined;
    await pass(DAY_MS + DOMAIN_CHECK_JITTER_MS);
    assert.equal((await stored())?.failingSince, null);
  });

  it('releases no domain, and forgets nothing, if the DNS does not answer', async () => {
    await verify('a.test');
    txt = FAILED;
    for (let day = 0; day < 10; day += 1) await pass(DAY_MS + DOMAIN_CHECK_JITTER_MS);
    assert.equal((await stored())?.failingSince, null);
    txt = NONE;
    await pass(DAY_MS + DOMAIN_CHECK_JITTER_MS);
    const since = (await stored())?.failingSince;
    txt = FAILED;
    for (let day = 0; day < 10; day += 1) await pass(DAY_MS + DOMAIN_CHECK_JITTER_MS);
    assert.deepEqual([(await stored())?.failingSince, verified.has('a.test')], [since, true]);
  });

  it('removes claims that were not verified for 30 days', async () => {
    await test.store.insertDomain(aDomain(account.id, 'a.test', { createdAt: clock.now() }), null);
    await pass(DOMAIN_CLAIM_MS - DOMAIN_SWEEP_MS);
    assert.ok((await stored()) !== undefined);
    await pass(2 * DOMAIN_SWEEP_MS);
    assert.equal(await stored(), undefined);
  });

  it('checks all domains that are due, reserving 50 at a time, 8 in parallel', async () => {
    for (let index = 0; index < DOMAIN_SWEEP_BATCH + 1; index += 1) await verify(`a${index}.test`);
    clock.advance(DAY_MS);
    await settled();
    for (let turn = 0; turn < 10; turn += 1) await settled();
    assert.equal(asked, DOMAIN_SWEEP_BATCH + 1);
    assert.equal(DOMAIN_SWEEP_AT_ONCE, 8);
  });

  it('does not check domains reserved by another relay for an hour', async () => {
    await verify('a.test');
    const due = clock.now() + DAY_MS;
    const taken = await test.store.takeDueDomains(due, due + DOMAIN_SWEEP_LEASE_MS, 10);
    assert.equal(taken.length, 1);
    await pass(DAY_MS + DOMAIN_SWEEP_LEASE_MS - 2 * DOMAIN_SWEEP_MS);
    assert.equal(asked, 0);
    await pass(3 * DOMAIN_SWEEP_MS);
    assert.equal(asked, 1);
  });

  it('continues a minute later after the store has failed', async () => {
    await verify('a.test');
    test.down = true;
    await pass(DAY_MS);
    assert.equal(asked, 0);
    test.down = false;
    await pass(DOMAIN_SWEEP_MS);
    assert.equal(asked, 1);
  });

  it('stores nothing once it has stopped, whatever the answer, and checks again when it is started', async () => {
    await verify('a.test');
    txt = NONE;
    const answer = Promise.withResolvers<void>();
    answering = answer.promise;
    await pass(DAY_MS);
    assert.equal(asked, 1);
    const stopping = watch.stop();
    answer.resolve();
    await stopping;
    await pass(2 * DAY_MS);
    assert.deepEqual([asked, (await stored())?.failingSince], [1, null]);
    watch.start();
    await pass(DOMAIN_SWEEP_MS);
    assert.deepEqual([asked, (await stored())?.failingSince], [2, clock.now()]);
  });
});
