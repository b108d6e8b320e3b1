/** Responses of one word. */
import { type JsonObject, object } from '../json-schema.ts';

function status(word: string): { readonly schema: JsonObject; readonly body: { readonly status: string } } {
  return { schema: object({ status: { const: word } }), body: { status: word } };
}

export const CLOSED = status('closed');
export const REVOKED = status('revoked');
export const REMOVED = status('removed');
export const HEALTHY = status('ok');
export const READY = status('ready');
export const SERVED = status('served');
