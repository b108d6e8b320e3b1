/** Generates rest.md from the OpenAPI document of the relay. */
import { apiRoutes } from '../../server/api/app.ts';
import { openApiDocument } from '../../server/api/openapi.ts';
import { type ApiDeps, TAGS } from '../../server/api/route.ts';
import type { Json, JsonObject } from '../../shared/fields.ts';
import { code, markdownTable, pageStart, prose, sentence } from './page.ts';

const INTRODUCTION = `This page describes the REST interface of a relay. \`GET /v1/openapi.json\` returns it as an OpenAPI 3.1 document and needs no key. [The protocol](protocol.md) explains what
the calls do; [errors](errors.md) lists all error codes.

- Send the header \`Authorization: Bearer cvt_…\` with every request, unless a section says that no key is needed.
- Bodies are JSON objects of at most 16 KiB, regardless of their \`Content-Type\`. Unknown fields are ignored, except in \`access\`. An optional
  field that is \`null\` counts as missing.
- Paths must match exactly. Every response has an \`X-Request-Id\` header. Later versions may add fields to responses.
- The limits on this page are a relay's default settings.`;

const PUBLIC_URL = new URL('https://relay.example.com');
const SERVED = {
  addresses: { publicUrl: PUBLIC_URL },
  ttl: { defaultTtl: 3600, maxTtl: 604_800 },
  admin: {},
} as ApiDeps;

/** Errors that most calls with a key have in common. */
const COMMON_ERRORS = new Set([
  'missing-key',
  'invalid-key',
  'account-suspended',
  'key-scope',
  'too-many-wrong-keys',
  'unavailable',
  'internal-error',
  'invalid-body',
  'body-too-large',
]);

/** @returns the whole page */
export function restPage(): string {
  const { paths, components } = openApiDocument(apiRoutes(SERVED), PUBLIC_URL) as {
    paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
    components: { schemas: Readonly<Record<string, JsonObject>> };
  };
  const { schemas } = components;
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const used = Object.entries(schemas).filter(
    ([name, schema]) => !name.endsWith('Error') && fieldsOf(schema).length > 0,
  );
  const shown = new Set(used.map(([name]) => name));
  const page = [
    pageStart('REST interface', 'server/api', INTRODUCTION),
    ...Object.entries(TAGS)
      .filter(([tag]) => tag !== 'WebSockets')
      .flatMap(([tag, description]) => [
        `## ${tag}\n`,
        `${description}\n`,
        markdownTable(
          ['call', 'purpose', 'body', 'response', 'errors'],
          calls
            .filter(({ operation }) => (operation['tags'] as string[]).includes(tag))
            .map(({ path, method, operation }) => [
              code(`${method.toUpperCase()} ${path}`),
              purposeOf(operation),
              schemaLink(operation['requestBody']),
              responsesOf(operation),
              errorsOf(operation),
            ]),
        ),
      ]),
    'Calls that need a key can also fail with `missing-key`, `invalid-key`, `account-suspended`, `key-scope`, `too-many-wrong-keys` or\n`unavailable`. Calls with a body can also fail with `invalid-body` or `body-too-large`, and every call with `internal-error`.\n',
    '## Objects\n',
    'A field marked with `?` is optional.\n',
    ...used.map(([name, schema]) => `### ${name}\n\n${fieldTable(schema)}`),
  ].join('\n');
  // Schemas without fields of their own have no section.
  return page.replaceAll(/\[(\w+)\]\(#\w+\)/g, (link, name: string) =>
    shown.has(name) ? link : alternativesOf(schemas[name] ?? {}),
  );
}

function alternativesOf({ oneOf, anyOf, title, description }: JsonObject): string {
  const alternatives = (oneOf ?? anyOf ?? []) as readonly JsonObject[];
  return alternatives.length > 0 ? alternatives.map(typeOf).join(' or ') : textOf(description ?? title);
}

function purposeOf({ summary, description }: JsonObject): string {
  return prose(`${sentence(textOf(summary))} ${sentence(textOf(description))}`.trim());
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** A link to the schema of a body or response, which the page shows. */
function schemaLink(holder: Json | undefined): string {
  const name = /"\$ref":"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(holder ?? null))?.[1];
  return name === undefined ? '' : `[${name}](#${name.toLowerCase()})`;
}

function responsesOf({ responses }: JsonObject): string {
  return Object.entries(responses as JsonObject)
    .filter(([status]) => Number(status) < 400)
    .map(([status, response]) => `${status} ${schemaLink(response)}`.trim())
    .join(', ');
}

function errorsOf({ responses }: JsonObject): string {
  return Object.entries(responses as Readonly<Record<string, JsonObject>>)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([, response]) => textOf(response['description']).split('; '))
    .flatMap((entry) => /^([a-z-]+): /.exec(entry)?.[1] ?? [])
    .filter((name) => !COMMON_ERRORS.has(name))
    .map((name) => `[${name}](errors.md#${name})`)
    .join(', ');
}

function fieldsOf({ properties }: JsonObject): [string, JsonObject][] {
  return Object.entries((properties ?? {}) as Readonly<Record<string, JsonObject>>);
}

function fieldTable(schema: JsonObject): string {
  const required = (schema['required'] ?? []) as readonly string[];
  return markdownTable(
    ['field', 'type', 'meaning'],
    fieldsOf(schema).map(([name, field]) => [
      code(`${name}${required.includes(name) ? '' : '?'}`),
      typeOf(field),
      prose(sentence(textOf(field['description']))),
    ]),
  );
}

/** The type of a field in words. */
function typeOf(field: JsonObject): string {
  const { type, enum: values, const: only, oneOf, anyOf, items, format } = field;
  if (field['$ref'] !== undefined) return schemaLink(field);
  if (Array.isArray(values)) return values.map((value) => code(String(value))).join(', ');
  if (only !== undefined) return code(JSON.stringify(only));
  const alternatives = (oneOf ?? anyOf) as readonly JsonObject[] | undefined;
  if (alternatives !== undefined)
    return [...new Set(alternatives.map(typeOf))]
      .filter((text) => text !== '' && text !== '`""`')
      .join(' or ');
  if (type === 'array' || (Array.isArray(type) && type.includes('array')))
    return `list of ${typeOf(items as JsonObject) || 'objects'}`;
  const types = (Array.isArray(type) ? (type as string[]) : [textOf(type)]).filter((one) => one !== 'null');
  const suffix = Array.isArray(type) && type.includes('null') && !('default' in field) ? ' or null' : '';
  if (types[0] === 'object' && fieldsOf(field).length > 0)
    return `object: ${fieldsOf(field)
      .map(([name]) => code(name))
      .join(', ')}`;
  if (format === 'date-time') return `time${suffix}`;
  return `${types.join(' or ')}${suffix}`;
}
