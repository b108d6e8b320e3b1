/** Responses as OpenAPI describes them; the errors are those of the catalogue, with their codes and texts. */
import { API_ERRORS, type ApiErrorEntry, VARIABLE_API_ERRORS } from '../../../shared/errors.ts';
import { REQUEST_ID_FIELD } from '../../observe/request-id.ts';
import { type Json, type JsonObject, object } from '../json-schema.ts';
import { ref, type SchemaName } from './schemas.ts';

export type ErrorName = keyof typeof API_ERRORS | keyof typeof VARIABLE_API_ERRORS;

const ENTRIES: Readonly<Record<ErrorName, ApiErrorEntry>> = { ...API_ERRORS, ...VARIABLE_API_ERRORS };

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

/** A response with JSON. */
export function success(description: string, schema: SchemaName, fields: JsonObject = {}): JsonObject {
  return { description, headers: { ...requestId, ...fields }, content: json(ref(schema)) };
}

/** @returns the responses for errors by status, each with all codes and texts it can have */
export function failures(names: readonly ErrorName[]): JsonObject {
  const byStatus = Map.groupBy(names, (name) => ENTRIES[name].status);
  return Object.fromEntries([...byStatus].map(([status, same]) => [String(status), failure(status, same)]));
}

function failure(status: number, names: readonly ErrorName[]): JsonObject {
  const entries = names.map((name) => ENTRIES[name]);
  return {
    description: entries.map(({ code, text }) => `${code}: ${text}`).join('; '),
    headers: { ...requestId, ...ERROR_FIELDS[status] },
    content: json({
      anyOf: entries.map(({ code, text }) => object({ error: textSchema(text), code: { const: code } })),
    }),
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
