/**
 * The operator's identity provider (OpenID Connect Core, Discovery): found at the start and until it answers, asked for
 * each sign-in. It is another company's server, so its answers are bounded and believed no further than they must be.
 */
import type * as OAuth from 'oauth4webapi';
import type { Clock, Timer } from '../clock.ts';
import { describeError, type Log } from '../log.ts';
import type { Claims } from './people.ts';

/** How long the identity provider's response may take to arrive in full. */
export const PROVIDER_TIMEOUT_MS = 10_000;
/** Maximum size of an identity provider's response. */
export const PROVIDER_ANSWER_MAX_BYTES = 1024 * 1024;
/** Longest wait before the relay looks again for an identity provider that does not answer. */
export const PROVIDER_RETRY_MAX_MS = 30_000;
/** The first of these waits; each one is twice as long as the one before. */
const PROVIDER_RETRY_MS = 1000;
/** How far the clock of an identity provider may differ from the relay's, in seconds. */
export const PROVIDER_CLOCK_SECONDS = 60;

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

export interface ProviderSettings {
  readonly issuer: URL;
  readonly clientId: string;
  /** `undefined` for a public client */
  readonly clientSecret: string | undefined;
  readonly scopes: string;
}

/** One sign-in, as the provider is told about it. */
export interface Authorization {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636 */
  readonly verifier: string;
}

/** The provider does not answer, or not in a way that could be an answer. */
export class ProviderAwayError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'ProviderAwayError';
  }
}

/** The provider, or the browser that came from it, has sent something that proves nobody's identity. */
export class NotProvenError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'NotProvenError';
  }
}

interface ProviderOptions extends ProviderSettings {
  readonly clock: Clock;
  readonly log: Log;
  /** by default Node's */
  readonly fetch?: typeof fetch;
}

/** What was found out about the provider. */
interface Found {
  readonly library: typeof OAuth;
  readonly server: OAuth.AuthorizationServer;
}

