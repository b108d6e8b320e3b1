/** One operation of the API as OpenAPI describes it. */
import { BODY_MAX_BYTES } from '../../limits.ts';
import type { JsonObject } from '../json-schema.ts';
import { type ErrorName, failures } from './responses.ts';
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
