/** The OAuth endpoints at the relay's own host (protocol.md section 11.6). They are no part of the REST interface. */
import type { Router } from '@koa/router';
import { ApiError } from '../../shared/errors.ts';
import { page } from '../../shared/page.ts';
import { networkOf } from '../address-network.ts';
import { type ApiContext, type ApiMiddleware, type ApiState, readBody, readBodyAs } from '../api/guards.ts';
import { browserOf, respondWithPage } from '../api/pages.ts';
import { VISITOR_ADDRESS_FIELD } from '../edge/request-head.ts';
import { STORE_RETRY_AFTER_SECONDS, StoreError } from '../store/store-errors.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { AUTHORIZE_PATH, type Answer, type Authorization, type Person } from './authorization.ts';
import { type AuthorizationRequest, isFault, readAuthorizationRequest } from './authorization-request.ts';
import { isRecord, readMetadata } from './client-documents.ts';
import { type Clients, REGISTRATION_MAX_LENGTH } from './clients.ts';
import {
  ANY_ORIGIN,
  PREFLIGHT_FIELDS,
  REGISTER_PATH,
  REVOKE_PATH,
  SERVER_METADATA_PATH,
  serverMetadata,
  TOKEN_PATH,
} from './discovery.ts';
import { formSources } from './redirect-uris.ts';
import { type JsonAnswer, oauthError, type TokenEndpoint } from './token-endpoint.ts';

/** Maximum size of a form that is sent to an OAuth endpoint. */
const FORM_MAX_BYTES = 16 * 1024;

export interface OAuthDeps {
  readonly authorization: Authorization;
  readonly clients: Clients;
  readonly tokenEndpoint: TokenEndpoint;
  /** Finds the live tunnel at a host. @throws StoreError */
  readonly tunnelAt: (host: string) => Promise<LiveTunnel | undefined>;
  /** Whether browsers reach the relay with https. */
  readonly isSecure: () => boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
}

export function addOAuth(router: Router<ApiState>, deps: OAuthDeps): void {
  addAuthorize(router, deps);
  addJson(router, deps);
}

function addAuthorize(router: Router<ApiState>, deps: OAuthDeps): void {
  const { authorization, isSecure, contact } = deps;

  function personOf(ctx: ApiContext): Person {
    const { values, value, cookie } = browserOf(ctx, isSecure());
    ctx.append('Set-Cookie', cookie);
    const address = ctx.get(VISITOR_ADDRESS_FIELD);
    const agent = ctx.get('user-agent');
    return { address, network: networkOf(address), agent, browsers: values, browser: value };
  }

  /** Shows the page, or leads on. */
  function respond(ctx: ApiContext, step: Answer, request?: AuthorizationRequest): void {
    if ('location' in step) return redirect(ctx, step.location);
    const { status, title, html, refresh } = step;
    const sources = request === undefined ? "'none'" : `'self' ${formSources(request.redirectUri)}`;
    respondWithPage(ctx, status, page(title, html, undefined, contact), sources);
    // A page of this host that opened it, such as one of a tunnel in the path form, cannot reach into it.
    ctx.set('Cross-Origin-Opener-Policy', 'same-origin');
    if (refresh !== undefined) ctx.set('Refresh', String(refresh));
  }

  async function decide(
    ctx: ApiContext,
    person: Person,
    step: (request: AuthorizationRequest) => Promise<Answer>,
  ): Promise<void> {
    if (!isOpenedByPerson(ctx)) return respond(ctx, NOT_A_PAGE);
    try {
      const read = await readAuthorizationRequest(new URLSearchParams(ctx.querystring), person.network, deps);
      if (isFault(read)) return respond(ctx, { ...read, html: `<p>${read.text}</p>` });
      respond(ctx, await step(read), read);
    } catch (error) {
      const isAway = error instanceof StoreError || (error instanceof ApiError && error.status === 503);
      if (!isAway) throw error;
      ctx.set('Retry-After', String(STORE_RETRY_AFTER_SECONDS));
      respond(ctx, AWAY);
    }
  }

  router.get(AUTHORIZE_PATH, async function openRequest(ctx: ApiContext): Promise<void> {
    const person = personOf(ctx);
    const parameters = new URLSearchParams(ctx.querystring);
    await decide(ctx, person, (request) => authorization.open(request, person, parameters));
  });

  router.post(AUTHORIZE_PATH, readForm(), async function submitForm(ctx: ApiContext): Promise<void> {
    const person = personOf(ctx);
    const fields = new URLSearchParams(formOf(ctx));
    await decide(ctx, person, (request) => authorization.submit(request, person, fields));
  });
}

const NOT_A_PAGE: Answer = {
  status: 403,
  title: 'Open this page by itself',
  html: '<p>This page has to be opened in a window of its own, and its forms sent from it: another page cannot decide for you.</p>',
};
const AWAY: Answer = {
  status: 503,
  title: 'Try again in a moment',
  html: '<p>The relay cannot reach its database right now.</p>',
};

/**
 * Whether a person has opened the page, or sent its form: neither a frame nor a script of another page may, even of this
 * host, where tunnels in the path form are. Browsers say so themselves.
 */
