/** Reads request bodies as JSON, whatever type they claim to be (docs/protocol.md section 3.1). */
import bodyParser from 'koa-bodyparser';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { Clock } from '../clock.ts';
import { ACCESS_POLL_MS, BODY_MAX_BYTES } from '../limits.ts';
import type { ApiContext, ApiMiddleware } from './guards.ts';

/**
 * Puts the parsed body into `ctx.request.body`; an empty one as `{}`.
 *
 * @returns middleware that throws ApiError 400 for what is neither a JSON object nor a JSON array, 413
 */
export function readBody(): ApiMiddleware {
  const options = {
    detectJSON: () => true,
    jsonLimit: `${BODY_MAX_BYTES}b`,
    // Unknown fields are ignored, this one too.
    onProtoPoisoning: 'remove',
    onerror: refuseBody,
  };
  const parse = bodyParser(options) as ApiMiddleware;
  return async function readJson(ctx, next) {
    // The parser would decompress it, and wait forever for the rest of one that breaks off.
    if (!['', 'identity'].includes(ctx.get('content-encoding'))) throw new ApiError(API_ERRORS.invalidBody);
    await parse(ctx, next);
  };
}

/**
 * The same, for a route whose key has been checked before: it is checked again if the body takes long.
 *
 * @param requireKey the guard that has looked at it
 */
export function readBodyWith(requireKey: ApiMiddleware, clock: Pick<Clock, 'monotonic'>): ApiMiddleware {
  return lookAgainAfter(readBody(), requireKey, clock);
}

/**
 * Checks the key again after a slow step: a request whose body trickles in, or whose passwords wait to be hashed, must not act
 * with a key that was revoked in the meantime.
 *
 * @param slow what may take long
 * @param requireKey the guard that has looked at the key
 */
export function lookAgainAfter(
  slow: ApiMiddleware,
  requireKey: ApiMiddleware,
  clock: Pick<Clock, 'monotonic'>,
): ApiMiddleware {
  return async function lookAgain(ctx, next) {
    const since = clock.monotonic();
    await slow(ctx, async () => {
      if (clock.monotonic() - since < ACCESS_POLL_MS) await next();
      else await requireKey(ctx, next);
    });
  };
}

/** Refuses the empty body that {@link readBody} lets pass. */
export function requireBody(): ApiMiddleware {
  return async function refuseEmptyBody(ctx, next) {
    if (isEmpty(ctx)) throw new ApiError(API_ERRORS.invalidBody);
    await next();
  };
}

function isEmpty(ctx: ApiContext): boolean {
  return ctx.request.rawBody === '';
}

function refuseBody(error: Error): never {
  const status = 'status' in error ? error.status : undefined;
  throw new ApiError(status === 413 ? API_ERRORS.bodyTooLarge : API_ERRORS.invalidBody);
}
