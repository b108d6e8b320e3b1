import assert from 'node:assert/strict';
import { type KeyObject, X509Certificate } from 'node:crypto';
import { systemClock } from '../../clock.ts';
import type { ChallengeRecord } from '../../store/records.ts';
import { FakeAuthority } from '../../testing/fake-authority.ts';
import type { ChallengeSolver } from '../challenge-solver.ts';
import { ACME_CHAIN_MAX, ACME_ORDER_TIMEOUT_MS, type Issued, Order, UnprovenError } from './order.ts';
import { AcmeSession, AuthorityError } from './session.ts';
import { newKey, publicKeyOf } from './x509.ts';

/** RSA with 1024 bits, which TLS does not accept. */
const WEAK = `-----BEGIN CERTIFICATE-----
MIIB/DCCAWWgAwIBAgIUKGhsGRchC6xLDqo7ZkJ9duemK3swDQYJKoZIhvcNAQEF
BQAwDzENMAsGA1UEAwwEd2VhazAgFw0yNjExMjMxMTU3NThaGA8yMTI2MTAzMDEx
NTc1OFowDzENMAsGA1UEAwwEd2VhazCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkC
gYEAoPJkK7tj1PygQMb1B6NxpqRYKr4NfOML8NPWwOZ0O2eJcaJf0iCtMlChiPmR
7G8swHKw2FG1oMzjClaeCZhp37xY06pv3DgE889D/eljQlO52LZ2iw0gNrk/2war
hkdyZy3t+NtxYrAFJIjChd+rrKuFF5A/npBi6voYsMi/jI0CAwEAAaNTMFEwHQYD
VR0OBBYEFNEB/Q4CIHr5GTbfrrOCWelLZrTVMB8GA1UdIwQYMBaAFNEB/Q4CIHr5
GTbfrrOCWelLZrTVMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQEFBQADgYEA
WyrCbGQjeAqB3D0xWmIHTu1EBCxeI+NZAPqE/bUYyxq9iOVKWFCDMCpugh7iHFyw
IrUk3dbLY6/mmqPP+tNflkstpcK6cJNDmRv0nfP5qqY9ZeLu6PX/mGXhG4EO7J+1
8aUiuVhe7BR8OWBsdGwZ7Qvggm7h+rQuaPbzyp35Rs4=
-----END CERTIFICATE-----
`;

describe('an order', () => {
  let key: KeyObject;
  let authority: FakeAuthority;
  let presented: ChallengeRecord[];
  let withdrawn: ChallengeRecord[];
  let passed: number;

  before(async () => {
    key = await newKey();
  });

  beforeEach(() => {
    authority = new FakeAuthority(() => Date.now());
    presented = [];
    withdrawn = [];
    passed = 0;
  });

  /** Waits for nothing, and lets that much time pass. */
  const clock = {
    ...systemClock,
    monotonic: () => passed,
    setTimeout: (fn: () => void, ms: number) => {
      passed += ms;
      setImmediate(fn);
      return { cancel() {} };
    },
  };

  const solver: ChallengeSolver = {
    type: 'http-01',
    present: (challenge) => Promise.resolve(void presented.push(challenge)),
    withdraw: (challenge) => Promise.resolve(void withdrawn.push(challenge)),
  };

  async function order(name = 'a.test'): Promise<Issued> {
    const session = new AcmeSession(authority, authority.directory);
    const account = await session.register(key, 'operator@relay.test');
    return await new Order(session, { key, account }, clock).run([name], solver);
  }

  it('presents what the authority looks for, gets a certificate for a new key, and withdraws the challenge', async () => {
    const { chain, key: pem } = await order();
    assert.equal(new X509Certificate(chain).subjectAltName, 'DNS:a.test');
    assert.match(pem, /^-----BEGIN PRIVATE KEY-----/);
    assert.notEqual((await order()).key, pem);
    const [first] = presented;
    assert.deepEqual([first?.host, first?.type], ['a.test', 'http-01']);
    assert.ok(first?.keyAuthorization.startsWith(`${first.token}.`));
    assert.deepEqual(withdrawn, presented);
  });

  it('proves the domain of a wildcard', async () => {
    const { chain } = await order('*.a.test');
    assert.equal(new X509Certificate(chain).subjectAltName, 'DNS:*.a.test');
    assert.equal(presented[0]?.host, 'a.test');
  });

  it("reports which challenge failed, and the authority's reason", async () => {
    authority.finds = () => false;
    await assert.rejects(
      order(),
      (error) => error instanceof UnprovenError && /not found there/.test(String(error.cause)),
    );
    assert.deepEqual(withdrawn, presented);
  });

  it('is abandoned after two minutes', async () => {
    authority.fault = ({ url }) =>
      url.includes('/authz/') && presented.length > 0
        ? { ...authority.problem(200, ''), body: Buffer.from('{"status":"pending"}') }
        : undefined;
    await assert.rejects(
      order(),
      (error) => error instanceof AuthorityError && /120000 ms/.test(error.message),
    );
    assert.ok(passed >= ACME_ORDER_TIMEOUT_MS && passed < ACME_ORDER_TIMEOUT_MS + 10_000, String(passed));
    assert.deepEqual(withdrawn, presented);
  });

  it('rejects a certificate for another key or another name, and what is unusable for handshakes', async () => {
    const { issue } = authority;
    const others = publicKeyOf(await newKey());
    for (const unusable of [
      (_name: string, publicKey: Buffer) => issue('b.test', publicKey),
      (name: string) => issue(name, others),
      () => Promise.resolve('nothing'),
      async (name: string, publicKey: Buffer) => (await issue(name, publicKey)) + WEAK,
    ]) {
      authority.issue = unusable;
      await assert.rejects(order(), /no usable certificate/);
    }
  });

  it('accepts at most ten certificates in a chain', async () => {
    const { issue } = authority;
    authority.issue = async (name, publicKey) => (await issue(name, publicKey)).repeat(ACME_CHAIN_MAX);
    assert.equal((await order()).chain.match(/BEGIN/g)?.length, ACME_CHAIN_MAX);
    authority.issue = async (name, publicKey) => (await issue(name, publicKey)).repeat(ACME_CHAIN_MAX + 1);
    await assert.rejects(order(), /too many certificates/);
  });
});
