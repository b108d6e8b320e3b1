import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { ACME_NONCE_RETRIES, ACME_NONCES_MAX } from '../../limits.ts';
import { FakeAuthority } from '../../testing/fake-authority.ts';
import { AcmeProblem, AuthorityError } from './problem.ts';
import { AcmeSession } from './session.ts';
import type { Answer } from './transport.ts';
import { newKey } from './x509.ts';

describe('AcmeSession', () => {
  let authority: FakeAuthority;
  let session: AcmeSession;
  let key: KeyObject;

  before(async () => {
    key = await newKey();
  });

  beforeEach(() => {
    authority = new FakeAuthority(() => 0);
    session = new AcmeSession(authority, authority.directory);
  });

  function register(): Promise<string> {
    return session.register(key, 'operator@relay.test');
  }

  it('asks for the directory once, and for no nonce while it has one', async () => {
    await register();
    await register();
    assert.deepEqual(authority.asked, ['/dir', '/nonce', '/account', '/account']);
  });

  it('asks for the directory again if it could not be had', async () => {
    authority.isDown = true;
    await assert.rejects(register(), AuthorityError);
    authority.isDown = false;
    assert.match(await register(), /^https:/);
  });

  it('uses no nonce twice', async () => {
    const nonces: string[] = [];
    authority.fault = ({ nonce }) => {
      nonces.push(nonce);
      return undefined;
    };
    for (let count = 0; count < 5; count += 1) await register();
    assert.equal(new Set(nonces).size, 5);
  });

  it('tries again with another nonce, eight times and no more', async () => {
    let refused = 0;
    let limit = ACME_NONCE_RETRIES;
    authority.fault = () => (refused++ < limit ? authority.problem(400, 'badNonce') : undefined);
    await register();
    assert.equal(refused, ACME_NONCE_RETRIES + 1);
    refused = 0;
    limit = Infinity;
    await assert.rejects(register(), AuthorityError);
    assert.equal(refused, ACME_NONCE_RETRIES + 1);
  });

  it('keeps 16 nonces at most', async () => {
    const held: (() => void)[] = [];
    const send = authority.send.bind(authority);
    authority.send = async (url, body) => {
      const answer = await send(url, body);
      await new Promise<void>((resolve) => {
        held.push(resolve);
        if (url.endsWith('/dir') || held.length >= ACME_NONCES_MAX + 4) for (const go of held.splice(0)) go();
      });
      return answer;
    };
    await Promise.all(Array.from({ length: ACME_NONCES_MAX + 4 }, register));
    authority.send = send;
    authority.asked.length = 0;
    for (let count = 0; count < ACME_NONCES_MAX; count += 1) await register();
    assert.ok(!authority.asked.includes('/nonce'));
    // As many as it kept, though more had come: two at a time need another one.
    authority.asked.length = 0;
    await Promise.all(Array.from({ length: ACME_NONCES_MAX + 1 }, register));
    assert.equal(authority.asked.filter((path) => path === '/nonce').length, 1);
  });

  it('tells refusals from an authority that cannot be used', async () => {
    authority.fault = () => authority.problem(403, 'rejectedIdentifier');
    await assert.rejects(
      register(),
      (error) => error instanceof AcmeProblem && error.type === 'rejectedIdentifier',
    );
    for (const [status, type] of [
      [429, 'rateLimited'],
      [503, 'serverInternal'],
      [403, 'rateLimited'],
    ] as const) {
      authority.fault = () => authority.problem(status, type, { 'retry-after': '70' });
      await assert.rejects(
        register(),
        (error) => error instanceof AuthorityError && error.retryAfterMs === 70_000,
      );
    }
  });

  it('takes no addresses but https, and nothing that is no JSON', async () => {
    const location = (to: string): Answer => ({
      ...authority.problem(201, 'none'),
      headers: { location: to },
    });
    for (const to of ['http://authority.test/1', '/1', '']) {
      authority.fault = () => location(to);
      await assert.rejects(register(), AuthorityError, to);
    }
    authority.send = () =>
      Promise.resolve({ status: 200, headers: {}, body: Buffer.from('<html>'), retryAfterMs: undefined });
    session = new AcmeSession(authority, authority.directory);
    await assert.rejects(register(), AuthorityError);
  });

  it('logs what an authority says without what terminals would obey', () => {
    const error = new AcmeProblem('malformed', `a\u001b[2Jb\n${'x'.repeat(1000)}`, 400);
    assert.match(error.message, /^malformed: a\?\[2Jb\?x+$/);
    assert.ok(error.message.length < 330);
  });
});
