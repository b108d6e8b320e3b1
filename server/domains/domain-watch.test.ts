import assert from 'node:assert/strict';
import { checkAsyncScript } from '../../shared/testing/script.ts';
import type { DomainRecord } from '../store/records.ts';
import { aDomain, anAccount, aStore, aTunnel, type TestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { DnsAnswer } from './domain-check.ts';
import {
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

/** A domain of 7 days ago whose records are wrong since then. */
const WRONG = 'verify a.test; dns wrong; +1440: checked, domain failing, since now;';

/** Times are in minutes. A step shows checks, log events, and what is stored about the domain if that has changed. */
const SCRIPTS: Readonly<Record<string, string>> = {
  'checks a domain about once a day': 'verify a.test; +1440: checked; +1317; +244: checked',
  'releases a domain whose records were wrong for 7 days, and ends its tunnels': `tunnel; ${WRONG}
    ${'+1560: checked; '.repeat(6)} +1440: checked, tunnel ended, domain let go, removed`,
  'forgets that they were wrong once they are correct': `${WRONG} dns right; +1560: checked, right`,
  'releases no domain, and forgets nothing, if the DNS does not answer': `verify a.test; dns silent;
    ${'+1560: checked; '.repeat(10)} dns wrong; +1560: checked, domain failing, since now; dns silent;
    ${'+1560: checked; '.repeat(9)} +1560: checked`,
  'removes claims that were not verified for 30 days': 'claim a.test; +43199; +2: removed',
  'does not check domains reserved by another relay for an hour':
    'verify a.test; reserve; +1498; +3: checked',
  'continues a minute later after the store has failed': 'verify a.test; down; +1440; up; +1: checked',
  'stores nothing once it has stopped, whatever the answer, and checks again when it is started': `verify a.test;
    dns wrong; hold; +1440: checked; stop; +2880; start; +1: checked, domain failing, since now`,
};

describe('DomainWatch', () => {
  const account = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  /** the TXT record of every domain; `undefined`: the correct one */
  let txt: DnsAnswer | undefined;
  let asked: number;
  /** delays answers */
  let answering: PromiseWithResolvers<void>;
  let did: string[];
  let verified: VerifiedDomains;
  let held: HeldDomains;
  let watch: DomainWatch;

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account);
    [txt, asked, did] = [undefined, 0, []];
    answering = Promise.withResolvers();
    answering.resolve();
    const { store } = test;
    verified = new VerifiedDomains(store, clock);
    const coordination = {
      displace: (ids: readonly string[]) => void did.push(...ids.map(() => 'tunnel ended')),
    };
    held = new HeldDomains({ store, clock, verified, coordination, tellPeers: undefined, nameHold: 0 });
    watch = new DomainWatch({
      store,
      clock,
      held,
      host: '192.0.2.1',
      log: (event) => void did.push(event),
      lookup: async (name, type) => {
        if (type === 'TXT') asked += 1;
        await answering.promise;
        if (type === 'A') return { kind: 'found', values: ['192.0.2.1'] };
        const proof = `culvert-verify=proof of ${name.slice('_culvert.'.length)}`;
        return type === 'TXT' ? (txt ?? { kind: 'found', values: [proof] }) : NONE;
      },
    });
    watch.start();
  });

  afterEach(() => watch.stop());

  async function verify(domain: string): Promise<void> {
    const claim = aDomain(account.id, domain, { createdAt: clock.now() });
    await test.store.insertDomain(claim, null);
    const now = clock.now();
    await test.store.verifyDomain({ id: claim.id, instead: null, checkAt: now + DAY_MS, now, nameHold: 0 });
    await verified.follow(domain);
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

  async function act(step: string): Promise<void> {
    const [verb = '', what = ''] = step.split(' ');
    const { store } = test;
    if (verb.startsWith('+')) await pass(Number(verb) * DOMAIN_SWEEP_MS);
    else if (verb === 'verify') await verify(what);
    else if (verb === 'claim')
      await store.insertDomain(aDomain(account.id, what, { createdAt: clock.now() }), null);
    else if (verb === 'tunnel') {
      await verify('a.test');
      await store.insertTunnel(aTunnel(account.id, { domain: 'a.test' }));
    } else if (verb === 'dns') txt = { wrong: NONE, silent: FAILED, right: undefined }[what];
    else if (verb === 'reserve') {
      const due = clock.now() + DAY_MS;
      assert.equal((await store.takeDueDomains(due, due + DOMAIN_SWEEP_LEASE_MS, 10)).length, 1);
    } else if (verb === 'hold') answering = Promise.withResolvers();
    else if (verb === 'stop') {
      const stopping = watch.stop();
      answering.resolve();
      await stopping;
    } else if (verb === 'start') watch.start();
    else test.down = verb === 'down';
  }

  function sinceWhen(time: number | null): string {
    if (time === null) return 'right';
    // Some checks take place a step before the end.
    return time >= clock.now() - DOMAIN_SWEEP_MS ? 'since now' : 'since earlier';
  }

  async function play(step: string): Promise<string> {
    const [before, had] = [asked, test.down ? undefined : await stored()];
    await act(step);
    if (asked > before) did.unshift('checked');
    const now = test.down ? had : await stored();
    if (had !== undefined && now === undefined) did.push('removed');
    else if (had !== undefined && now?.failingSince !== had.failingSince)
      did.push(sinceWhen(now?.failingSince ?? null));
    if (!test.down && now?.verifiedAt !== null) assert.equal(verified.has('a.test'), now !== undefined);
    return did.splice(0).join(', ');
  }

  for (const [title, script] of Object.entries(SCRIPTS)) it(title, () => checkAsyncScript(script, play));

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

  it('checks all domains that are due, reserving 50 at a time, 8 in parallel', async () => {
    for (let index = 0; index < DOMAIN_SWEEP_BATCH + 1; index += 1) await verify(`a${index}.test`);
    clock.advance(DAY_MS);
    await settled();
    for (let turn = 0; turn < 10; turn += 1) await settled();
    assert.equal(asked, DOMAIN_SWEEP_BATCH + 1);
    assert.equal(DOMAIN_SWEEP_AT_ONCE, 8);
  });
});
