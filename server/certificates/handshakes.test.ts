import assert from 'node:assert/strict';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { selfSigned } from '../testing/fake-authority.ts';
import { aChallenge, openTestStore, storeAnswers } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { certificateOf } from './acme-orders.ts';
import type { Plan } from './challenge-solver.ts';
import {
  CERTIFICATE_WAIT_MS,
  CERTIFICATE_WAITS_MAX,
  CERTIFICATE_WAITS_PER_ACCOUNT_MAX,
  CERTIFICATE_WAITS_PER_NAME_MAX,
  CertifiedHandshakes,
  type HandshakesDeps,
} from './handshakes.ts';
import { KnownCertificates, PresentedChallenges } from './known-certificates.ts';

const DAY = 86_400_000;

function namesOf(account: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `n${index}.${account}.tunnels.test`);
}

describe('CertifiedHandshakes', () => {
  let clock: FakeClock;
  let store: Store;
  let known: KnownCertificates;
  let ordered: string[];
  let accounts: (string | undefined)[];
  let finish: (() => void)[];
  let alive: Set<string>;
  let gone: Set<string>;
  let served: number;
  let hasOwn: boolean;
  let handshakes: CertifiedHandshakes;

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openTestStore(() => {});
    known = new KnownCertificates(store, clock);
    ordered = [];
    accounts = [];
    finish = [];
    alive = new Set(['a.tunnels.test']);
    gone = new Set();
    served = 0;
    hasOwn = false;
    handshakes = make();
  });

  function make(given: Partial<HandshakesDeps> = {}): CertifiedHandshakes {
    const orders = {
      obtainFor: (_host: string, { subject, account }: Plan): Promise<void> => {
        ordered.push(subject);
        accounts.push(account);
        return new Promise((resolve) => finish.push(resolve));
      },
    };
    return new CertifiedHandshakes({
      own: 'relay.test',
      known,
      orders,
      challenges: new PresentedChallenges(store, clock, true),
      planFor: (subject) => Promise.resolve({ subject, solvers: [] }),
      holderOf: (name) => Promise.resolve(alive.has(name) ? { account: 'ann', subject: name } : undefined),
      isServed: (name) => !gone.has(name),
      hasOwn: () => hasOwn,
      serveOwn: () => Promise.resolve(void (served += 1)),
      clock,
      ...given,
    });
  }

  async function issue(name: string): Promise<void> {
    const now = clock.now();
    const pair = await selfSigned(name, now, now + 90 * DAY);
    await store.storeCertificate(certificateOf(name, pair, now, 0), 0);
    await known.refresh();
  }

  it('wait while a certificate for a live name is ordered, and then have it', async () => {
    const ready = handshakes.prepare('A.tunnels.test');
    await storeAnswers();
    assert.deepEqual([ordered, accounts], [['a.tunnels.test'], ['ann']]);
    await issue('a.tunnels.test');
    finish[0]?.();
    await ready;
    assert.ok(handshakes.context('a.tunnels.test'));
    assert.equal(handshakes.prepare('a.tunnels.test'), undefined);
    assert.equal(handshakes.waits, 0);
  });

  it('do not get the certificate of a domain that is no longer verified, and do not wait for another', async () => {
    await issue('shop.test');
    await handshakes.prepare('shop.test');
    assert.ok(handshakes.context('shop.test'));
    gone.add('shop.test');
    assert.equal(handshakes.prepare('Shop.test'), undefined);
    assert.equal(handshakes.context('Shop.test'), undefined);
    assert.deepEqual(ordered, []);
  });

  it('order nothing for names that are not served, cannot have a certificate, or whose owner is unknown', async () => {
    const names = 'b.tunnels.test x 127.0.0.1 [::1] a..test ä.test x.localhost -a.test'.split(' ');
    // It has an owner, but no tunnel is served there.
    gone.add('a.tunnels.test');
    for (const name of [...names, 'a.tunnels.test']) assert.equal(await handshakes.prepare(name), undefined);
    await handshakes.prepare(`${'a'.repeat(64)}.test`);
    gone.clear();
    handshakes = make({ holderOf: () => Promise.reject(new StoreError(new Error('away'))) });
    await handshakes.prepare('a.tunnels.test');
    assert.deepEqual(ordered, []);
  });

  it('treat a pair that TLS rejects as no certificate', async () => {
    await issue('a.tunnels.test');
    const summary = known.get('a.tunnels.test');
    assert.ok(summary);
    await store.storeCertificate({ ...summary, chain: 'broken', key: 'broken' }, 0);
    known = new KnownCertificates(store, clock);
    await known.refresh();
    handshakes = make();
    await handshakes.prepare('a.tunnels.test');
    assert.equal(handshakes.context('a.tunnels.test'), undefined);
  });

  it("for the relay's name, or without a name, wait for its own certificate", async () => {
    const wait = async (name: string | undefined): Promise<void> => {
      const ready = handshakes.prepare(name);
      assert.ok(ready);
      await storeAnswers();
      finish.at(-1)?.();
      await ready;
    };
    await wait('relay.test');
    await wait(undefined);
    assert.deepEqual([ordered, served], [['relay.test', 'relay.test'], 2]);
    await issue('relay.test');
    // Issued, but the listener does not have it yet.
    await wait('relay.test');
    assert.equal(served, 3);
    hasOwn = true;
    assert.equal(handshakes.prepare('relay.test'), undefined);
    assert.equal(handshakes.context('relay.test'), undefined);
  });

  it('wait until an existing certificate is loaded, and get it even if its tunnel is gone', async () => {
    await issue('a.tunnels.test');
    alive.clear();
    assert.equal(handshakes.context('a.tunnels.test'), undefined);
    await handshakes.prepare('a.tunnels.test');
    assert.ok(handshakes.context('a.tunnels.test'));
  });

  it('wait at most 30 s', async () => {
    const ready = handshakes.prepare('a.tunnels.test');
    await storeAnswers();
    clock.advance(CERTIFICATE_WAIT_MS - 1);
    assert.equal(handshakes.waits, 1);
    clock.advance(1);
    await ready;
    assert.equal(handshakes.waits, 0);
  });

  it('wait up to 32 at a time for a name, and 512 in all', async () => {
    const waiting: (Promise<void> | undefined)[] = [];
    const come = async (names: readonly string[]): Promise<void> => {
      for (const name of names) waiting.push(handshakes.prepare(name));
      await storeAnswers();
    };
    handshakes = make({
      holderOf: (name) => Promise.resolve({ account: name.split('.')[1] ?? '', subject: name }),
    });

    await come(Array.from({ length: CERTIFICATE_WAITS_PER_NAME_MAX + 1 }, () => 'a.ann.tunnels.test'));
    assert.equal(handshakes.waits, CERTIFICATE_WAITS_PER_NAME_MAX);
    await come(namesOf('ann', CERTIFICATE_WAITS_PER_ACCOUNT_MAX));
    assert.equal(handshakes.waits, CERTIFICATE_WAITS_PER_ACCOUNT_MAX);
    for (let count = 0; count < CERTIFICATE_WAITS_MAX / CERTIFICATE_WAITS_PER_ACCOUNT_MAX; count += 1)
      await come(namesOf(`account${count}`, CERTIFICATE_WAITS_PER_ACCOUNT_MAX));
    assert.equal(handshakes.waits, CERTIFICATE_WAITS_MAX);

    for (const go of finish) go();
    await Promise.all(waiting.filter((one) => one !== undefined));
    assert.equal(handshakes.waits, 0);
    await come(['a.ann.tunnels.test']);
    assert.equal(handshakes.waits, 1);
  });

  it('of a validating authority get the challenge certificate, those of others nothing', async () => {
    const challenges = new PresentedChallenges(store, clock, true);
    handshakes = make({ challenges });
    const expiresAt = clock.now() + 1000;
    const challenge = aChallenge({ type: 'tls-alpn-01', host: 'a.tunnels.test', expiresAt });
    await challenges.solver('tls-alpn-01').present(challenge);
    assert.ok(await handshakes.challenge('a.tunnels.test'));
    assert.equal(await handshakes.challenge('b.tunnels.test'), undefined);
    assert.equal(await handshakes.challenge('127.0.0.1'), undefined);
  });
});
