/** JSON Schema, as far as the API needs it, and the schemas of values that occur more than once. */
import { LOCAL_PORT_MAX, LOCAL_PORT_MIN } from '../../shared/constraints.ts';

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** @returns a schema of an object; a name that ends in `?` is optional */
export function object(properties: JsonObject): JsonObject {
  const names = Object.keys(properties);
  return {
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map((name) => [name.replace('?', ''), properties[name] ?? true])),
  };
}

export const text = { type: 'string' };
export const uuid = { type: 'string', format: 'uuid' };
export const timestamp = {
  type: 'string',
  format: 'date-time',
  description: 'RFC 3339, UTC, milliseconds',
};
export const addressSchema = { type: 'string', format: 'uri' };
export const count = { type: 'integer', minimum: 0 };
export const localPort = { type: 'integer', minimum: LOCAL_PORT_MIN, maximum: LOCAL_PORT_MAX };
export const normalizedDuration = {
  type: 'string',
  pattern: '^(?:(?:\\d+h)?\\d+m)?\\d+s$',
  description: 'like `1h0m0s`, `30m0s` or `45s`',
};
/** Who may come into a tunnel, without secrets. */
export const accessView = {
  ...object({
    'allow?': { type: 'array', items: text },
    'basic?': { type: 'array', items: text, description: 'names of the users' },
    'password?': { const: true },
    'links?': { const: true },
    'knock?': { const: true },
  }),
  description: 'empty for a tunnel that is open to everybody',
};
