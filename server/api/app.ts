/** The REST interface (protocol.md sections 2 and 3) as a listener of an HTTP server. */
import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Router } from '@koa/router';
import Koa, { type Next, type ParameterizedContext } from 'koa';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { JsonObject } from '../../shared/fields.ts';
import { errorFields, type Log, REQUEST_ID_FIELD } from '../log.ts';
import { apiAnswers, countApiRefusal, increment } from '../observe/counters.ts';
import { addOAuth } from '../oauth/oauth-routes.ts';
import { adminRoutes } from './admin-routes.ts';
import { domainRoutes } from './domain-routes.ts';
import { addDownloads } from './download-routes.ts';
import type { ApiState } from './guards.ts';
import { nameRoutes } from './name-routes.ts';
import { openApiDocument } from './openapi.ts';
import { addLogin, loginRoutes } from './login-routes.ts';
import { relayRoutes } from './relay-routes.ts';
import { type ApiDeps, type Route, routerOf } from './route.ts';
import { addSignIn } from './sign-in-routes.ts';
import { addPages, inviteRoutes, teamRoutes } from './team-routes.ts';
import { tunnelRoutes, visitorRoutes } from './tunnel-routes.ts';

type Context = ParameterizedContext<ApiState>;

/**
 * @param log gets reports of bugs
 */
export function createApi(deps: ApiDeps, log: Log): RequestListener {
  const app = new Koa<ApiState>();
  const router = routerOf(apiRoutes(deps), deps);
  addPages(router, deps);
  addSignIn(router, deps.signIn, deps.contact);
  addOAuth(router, deps.oauth);
  addLogin(router, deps);
  if (deps.downloads !== undefined) addDownloads(router, deps.downloads, deps);
  app.use(identifyAndCount);
  app.use(errorBoundary(log));
  app.use(heardByAll(deps.heard));
  app.use(exactPath);
  app.use(router.routes());
  app.use(unmatched(router));
  app.on('error', (error: Error) => reportUnsent(error, log));
  const handle = app.callback();
  return (request, response) => void handle(request, response);
}

/** @returns every route but the pages for people */
export function apiRoutes(deps: ApiDeps): Route[] {
  // Made when it is first requested, because making it would slow the start down.
  let document: JsonObject | undefined;
  const routes: Route[] = [
    ...tunnelRoutes(deps),
    ...visitorRoutes(deps),
    ...domainRoutes(deps),
    ...nameRoutes(deps),
    ...teamRoutes(deps),
    ...inviteRoutes(deps),
    ...loginRoutes(deps),
    ...adminRoutes(deps),
    ...relayRoutes(deps, () => (document ??= openApiDocument(routes, deps.addresses.publicUrl))),
  ];
  return routes;
}

/** Gives each request an id. An id from the sender could hide it among other requests. */
async function identifyAndCount(ctx: Context, next: Next): Promise<void> {
  ctx.state.requestId = randomUUID();
  ctx.set(REQUEST_ID_FIELD, ctx.state.requestId);
  await next();
  if (ctx.respond !== false) increment(apiAnswers, `${ctx.status} ${operationOf(ctx)}`);
}

/** 404 for a path that Koa's lenient parser had to correct. */
function exactPath(ctx: Context, next: Next): Promise<void> {
  const [sent = ''] = (ctx.req.url ?? '').split('?', 1);
  if (sent.startsWith('/') && sent !== ctx.path) throw new ApiError(API_ERRORS.notFound);
  return next();
}

/** 405 with `Allow` for a path that exists, else 404. */
function unmatched(router: Router<ApiState>) {
  return function refuseUnmatched(ctx: Context): never {
    const allowed = router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods);
    if (allowed.length === 0) throw new ApiError(API_ERRORS.notFound);
    throw new ApiError(API_ERRORS.methodNotAllowed, { Allow: [...new Set(allowed)].join(', ') });
  };
}

/** Errors past the boundary are responses that could not be sent: a bug, unless the client has left. */
function reportUnsent(error: Error, log: Log): void {
  if (!('headerSent' in error)) log('internal error', { at: 'sending an answer', ...errorFields(error) });
}

/* The one place where failures of the REST interface become responses (protocol.md section 2.2). */

/** A change is responded to when all processes of this relay follow it, so that its sender finds it at each of them. */
function heardByAll(heard: () => Promise<void>) {
  return async function waitForOthers(ctx: Context, next: Next): Promise<void> {
    await next();
    if (!['GET', 'HEAD', 'OPTIONS'].includes(ctx.method)) await heard();
  };
}

/**
 * Turns errors of later middleware into responses. An error of the catalogue is sent as it is, and a client that left is not a
 * failure. Anything else is a bug: it is logged with the request's id, and the response has no details.
 */
function errorBoundary(log: Log) {
  return async function answerErrors(ctx: Context, next: Next): Promise<void> {
    try {
      await next();
    } catch (error) {
      if (hasLeft(ctx)) ctx.respond = false;
      else answer(ctx, error instanceof ApiError ? error : reportBug(error, ctx, log));
    }
  };
}

/**
 * The method and the route of a request, or `none`. Log and metrics do not get the path, which the sender chooses freely.
 */
function operationOf(ctx: Context): string {
  const route: unknown = ctx['_matchedRoute'];
  return typeof route === 'string' ? `${ctx.method} ${route}` : 'none';
}

/** Whether the client aborted the request. */
function hasLeft(ctx: Context): boolean {
  return ctx.req.destroyed && !ctx.req.complete;
}

function answer(ctx: Context, error: ApiError): void {
  countApiRefusal(error);
  ctx.status = error.status;
  ctx.set(error.headers);
  ctx.body = error.body;
}

function reportBug(error: unknown, ctx: Context, log: Log): ApiError {
  const { requestId: request_id } = ctx.state;
  log('internal error', { request_id, at: operationOf(ctx), ...errorFields(error) });
  return new ApiError(API_ERRORS.internal);
}
