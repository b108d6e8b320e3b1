/** A real identity provider (the package oidc-provider), as an operator would register a relay at it. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Adapter, type AdapterPayload, type JWK, Provider } from 'oidc-provider';
import { eventually } from '../deadline.ts';
import type { Environment, Relay } from '../programs.ts';
import type { Scope } from '../scope.ts';
import { type HttpService, startHttpService } from './listen.ts';

const CLIENT_ID = 'culvert';
const CLIENT_SECRET = 'a secret of +30 characters & more';

/** What the provider says of a person whose account is an e-mail address. */
export type PersonClaims = Readonly<Record<string, unknown>>;

export class TestIdentityProvider {
  readonly issuer: string;
  /** what the relay is told about it */
  readonly settings: Environment;
  /** by account; others have their account as verified address */
  readonly people = new Map<string, PersonClaims>();
  readonly #service: HttpService;
  #provider: Provider;
  /** the registered addresses */
  readonly #callbacks: string[] = [];

  private constructor(service: HttpService) {
    this.#service = service;
    this.issuer = `http://127.0.0.1:${service.port}`;
    this.settings = {
      CULVERT_OIDC_ISSUER: this.issuer,
      CULVERT_OIDC_CLIENT_ID: CLIENT_ID,
      CULVERT_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      CULVERT_OIDC_NAME: 'Example',
      CULVERT_OIDC_SCOPES: 'openid email profile groups',
    };
    // It can be found before a relay is registered, which every process of one does at its start.
    this.#provider = this.#make();
  }

  static async start(scope: Scope): Promise<TestIdentityProvider> {
    const idp: TestIdentityProvider = new TestIdentityProvider(
      await startHttpService(scope, (request, response) => void idp.#respond(request, response)),
    );
    return idp;
  }

  /** Registers a relay: the address has to be known first. */
  register(publicUrl: string): void {
    this.#callbacks.push(`${publicUrl}/auth/callback`);
    this.#provider = this.#make();
  }

  get port(): number {
    return this.#service.port;
  }

  #make(): Provider {
    const provider = new Provider(this.issuer, {
      adapter: Stored,
      jwks: { keys: [SIGNING_KEY] },
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: this.#callbacks,
          response_types: ['code'],
          grant_types: ['authorization_code'],
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'], profile: ['name'] },
      scopes: ['openid', 'email', 'profile', 'groups'],
      // As Google, Entra, Keycloak, Authentik and Dex do.
      conformIdTokenClaims: false,
      cookies: { keys: ['a key of the test'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, accountId) => ({
        accountId,
        claims: () => ({
          sub: accountId,
          ...(this.people.get(accountId) ?? { email: accountId, email_verified: true }),
        }),
      }),
      ttl: {
        Session: 3600,
        Interaction: 600,
        Grant: 3600,
        AuthorizationCode: 60,
        AccessToken: 60,
        IdToken: 60,
      },
    });
    // Otherwise the library logs what a test provokes.
    provider.on('server_error', () => {});
    return provider;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const provider = this.#provider;
    const { method, url = '' } = request;
    if (!url.startsWith('/interaction/')) return void provider.callback()(request, response);
    const { prompt, session, params } = await provider.interactionDetails(request, response);
    if (prompt.name === 'login' && method !== 'POST')
      return void response.setHeader('Content-Type', 'text/html').end(LOGIN_PAGE);
    let accountId = session?.accountId ?? '';
    if (prompt.name === 'login') {
      let body = '';
      for await (const piece of request) body += String(piece);
      accountId = new URLSearchParams(body).get('account') ?? '';
      return await provider.interactionFinished(request, response, { login: { accountId } });
    }
    const grant = new provider.Grant({ accountId, clientId: String(params['client_id']) });
    grant.addOIDCScope(String(params['scope']));
    const consent = { grantId: await grant.save() };
    await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
  }
}

const SIGNING_KEY = {
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid: 'signs',
  use: 'sig',
} as JWK;

const stored = new Map<string, AdapterPayload>();

/** What the provider keeps, in memory; its own store of that kind warns on every start. */
class Stored implements Adapter {
  readonly #kind: string;

  constructor(kind: string) {
    this.#kind = kind;
  }

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    stored.set(`${this.#kind} ${id}`, payload);
    await Promise.resolve();
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return await Promise.resolve(stored.get(`${this.#kind} ${id}`));
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return await Promise.resolve([...stored.values()].find((payload) => payload.uid === uid));
  }

  async findByUserCode(): Promise<undefined> {
    await Promise.resolve();
  }

  async consume(id: string): Promise<void> {
    Object.assign((await this.find(id)) ?? {}, { consumed: Math.floor(Date.now() / 1000) });
  }

  async destroy(id: string): Promise<void> {
    await Promise.resolve(stored.delete(`${this.#kind} ${id}`));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, payload] of stored) if (payload.grantId === grantId) stored.delete(key);
    await Promise.resolve();
  }
}

const LOGIN_PAGE = `<!doctype html><title>Example</title><link rel="icon" href="data:,">
<form method="post"><label>Account <input name="account"></label> <button>Sign in</button></form>`;

/** Waits until relays have found their provider: before that, a sign-in answers 503. */
export async function findProvider(...relays: readonly Pick<Relay, 'child'>[]): Promise<void> {
  for (const { child } of relays)
    await eventually(20_000, () => assert.match(child.stderr, /identity provider found/));
}
