/** The one place where failures of the REST interface become answers (contract.md, REST: the body of every error). */
import type { Next, ParameterizedContext } from 'koa';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { errorFields, type Log } from '../log.ts';
import type { ApiState } from './state.ts';

/** Names a request to its client and in the log, so that the two can be matched. */
export const REQUEST_ID_FIELD = 'X-Request-Id';

type Context = ParameterizedContext<ApiState>;

/**
 * Answers what later middleware throws. Failures of the catalogue are answered as they are; a client that left is no
 * failure; anything else is a bug: logged with the request's id, and answered without a word about its inside.
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

/** Whether the client broke its request off, so that there is nobody to answer. */
function hasLeft(ctx: Context): boolean {
  return ctx.req.destroyed && !ctx.req.complete;
}

function answer(ctx: Context, error: ApiError): void {
  ctx.status = error.status;
  ctx.set(error.headers);
  ctx.body = { error: error.message };
}

/** The path stays out of the log: whoever sends a key there by mistake should not find it in two places. */
function reportBug(error: unknown, ctx: Context, log: Log): ApiError {
  const { requestId: request_id } = ctx.state;
  const route: unknown = ctx['_matchedRoute'];
  log('internal error', { request_id, at: `${ctx.method} ${String(route)}`, ...errorFields(error) });
  return new ApiError(API_ERRORS.internal);
}
