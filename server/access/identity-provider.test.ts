/** The answers of a provider that are believed, and those that are not. `FakeProvider` signs with real keys. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { type FakeProvider, ISSUER, SignInFixture, signingKey } from '../testing/fake-provider.ts';
import { type Authorization, NotProvenError, ProviderAwayError } from './identity-provider.ts';

const AUTHORIZATION: Authorization = {
  redirectUri: 'https://relay.test/auth/callback',
  state: 'the state',
  nonce: 'the nonce',
  verifier: 'v'.repeat(43),
};
const DISCOVERY = '/.well-known/openid-configuration';

function now(): number {
  return Math.floor(Date.now() / 1000);
}

describe('the identity provider', () => {
  let fixture: SignInFixture;
  let fake: FakeProvider;

  beforeEach(() => {
    fixture = new SignInFixture();
    ({ fake } = fixture);
  });

  /** A whole sign-in. @param more parameters of the address that the browser comes back with */
  async function signIn(more: Record<string, string> = {}) {
    const { provider } = fixture;
    if (!provider.isReady) await provider.start();
    const back = fake.signIn(await provider.addressFor(AUTHORIZATION, false), more);
    return await provider.redeem(back.searchParams, AUTHORIZATION);
  }

  async function refuses(more: Record<string, string> = {}, reason?: string): Promise<void> {
    await assert.rejects(signIn(more), (error: Error) => {
      assert.ok(error instanceof NotProvenError, String(error));
      if (reason !== undefined) assert.equal(error.message, reason);
      return true;
    });
  }

  async function isAway(reason: RegExp): Promise<void> {
    await assert.rejects(signIn(), (error: Error) => {
      assert.ok(error instanceof ProviderAwayError, String(error));
      assert.match(error.message, reason);
      return true;
    });
  }

  /** The same claims with another header, signed in another way. */
  function forgeWith(header: object, sign: (text: string) => string): void {
    fake.forge = (token) => {
      const text = `${encode(header)}.${token.split('.')[1] ?? ''}`;
      return `${text}.${sign(text)}`;
    };
  }

  function fetched(): number {
    return fake.asked.filter((asked) => asked === 'GET /keys').length;
  }

  /** How the relay proves who it is. */
  async function authorizationOf(secret: string | undefined, offered?: readonly string[]) {
    fixture = new SignInFixture({ clientSecret: secret });
    ({ fake } = fixture);
    if (offered !== undefined) fake.metadata['token_endpoint_auth_methods_supported'] = offered;
    await signIn();
    const { authorization, form } = fake.lastToken ?? assert.fail('no request');
    assert.equal(form.get('redirect_uri'), AUTHORIZATION.redirectUri);
    return [authorization, form.get('client_id'), form.get('client_secret')];
  }

  describe('an ID token', () => {
    for (const alg of ['RS256', 'ES256', 'EdDSA'] as const)
      it(`is believed with a signature of ${alg}`, async () => {
        const key = signingKey(alg, 'new');
        Object.assign(fake, { published: [key], signsWith: key });
        assert.equal((await signIn())['email'], 'ann@example.com');
      });

    for (const alg of ['none', 'None', 'HS256', 'RS512', 'PS256', 'ES512'])
      it(`is refused with the algorithm ${alg}`, async () => {
        const secrets = ['se cret+', JSON.stringify(fake.published[0]?.jwk)];
        for (const secret of secrets) {
          const mac = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');
          forgeWith({ alg, kid: 'rsa' }, alg.toLowerCase() === 'none' ? () => '' : mac);
          await refuses();
        }
      });

    it('is refused with a key that the issuer does not publish, or with extensions that nobody knows', async () => {
      fake.signsWith = signingKey('RS256', 'rsa');
      await refuses();
      fake.signsWith = { ...signingKey('RS256', 'rsa'), jwk: {} };
      fake.forge = () => fake.token(AUTHORIZATION.nonce, { jwk: fake.signsWith.jwk });
      await refuses();
      fake.signsWith = fake.published[0] ?? assert.fail();
      fake.forge = () => fake.token(AUTHORIZATION.nonce, { crit: ['b64'] });
      await refuses();
    });

    for (const [what, claims] of [
      ['for another client', () => ({ aud: 'somebody else' })],
      ['for several, without a party', () => ({ aud: ['the relay', 'somebody else'] })],
      ['for several, made for another', () => ({ aud: ['the relay', 'other'], azp: 'other' })],
      ['made for another party', () => ({ azp: 'other' })],
      ['of another issuer', () => ({ iss: 'https://evil.example' })],
      ['of an issuer with a slash', () => ({ iss: `${ISSUER}/` })],
      ['of another sign-in', () => ({ nonce: 'another' })],
      ['of none', () => ({ nonce: undefined })],
      ['that ended a minute ago', () => ({ exp: now() - 61 })],
      ['that was issued in more than a minute', () => ({ iat: now() + 90 })],
      ['that is not valid for a minute yet', () => ({ nbf: now() + 90 })],
      ['without an end', () => ({ exp: undefined })],
      ['without a beginning', () => ({ iat: undefined })],
      ['with an end that is a text', () => ({ exp: String(now() + 300) })],
      ['with a beginning that is a text', () => ({ iat: String(now()) })],
      ['about nobody', () => ({ sub: undefined })],
    ] satisfies [string, () => object][])
      it(`is refused ${what}`, async () => {
        fake.claims = { ...fake.claims, ...claims() };
        await refuses();
      });

    it('is believed a minute early and late, and for several if the relay is the party', async () => {
      for (const claims of [
        { exp: now() - 50, iat: now() - 300 },
        { iat: now() + 50 },
        { aud: ['the relay', 'other'], azp: 'the relay' },
      ]) {
        fake.claims = { sub: 'u1', ...claims };
        assert.equal((await signIn())['sub'], 'u1');
      }
    });

    for (const token of ['', 'a.b', 'a.b.c', `${encode({ alg: 'RS256' })}.${encode([])}.x`, 'a.b.c.d.e'])
      it(`is refused if it is ${JSON.stringify(token)}`, async () => {
        fake.forge = () => token;
        await refuses();
      });
  });

  describe('its keys', () => {
    /** Lets time pass for the library, which reads the clock of the machine. */
    let passed = 0;
    const { now: realNow } = Date;

    beforeEach(() => {
      passed = 0;
      Date.now = () => realNow() + passed;
    });

    afterEach(() => {
      Date.now = realNow;
    });

    it('are fetched again when one is unknown, at most once a minute', async () => {
      await signIn();
      await signIn();
      assert.equal(fetched(), 1);
      const next = signingKey('ES256', 'next');
      Object.assign(fake, { published: [next], signsWith: next });
      await refuses();
      assert.equal(fetched(), 1);
      passed = 61_000;
      await signIn();
      fake.signsWith = signingKey('ES256', 'unknown');
      await refuses();
      await refuses();
      assert.equal(fetched(), 2);
    });

    it('are fetched once for many who sign in at the same time', async () => {
      await fixture.provider.start();
      await Promise.all([signIn(), signIn(), signIn()]);
      assert.equal(fetched(), 1);
    });

    it('are fetched again at once if they could not be had', async () => {
      fake.answers['/keys'] = () => new Response('', { status: 500 });
      await isAway(/status 500/);
      delete fake.answers['/keys'];
      await signIn();
    });
  });

  describe('the browser that comes back', () => {
    it('is refused with another state, code or issuer, with several of them, or with an error', async () => {
      await refuses({ state: 'another' });
      await refuses({ code: 'another' }, 'invalid_grant');
      await refuses({ code: '' });
      await refuses({ iss: 'https://evil.example' });
      await refuses({ error: 'access_denied' }, 'access_denied');
      await refuses({ error: 'ann@example.com is <b>no</b>\r\nmember' });
      await refuses({ response: 'a.b.c' });
      await refuses({ id_token: fake.token(AUTHORIZATION.nonce) });
      const back = fake.signIn(await fixture.provider.addressFor(AUTHORIZATION, false));
      back.searchParams.append('code', 'another');
      await assert.rejects(fixture.provider.redeem(back.searchParams, AUTHORIZATION), NotProvenError);
    });

    it('is refused without an issuer that the provider says it sends', async () => {
      fake.metadata['authorization_response_iss_parameter_supported'] = true;
      await refuses();
      await signIn({ iss: ISSUER });
    });

    it('is refused with a code that was given for another verifier, or used before', async () => {
      await fixture.provider.start();
      const back = fake.signIn(await fixture.provider.addressFor(AUTHORIZATION, false));
      const other = { ...AUTHORIZATION, verifier: 'w'.repeat(43) };
      await assert.rejects(fixture.provider.redeem(back.searchParams, other), NotProvenError);
      await assert.rejects(fixture.provider.redeem(back.searchParams, AUTHORIZATION), NotProvenError);
    });

    it('never has its data or the provider’s in a reason', async () => {
      const body = { error: 'Ann <ann@example.com>', error_description: 'ann@example.com' };
      fake.answers['/token'] = () => Response.json(body, { status: 400 });
      await assert.rejects(signIn(), (error: Error) => !error.message.includes('nn'));
    });
  });

  describe('the relay as its client', () => {
    it('authenticates by Basic with both parts encoded, or as it is offered, or not at all', async () => {
      const basic = `Basic ${Buffer.from('the+relay:se+cret%2B').toString('base64')}`;
      assert.deepEqual(await authorizationOf('se cret+'), [basic, null, null]);
      assert.deepEqual(await authorizationOf('se cret+', ['client_secret_post', 'client_secret_basic']), [
        basic,
        null,
        null,
      ]);
      const posted = [null, 'the relay', 'se cret+'];
      assert.deepEqual(await authorizationOf('se cret+', ['client_secret_post']), posted);
      assert.deepEqual(await authorizationOf(undefined), [null, 'the relay', null]);
    });

    it('lets a person choose in the way that the provider knows', async () => {
      for (const [supported, prompt] of [
        [undefined, 'login'],
        [['login', 'select_account'], 'select_account'],
        [['none', 'login'], 'login'],
        ['Google', 'select_account'],
      ] as const) {
        const issuer = supported === 'Google' ? 'https://accounts.google.com' : ISSUER;
        fixture = new SignInFixture({ issuer: new URL(issuer) });
        Object.assign(fixture.fake.metadata, {
          issuer,
          ...(supported !== 'Google' && { prompt_values_supported: supported }),
        });
        await fixture.provider.start();
        const { searchParams } = new URL(await fixture.provider.addressFor(AUTHORIZATION, true));
        assert.equal(searchParams.get('prompt'), prompt);
      }
      const { searchParams } = new URL(await fixture.provider.addressFor(AUTHORIZATION, false));
      assert.equal(searchParams.get('prompt'), null);
      assert.equal(searchParams.get('scope'), 'openid email profile');
    });
  });

  describe('when it does not answer as one', () => {
    const answers: Record<string, readonly [() => Response | Promise<Response>, RegExp]> = {
      refuses: [() => new Response('', { status: 500 }), /status 500/],
      redirects: [() => Response.redirect('https://evil.example/'), /status 302/],
      'is not found': [() => new Response('', { status: 404 }), /status 404/],
      'sends 1 MiB and a byte': [() => new Response('x'.repeat(1024 * 1024 + 1)), /too large/],
      'breaks off': [() => Promise.reject(new Error('socket hang up')), /socket hang up/],
    };
    for (const [what, [answer, reason]] of Object.entries(answers)) {
      it(`is not found if it ${what}, and found when it answers`, async () => {
        const { provider, clock, logged } = fixture;
        fake.answers[DISCOVERY] = answer;
        await provider.start();
        assert.ok(!provider.isReady);
        assert.equal(logged[0]?.[0], 'identity provider missing');
        assert.match(String(logged[0]?.[1]['error']), reason);
        delete fake.answers[DISCOVERY];
        clock.advance(1000);
        await until(() => provider.isReady);
        assert.equal(logged[1]?.[0], 'identity provider found');
      });

      it(`proves nobody’s identity if its keys are away: it ${what}`, async () => {
        fake.answers['/keys'] = answer;
        await isAway(reason);
      });

      if (what !== 'is not found')
        it(`proves nobody’s identity if it ${what} at the end`, async () => {
          fake.answers['/token'] = answer;
          await isAway(reason);
        });
    }

    it('has 10 s for each answer', async () => {
      const { provider, clock } = fixture;
      fake.answers['/token'] = () => new Promise(() => {});
      const waiting = isAway(/did not respond in time/);
      await until(() => fake.asked.includes('POST /token'));
      clock.advance(9999);
      assert.equal(clock.pending, 1);
      clock.advance(1);
      await waiting;
      assert.ok(provider.isReady);
    });

    it('is asked again after at most 30 s, and no more once the relay stops', async () => {
      const { provider, clock, logged } = fixture;
      fake.answers[DISCOVERY] = () => new Response('', { status: 503 });
      await provider.start();
      for (let tries = 1; tries < 9; tries += 1) {
        clock.advance(30_000);
        await until(() => logged.length === tries + 1);
      }
      assert.deepEqual(
        logged.map(([, { retry_ms }]) => retry_ms),
        [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000],
      );
      provider.stop();
      assert.equal(clock.pending, 0);
    });

    for (const [what, metadata] of [
      ['another issuer', { issuer: 'https://evil.example' }],
      ['no issuer', { issuer: undefined }],
      ['a token endpoint without https', { token_endpoint: 'http://id.example.com/token' }],
      ['a token endpoint on this machine', { token_endpoint: 'http://127.0.0.1/token' }],
      ['keys in a file', { jwks_uri: 'file:///etc/passwd' }],
      ['no keys', { jwks_uri: undefined }],
      ['a script as the address of its page', { authorization_endpoint: 'javascript:alert(1)' }],
      ['a user in an address', { authorization_endpoint: 'https://relay.test@evil.example/' }],
    ] as const)
      it(`is not found if it names ${what}`, async () => {
        Object.assign(fake.metadata, metadata);
        await fixture.provider.start();
        assert.ok(!fixture.provider.isReady);
        fixture.provider.stop();
      });

    it('may name addresses without https if it is on this machine itself', async () => {
      const issuer = 'http://127.0.0.1:9';
      fixture = new SignInFixture({ issuer: new URL(issuer) });
      const endpoints = { authorization_endpoint: `${issuer}/a`, token_endpoint: `${issuer}/token` };
      fixture.fake.metadata = { issuer, ...endpoints, jwks_uri: `${issuer}/keys` };
      await fixture.provider.start();
      assert.ok(fixture.provider.isReady);
    });
  });
});

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** Waits for what promises bring about: some of them wait for the threads of the crypto library. */
async function until(condition: () => boolean): Promise<void> {
  const limit = performance.now() + 20_000;
  while (!condition() && performance.now() < limit) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(condition());
}
