/** The one place where failures of the REST interface become answers (contract.md, REST: the body of every error). */
import { randomUUID } from 'node:crypto';
import type { Context, Next } from 'koa';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { Log } from '../log.ts';

/** Names an unknown failure to the client and in the log, so that the two can be matched. */
const ERROR_ID_FIELD = 'Culvert-Error-Id';

/**
 * Answers what later middleware throws. Failures of the catalogue are answered as they are; a client that left is no
 * failure; anything else is a bug: logged with an id, and answered without a word about its inside.
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

function reportBug(error: unknown, ctx: Context, log: Log): ApiError {
  const id = randomUUID();
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log(`internal error ${id} on ${ctx.method} ${ctx.path}: ${text}`);
  return new ApiError(API_ERRORS.internal, { [ERROR_ID_FIELD]: id });
}
