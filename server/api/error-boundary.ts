/** The one place where failures of the REST interface become responses (docs/protocol.md section 2.2). */
import type { Next, ParameterizedContext } from 'koa';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { errorFields, type Log } from '../log.ts';
import { countApiRefusal } from '../observe/counters.ts';
import type { ApiState } from './state.ts';

type Context = ParameterizedContext<ApiState>;

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
