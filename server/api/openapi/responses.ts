/** Answers as OpenAPI describes them; the errors are those of the catalogue, with their texts. */
import { API_ERRORS, type ApiErrorEntry, tooManyTunnels, ttlTooLong } from '../../../shared/errors.ts';
import { REQUEST_ID_FIELD } from '../../observe/request-id.ts';
import { type Json, type JsonObject, object, ref, type SchemaName } from './schemas.ts';

/** Errors whose text depends on settings or on the moment, with `{…}` in place of what changes. */
const VARIABLE_ERRORS = {
  ttlTooLong: ttlTooLong('{duration}'),
  tooManyTunnels: tooManyTunnels('{plan}', '{number}', '{time}'),
} as const satisfies Record<string, ApiErrorEntry>;

export type ErrorName = keyof typeof API_ERRORS | keyof typeof VARIABLE_ERRORS;

const ENTRIES: Readonly<Record<ErrorName, ApiErrorEntry>> = { ...API_ERRORS, ...VARIABLE_ERRORS };

const requestId = {
  [REQUEST_ID_FIELD]: {
    required: true,
    schema: { type: 'string', format: 'uuid' },
    description: 'names the request in the log of the relay',
  },
};

function headerField(schema: JsonObject): JsonObject {
  return { required: true, schema };
}

/** Fields that come with every error of a status. */
const ERROR_FIELDS: Readonly<Record<number, JsonObject>> = {
  401: { 'WWW-Authenticate': headerField({ const: 'Bearer' }) },
  426: { Upgrade: headerField({ const: 'websocket' }) },
  429: { 'Retry-After': headerField({ type: 'string', pattern: '^\\d+$' }) },
  503: { 'Retry-After': headerField({ type: 'string', pattern: '^\\d+$' }) },
};

/** An answer with JSON. */
export function success(description: string, schema: SchemaName, fields: JsonObject = {}): JsonObject {
  return { description, headers: { ...requestId, ...fields }, content: json(ref(schema)) };
}

/** @returns the responses for errors by status, each with all texts it can have */
export function failures(names: readonly ErrorName[]): JsonObject {
  const byStatus = Map.groupBy(names, (name) => ENTRIES[name].status);
  return Object.fromEntries([...byStatus].map(([status, same]) => [String(status), failure(status, same)]));
}

function failure(status: number, names: readonly ErrorName[]): JsonObject {
  const texts = names.map((name) => ENTRIES[name].text);
  return {
    description: texts.join('; '),
    headers: { ...requestId, ...ERROR_FIELDS[status] },
    content: json(object({ error: { anyOf: texts.map(textSchema) } })),
  };
}

function textSchema(text: string): Json {
  if (!text.includes('{')) return { const: text };
  const parts = text.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return { type: 'string', pattern: `^${parts.join('.+')}$` };
}

function json(schema: JsonObject): JsonObject {
  return { 'application/json': { schema } };
}
