/** An identity provider as the function that the relay fetches with, and a sign-in flow that uses it. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto';
import { IdentityProvider, type ProviderSettings } from '../access/identity-provider.ts';
import { Seals } from '../access/seals.ts';
import { ARRIVAL_RATE, SignIn, type SignInTunnel, STATE_RATE } from '../access/sign-in.ts';
import { networkOf } from '../address-network.ts';
import type { Log, LogFields } from '../log.ts';
import { RateLimiter } from '../rate-limiter.ts';
import { Turnstile } from '../turnstile.ts';
import { FakeClock } from './fake-clock.ts';

export const ISSUER = 'https://id.example.com';
const CLIENT_ID = 'the relay';

type Algorithm = 'RS256' | 'ES256' | 'EdDSA';

interface SigningKey {
  readonly alg: Algorithm;
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: object;
}

export function signingKey(alg: Algorithm, kid: string): SigningKey {
  const { privateKey, publicKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519');
  return { alg, kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } };
}

const KEYS = [signingKey('RS256', 'rsa')];

type Answer = (request: Request) => Response | Promise<Response>;

/** Every member may be changed by a test. */
export class FakeProvider {
  metadata: Record<string, unknown> = {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/authorize`,
    token_endpoint: `${ISSUER}/token`,
    jwks_uri: `${ISSUER}/keys`,
  };
  published: readonly SigningKey[] = KEYS;
  signsWith: SigningKey = KEYS[0] ?? assert.fail();
  /** the person who signs in */
  claims: Record<string, unknown> = { sub: 'u1', email: 'ann@example.com', email_verified: true };
  /** the last step before an ID token is sent: changes the token */
  forge = (token: string): string => token;
  /** instead of the usual answer, by path */
  answers: Record<string, Answer> = {};
  /** what was asked for, by method and path */
  readonly asked: string[] = [];
  /** the form and the `Authorization` of the last request for a token */
  lastToken: { form: URLSearchParams; authorization: string | null } | undefined;
  /** nonce and challenge of each code that was given */
  readonly #codes = new Map<string, { nonce: string; challenge: string }>();

  /** @param address where the relay has sent a browser @returns the address that the provider sends it to */
  signIn(address: string, more: Record<string, string> = {}): URL {
    const { searchParams, origin, pathname } = new URL(address);
    assert.equal(`${origin}${pathname}`, this.metadata['authorization_endpoint']);
    const get = (name: string): string => searchParams.get(name) ?? assert.fail(`no ${name}`);
    assert.equal(get('response_type'), 'code');
    assert.equal(get('client_id'), CLIENT_ID);
    assert.equal(get('code_challenge_method'), 'S256');
    const code = `code-${this.#codes.size}`;
    this.#codes.set(code, { nonce: get('nonce'), challenge: get('code_challenge') });
    const back = new URL(get('redirect_uri'));
    for (const [name, value] of Object.entries({ state: get('state'), code, ...more }))
      back.searchParams.set(name, value);
    return back;
  }

  /** An ID token for a nonce. */
  token(nonce: string, header: object = {}): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: ISSUER, aud: CLIENT_ID, iat: now, exp: now + 300, nonce, ...this.claims };
    const { alg, kid, privateKey } = this.signsWith;
    const text = `${encode({ alg, kid, ...header })}.${encode(claims)}`;
    const digest = alg === 'EdDSA' ? null : 'sha256';
    const signature = sign(digest, Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    this.asked.push(`${request.method} ${pathname}`);
    const answer = this.answers[pathname];
    const aborted = new Promise<never>((_resolve, reject) => {
      request.signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
    return await Promise.race([answer === undefined ? this.#answer(request) : answer(request), aborted]);
  };

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/.well-known/openid-configuration') return Response.json(this.metadata);
    if (pathname === '/keys') return Response.json({ keys: this.published.map(({ jwk }) => jwk) });
    if (pathname !== '/token') return new Response('', { status: 404 });
    const form = new URLSearchParams(await request.text());
    this.lastToken = { form, authorization: request.headers.get('authorization') };
    const code = form.get('code') ?? '';
    const given = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
    if (given === undefined || given.challenge !== challenge)
      return Response.json({ error: 'invalid_grant' }, { status: 400 });
    const id_token = this.forge(this.token(given.nonce));
    return Response.json({ access_token: 'secret', token_type: 'Bearer', id_token });
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** A sign-in flow with a {@link FakeProvider}. */
export class SignInFixture {
  readonly clock = new FakeClock();
  readonly fake = new FakeProvider();
  readonly logged: (readonly [string, LogFields])[] = [];
  readonly provider: IdentityProvider;
  readonly seals: Seals;
  readonly signIn: SignIn;
  publicUrl = new URL('https://relay.test');
  /** by id */
  readonly tunnels = new Map<string, SignInTunnel>();

  constructor(settings: Partial<ProviderSettings> = {}) {
    const { clock, fake } = this;
    const log: Log = (event, fields = {}) => void this.logged.push([event, fields]);
    this.provider = new IdentityProvider({
      issuer: new URL(ISSUER),
      clientId: CLIENT_ID,
      clientSecret: 'se cret+',
      scopes: 'openid email profile',
      ...settings,
      clock,
      log,
      fetch: fake.fetch,
    });
    this.seals = new Seals(
      () => ({ current: 'key', others: ['older key'] }),
      () => clock.now(),
    );
    this.signIn = new SignIn({
      provider: this.provider,
      name: 'Example',
      groupsClaim: 'groups',
      seconds: 43_200,
      seals: this.seals,
      publicUrl: () => this.publicUrl,
      findTunnel: (id) => Promise.resolve(this.tunnels.get(id)),
      states: new RateLimiter(clock, STATE_RATE),
      arrivals: new RateLimiter(clock, ARRIVAL_RATE),
      exchanges: new Turnstile({ atOnce: { all: 2, group: 2 } }),
      log,
    });
  }

  /** Finishes a sign-in at an address that the provider has sent a browser to. */
  finish(back: URL, browser: string, address = '192.0.2.1') {
    return this.signIn.finish(back.searchParams, [browser], networkOf(address));
  }
}

/** A flow at a relay without an identity provider. */
export function noSignIn(clock: FakeClock): SignIn {
  return new SignIn({
    provider: undefined,
    name: '',
    groupsClaim: '',
    seconds: 0,
    seals: new Seals(
      () => ({ current: 'key', others: [] }),
      () => clock.now(),
    ),
    publicUrl: () => new URL('http://localhost:8080'),
    findTunnel: () => Promise.resolve(undefined),
    states: new RateLimiter(clock, STATE_RATE),
    arrivals: new RateLimiter(clock, ARRIVAL_RATE),
    exchanges: new Turnstile({ atOnce: { all: 1, group: 1 } }),
    log: () => {},
  });
}
