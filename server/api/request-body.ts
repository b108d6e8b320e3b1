/** Reads request bodies as JSON, whatever they say they are (docs/protocol.md section 3.1). */
import type { IncomingMessage } from 'node:http';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { BODY_MAX_BYTES } from '../limits.ts';
import type { ApiMiddleware } from './state.ts';

/** JSON of an object or an array (RFC 8259, section 2). */
const OBJECT_OR_ARRAY = /^[\t\n\r ]*[{[]/;

/**
 * Puts the parsed body into `ctx.state.body`; `undefined` for an empty one.
 *
 * @returns middleware that throws ApiError 400 for what is neither a JSON object nor a JSON array, 413
 */
export function readBody(): ApiMiddleware {
  return async function readJson(ctx, next) {
    // It would have to be inflated, to nobody knows which size.
    if (!['', 'identity'].includes(ctx.get('content-encoding'))) throw new ApiError(API_ERRORS.invalidBody);
    const text = await readText(ctx.req);
    ctx.state.body = text === '' ? undefined : parse(text);
    await next();
  };
}

/** Refuses the empty body that {@link readBody} lets pass. */
export function requireBody(): ApiMiddleware {
  return async function refuseEmptyBody(ctx, next) {
    if (ctx.state.body === undefined) throw new ApiError(API_ERRORS.invalidBody);
    await next();
  };
}

/**
 * A request that is refused stays whole, so that it can be answered; what is left of its body is dropped with it.
 *
 * @throws ApiError 413 for more than {@link BODY_MAX_BYTES}; 400 where the body breaks off
 */
function readText(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const refuse = (error: ApiError): void => {
      request.off('data', take);
      request.pause();
      reject(error);
    };
    const take = (piece: Buffer): void => {
      pieces.push(piece);
      length += piece.length;
      if (length > BODY_MAX_BYTES) refuse(new ApiError(API_ERRORS.bodyTooLarge));
    };
    // One that is announced as too large is not waited for.
    if (Number(request.headers['content-length'] ?? 0) > BODY_MAX_BYTES)
      return refuse(new ApiError(API_ERRORS.bodyTooLarge));
    request.on('data', take);
    request.once('end', () => resolve(new TextDecoder().decode(Buffer.concat(pieces))));
    request.once('error', () => refuse(new ApiError(API_ERRORS.invalidBody)));
    request.once('close', () => refuse(new ApiError(API_ERRORS.invalidBody)));
  });
}

function parse(text: string): unknown {
  if (!OBJECT_OR_ARRAY.test(text)) throw new ApiError(API_ERRORS.invalidBody);
  try {
    // Unknown fields are ignored; this one would become something else where objects are copied.
    return JSON.parse(text, (name, value: unknown) => (name === '__proto__' ? undefined : value));
  } catch {
    throw new ApiError(API_ERRORS.invalidBody);
  }
}
