/** The REST interface (docs/protocol.md sections 2 and 3) as a listener of an HTTP server. */
import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Router } from '@koa/router';
import Koa, { type Next, type ParameterizedContext } from 'koa';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { errorFields, type Log } from '../log.ts';
import { errorBoundary, operationOf } from './error-boundary.ts';
import { apiAnswers, increment } from '../observe/counters.ts';
import { REQUEST_ID_FIELD } from '../observe/request-id.ts';
import { type ApiDeps, createRouter } from './routes.ts';
import type { ApiState } from './state.ts';

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
