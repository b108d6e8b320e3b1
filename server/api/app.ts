/** The REST interface (docs/protocol.md sections 2 and 3) as a listener of an HTTP server. */
import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Router } from '@koa/router';
import Koa from 'koa';
import type { Next, ParameterizedContext } from 'koa';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { errorFields, type Log, REQUEST_ID_FIELD } from '../log.ts';
import { apiAnswers, countApiRefusal, increment } from '../observe/counters.ts';
import type { ApiState } from './guards.ts';
import { type ApiDeps, createRouter } from './routes.ts';

type Context = ParameterizedContext<ApiState>;

/**
 * @param deps what the routes work on
 * @param log where bugs are reported
 */
export function createApi(deps: ApiDeps, log: Log): RequestListener {
  const app = new Koa<ApiState>();
  const router = createRouter(deps);
  app.use(identifyAndCount);
  app.use(errorBoundary(log));
  app.use(exactPath);
  app.use(router.routes());
  app.use(unmatched(router));
  app.on('error', (error: Error) => reportUnsent(error, log));
  const handle = app.callback();
  return (request, response) => void handle(request, response);
}

/** An id for each request, made here: with one from outside somebody could hide among the requests of others. */
async function identifyAndCount(ctx: Context, next: Next): Promise<void> {
  ctx.state.requestId = randomUUID();
  ctx.set(REQUEST_ID_FIELD, ctx.state.requestId);
  await next();
  if (ctx.respond !== false) increment(apiAnswers, `${ctx.status} ${operationOf(ctx)}`);
}

/** Koa's idea of the path comes from a lenient parser; a path that it had to correct is another path. */
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

/** What gets past the boundary is a response that could not be sent: a bug, unless its client has left. */
function reportUnsent(error: Error, log: Log): void {
  if (!('headerSent' in error)) log('internal error', { at: 'sending an answer', ...errorFields(error) });
}

/* The one place where failures of the REST interface become responses (docs/protocol.md section 2.2). */

/**
 * Turns what later middleware throws into a response. An error of the catalogue is sent as it is; a client that left is not a
 * failure; anything else is a bug: logged with the request's id, and answered without any detail.
 */
export function errorBoundary(log: Log) {
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
 * The method and the route of a request, or `none`. Its path stays out of log and metrics, since anybody can send any path.
 */
export function operationOf(ctx: Context): string {
  const route: unknown = ctx['_matchedRoute'];
  return typeof route === 'string' ? `${ctx.method} ${route}` : 'none';
}

/** Whether the client broke its request off, so that nobody is left to answer. */
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
