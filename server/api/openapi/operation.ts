/** One operation of the API as OpenAPI describes it. */
import { API_ERRORS, type ApiErrorEntry, VARIABLE_API_ERRORS } from '../../../shared/errors.ts';
import { BODY_MAX_BYTES } from '../../limits.ts';
import { REQUEST_ID_FIELD } from '../../log.ts';
import { type Json, type JsonObject, object } from '../json-schema.ts';
import { ref, type SchemaName } from './schemas.ts';

/** Operations by path and method. */
export type Paths = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;

interface Outline {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** query parameters, all optional */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: { readonly schema: SchemaName; readonly required: boolean };
  readonly answers: JsonObject;
  readonly errors: readonly ErrorName[];
}

export const ANY_KEY_ERRORS = ['missingKey', 'invalidKey', 'accountSuspended', 'tooManyWrongKeys'] as const;
export const KEY_ERRORS = [...ANY_KEY_ERRORS, 'keyOutOfScope'] as const;
export const SERVER_ERRORS = ['internal', 'unavailable'] as const;

export function operation({
  id,
  summary,
  description,
  query = {},
  body,
  answers,
  errors,
}: Outline): JsonObject {
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    parameters: Object.entries(query).map(([name, meaning]) => ({
      name,
      in: 'query',
      description: meaning,
      schema: { type: 'string' },
    })),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.required,
            description: `JSON of at most ${BODY_MAX_BYTES} bytes; unknown fields are ignored`,
            content: { 'application/json': { schema: ref(body.schema) } },
          },
        }),
    responses: { ...answers, ...failures(errors) },
    ...(errors.includes('missingKey') ? {} : { security: [] }),
  };
}

export const tunnelId = {
  name: 'id',
  in: 'path',
  required: true,
  schema: { type: 'string' },
  description: 'its `id`',
};

/* Responses as OpenAPI describes them; the errors are those of the catalogue, with their codes and texts. */

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