export class IdentityProvider {
  readonly #options: ProviderOptions;
  readonly #fetch: typeof fetch;
  #found: Found | undefined;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: ProviderOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? fetch;
  }

  /** Whether people can sign in now. */
  get isReady(): boolean {
    return this.#found !== undefined;
  }

  /** Looks for it, again and again until it answers. @returns fulfilled after the first attempt; never rejects */
  async start(wait = PROVIDER_RETRY_MS): Promise<void> {
    const { log, clock, issuer } = this.#options;
    try {
      this.#found = await this.#discover();
      log('identity provider found', { issuer: issuer.href });
    } catch (error) {
      if (this.#isStopped) return;
      log('identity provider missing', { issuer: issuer.href, error: describeError(error), retry_ms: wait });
      const next = Math.min(PROVIDER_RETRY_MAX_MS, 2 * wait);
      this.#timer = clock.setTimeout(() => void this.start(next), wait);
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /**
   * The address where a browser signs in.
   *
   * @param isOther whether the person wants to be somebody else than the provider thinks
   * @throws ProviderAwayError
   */
  async addressFor(
    { redirectUri, state, nonce, verifier }: Authorization,
    isOther: boolean,
  ): Promise<string> {
    const { library, server } = this.#known();
    const { clientId, scopes } = this.#options;
    const url = this.#endpoint(server.authorization_endpoint);
    const set = (name: string, value: string): void => url.searchParams.set(name, value);
    set('response_type', 'code');
    set('client_id', clientId);
    set('redirect_uri', redirectUri);
    set('scope', scopes);
    set('state', state);
    set('nonce', nonce);
    set('code_challenge', await library.calculatePKCECodeChallenge(verifier));
    set('code_challenge_method', 'S256');
    if (isOther) set('prompt', promptOf(server));
    return url.href;
  }

  /**
   * Redeems the code that a browser has come back with.
   *
   * @param parameters of the address that the provider has sent the browser to
   * @returns what the provider says about the person
   * @throws ProviderAwayError, NotProvenError
   */
  async redeem(
    parameters: URLSearchParams,
    { redirectUri, state, nonce, verifier }: Authorization,
  ): Promise<Claims> {
    const { library, server } = this.#known();
    const client: OAuth.Client = {
      client_id: this.#options.clientId,
      [library.clockTolerance]: PROVIDER_CLOCK_SECONDS,
    };
    const options = {
      [library.customFetch]: this.#ask,
      [library.allowInsecureRequests]: true,
    };
    try {
      const response = library.validateAuthResponse(server, client, parameters, state);
      const authentication = this.#authentication(library, server);
      const answer = await library.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
        response,
        redirectUri,
        verifier,
        options,
      );
      const tokens = await library.processAuthorizationCodeResponse(server, client, answer, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      const claims = library.getValidatedIdTokenClaims(tokens);
      await library.validateApplicationLevelSignature(server, answer, options);
      return checked(claims, this.#options.clientId);
    } catch (error) {
      if (error instanceof ProviderAwayError || error instanceof NotProvenError) throw error;
      throw new NotProvenError(reasonOf(error));
    }
  }

  async #discover(): Promise<Found> {
    const library = await import('oauth4webapi');
    const { issuer } = this.#options;
    const answer = await library.discoveryRequest(issuer, {
      [library.customFetch]: this.#ask,
      [library.allowInsecureRequests]: true,
    });
    const found = await library.processDiscoveryResponse(issuer, answer);
    const { authorization_endpoint, token_endpoint, jwks_uri } = found;
    for (const endpoint of [authorization_endpoint, token_endpoint, jwks_uri]) this.#endpoint(endpoint);
    return { library, server: { ...found, id_token_signing_alg_values_supported: ALGORITHMS } };
  }

  #known(): Found {
    if (this.#found === undefined) throw new ProviderAwayError('it has not been found yet');
    return this.#found;
  }

  /**
   * An address of the provider. Only one on this machine may name others on this machine.
   *
   * @throws ProviderAwayError for an address that could be intercepted, or is none
   */
  #endpoint(address: string | undefined): URL {
    const url = URL.parse(address ?? '');
    const isSame = url?.protocol === 'https:' || url?.protocol === this.#options.issuer.protocol;
    if (url !== null && isSame && isSafe(url) && url.username === '' && url.password === '') return url;
    throw new ProviderAwayError('it names an address that is not https');
  }

  #authentication(library: typeof OAuth, server: OAuth.AuthorizationServer): OAuth.ClientAuth {
    const { clientSecret } = this.#options;
    if (clientSecret === undefined) return library.None();
    const offered = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isPost = !offered.includes('client_secret_basic') && offered.includes('client_secret_post');
    return isPost ? library.ClientSecretPost(clientSecret) : library.ClientSecretBasic(clientSecret);
  }

  /** Every request to the provider. @throws ProviderAwayError */
  readonly #ask = async (
    address: string,
    init: OAuth.CustomFetchOptions<string, URLSearchParams | undefined>,
  ): Promise<Response> => {
    const url = this.#endpoint(address);
    const controller = new AbortController();
    const timer = this.#options.clock.setTimeout(() => controller.abort(), PROVIDER_TIMEOUT_MS);
    try {
      const { method, headers, body = null } = init;
      const { signal } = controller;
      const response = await this.#fetch(url, { method, headers, body, redirect: 'manual', signal });
      const { status } = response;
      const bytes = await within(response, PROVIDER_ANSWER_MAX_BYTES);
      // A refused code is an answer; redirects are not followed.
      const isAnswer = status === 200 || (method === 'POST' && status >= 400 && status < 429);
      if (!isAnswer) throw new ProviderAwayError(`it responded with status ${status}`);
      return new Response(bytes, { status, headers: response.headers });
    } catch (error) {
      if (error instanceof ProviderAwayError) throw error;
      const isLate = controller.signal.aborted;
      throw new ProviderAwayError(isLate ? 'it did not respond in time' : describeError(error));
    } finally {
      timer.cancel();
    }
  };
}

/** The claims that the library leaves to its caller. @throws NotProvenError */
function checked(claims: OAuth.IDToken | undefined, clientId: string): Claims {
  if (claims === undefined) throw new NotProvenError('no-token');
  const latest = Date.now() / 1000 + PROVIDER_CLOCK_SECONDS;
  if (claims.iat > latest) throw new NotProvenError('issued-later');
  if (claims.azp !== undefined && claims.azp !== clientId) throw new NotProvenError('other-party');
  return claims;
}

/** Whether nobody in between can read what is sent to an address. */
export function isSafe({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** @throws ProviderAwayError for a response that is larger */
async function within(response: Response, max: number): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.length;
    // Leaving the loop cancels the rest.
    if (length > max) throw new ProviderAwayError('its response is too large');
    pieces.push(piece);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

/** Providers that know `select_account` without saying so. Google knows no `login`. */
const ACCOUNT_CHOOSERS: ReadonlySet<string> = new Set(['accounts.google.com', 'login.microsoftonline.com']);

/** How the provider is asked to let the person choose. Some refuse a sign-in with a value that they do not know. */
function promptOf({ issuer, prompt_values_supported: supported }: OAuth.AuthorizationServer): string {
  const isKnown = Array.isArray(supported)
    ? supported.includes('select_account')
    : ACCOUNT_CHOOSERS.has(new URL(issuer).hostname);
  return isKnown ? 'select_account' : 'login';
}

/** A word for the log: messages and causes contain what the provider or the browser has sent. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const refused = 'error' in error && typeof error.error === 'string' ? error.error : '';
  if (/^[a-z_]{1,40}$/.test(refused)) return refused;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return code.toLowerCase().replaceAll('_', '-');
}