function isOpenedByPerson(ctx: ApiContext): boolean {
  const mode = ctx.get('sec-fetch-mode');
  const dest = ctx.get('sec-fetch-dest');
  const site = ctx.get('sec-fetch-site');
  if ((mode !== '' && mode !== 'navigate') || (dest !== '' && dest !== 'document')) return false;
  if (ctx.method !== 'POST') return true;
  // Browsers that do not tell send the origin of the page, which the page itself hides.
  const origin = ctx.get('origin').toLowerCase();
  return site === ''
    ? ['', 'null'].includes(origin) || origin.replace(/^https?:\/\//, '') === ctx.get('host').toLowerCase()
    : site === 'same-origin';
}

function redirect(ctx: ApiContext, location: string): void {
  ctx.body = null;
  ctx.status = 303;
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  // As it is: Koa would write it in another way.
  ctx.set('Location', location);
}

function addJson(router: Router<ApiState>, { authorization, clients, tokenEndpoint }: OAuthDeps): void {
  for (const path of [SERVER_METADATA_PATH, TOKEN_PATH, REVOKE_PATH, REGISTER_PATH])
    router.options(path, function answerPreflight(ctx: ApiContext): void {
      ctx.status = 204;
      ctx.set(PREFLIGHT_FIELDS);
    });

  router.get(SERVER_METADATA_PATH, function showMetadata(ctx: ApiContext): void {
    ctx.set({ ...ANY_ORIGIN, 'Cache-Control': 'no-store' });
    ctx.body = serverMetadata(authorization.issuer);
  });

  router.post(
    TOKEN_PATH,
    withAnyOrigin,
    readForm(),
    async function giveToken(ctx: ApiContext): Promise<void> {
      await answerForm(ctx, (fields) => tokenEndpoint.token(fields));
    },
  );

  router.post(
    REVOKE_PATH,
    withAnyOrigin,
    readForm(),
    async function takeToken(ctx: ApiContext): Promise<void> {
      await answerForm(ctx, (fields) => tokenEndpoint.revoke(fields));
    },
  );

  router.post(
    REGISTER_PATH,
    withAnyOrigin,
    readBody(),
    async function register(ctx: ApiContext): Promise<void> {
      const given: unknown = ctx.request.body;
      const metadata = isRecord(given) ? readMetadata(given) : undefined;
      if (metadata === undefined)
        return answer(
          ctx,
          oauthError(
            'invalid_redirect_uri',
            'redirect_uris must be https, http on loopback, or the scheme of an app, and client_name a text',
          ),
        );
      const { name, redirectUris } = metadata;
      if (JSON.stringify(metadata).length > REGISTRATION_MAX_LENGTH)
        return answer(
          ctx,
          oauthError('invalid_client_metadata', 'client_name and redirect_uris are too long'),
        );
      // The edge adds the field unless the request comes from this machine.
      const address = ctx.get('x-forwarded-for');
      const id = await clients.register(metadata, address === '' ? undefined : address);
      if (typeof id === 'number') {
        ctx.set('Retry-After', String(id));
        return answer(ctx, oauthError('too_many_requests', 'too many registrations from this address', 429));
      }
      answer(ctx, {
        status: 201,
        body: {
          client_id: id,
          client_id_issued_at: Math.floor(Date.now() / 1000),
          ...(name !== '' && { client_name: name }),
          redirect_uris: redirectUris,
          token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      });
    },
  );
}

/** Also on errors, so that a page that is a client can read them, in the form that clients know. */
async function withAnyOrigin(ctx: ApiContext, next: () => Promise<unknown>): Promise<void> {
  ctx.set({ ...ANY_ORIGIN, 'Cache-Control': 'no-store', Pragma: 'no-cache' });
  try {
    await next();
  } catch (error) {
    // The body could not be read.
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    const code = ctx.path === REGISTER_PATH ? 'invalid_client_metadata' : 'invalid_request';
    answer(ctx, oauthError(code, error.message, error.status));
  }
}

/** Puts a form into `ctx.request.rawBody`; an empty text for any other body. */
function readForm(): ApiMiddleware {
  return readBodyAs({
    enableTypes: ['text'],
    extendTypes: { text: ['application/x-www-form-urlencoded'] },
    textLimit: `${FORM_MAX_BYTES}b`,
  });
}

/** The form that {@link readForm} has read. */
function formOf(ctx: ApiContext): string {
  const { rawBody } = ctx.request;
  return typeof rawBody === 'string' ? rawBody : '';
}

async function answerForm(
  ctx: ApiContext,
  respond: (fields: ReadonlyMap<string, string>) => Promise<JsonAnswer>,
): Promise<void> {
  if (ctx.get('authorization') !== '') {
    // RFC 6749 section 5.2.
    ctx.set('WWW-Authenticate', 'Basic realm="culvert"');
    return answer(
      ctx,
      oauthError('invalid_client', 'clients have no secrets here: send client_id alone', 401),
    );
  }
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(formOf(ctx))) {
    // RFC 6749 section 3.2.
    if (fields.has(name)) return answer(ctx, oauthError('invalid_request', 'a parameter is there twice'));
    fields.set(name, value);
  }
  try {
    answer(ctx, await respond(fields));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    ctx.set('Retry-After', String(STORE_RETRY_AFTER_SECONDS));
    answer(ctx, oauthError('temporarily_unavailable', 'the relay cannot reach its database', 503));
  }
}

function answer(ctx: ApiContext, { status, body }: JsonAnswer): void {
  ctx.status = status;
  ctx.body = body;
}
