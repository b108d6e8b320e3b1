/**
 * Fields of the JSON objects that a relay returns. Each says once what it is: the type follows from it, the schema in the OpenAPI
 * document, and what a client accepts.
 */
import * as yup from 'yup';
import { UUID_PATTERN } from './control.ts';
import { DURATION_PATTERN, formatDuration, parseDuration } from './duration.ts';
import { hasUnprintable } from './unprintable.ts';

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
/** JSON Schema is written as such an object; one with a `title` becomes a component of the OpenAPI document. */
export interface JsonObject {
  readonly [name: string]: Json;
}

export interface Field<Value> {
  readonly schema: JsonObject;
  /** what a client accepts: less than the schema allows of a hostile relay, more where relays may differ */
  readonly accepts: yup.Schema;
  /** what a client assumes if a relay leaves the field out */
  readonly missing?: Value;
}

export interface OptionalField<Value> extends Field<Value> {
  readonly isOptional: true;
}

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The object with these fields. */
type ObjectWith<F> = {
  [Name in keyof F as F[Name] extends { isOptional: true } ? never : Name]: TypeOf<F[Name]>;
} & { [Name in keyof F as F[Name] extends { isOptional: true } ? Name : never]?: TypeOf<F[Name]> };

export interface ObjectField<F extends Fields> extends Field<ObjectWith<F>> {
  readonly fields: F;
}

/** The type of what a field contains. */
export type TypeOf<F> = F extends Field<infer Value> ? Value : never;

/** @param title names its schema in the OpenAPI document; without one it is written out where it occurs */
export function object<F extends Fields>(fields: F, title?: string): ObjectField<F> {
  const rows = Object.entries<Field<unknown>>(fields);
  const schemas = rows.map(([name, field]) => [`${name}${'isOptional' in field ? '?' : ''}`, field.schema]);
  const accepts = rows.map(([name, field]) => [name, field.accepts] as const);
  return {
    fields,
    schema: objectSchema(Object.fromEntries(schemas) as JsonObject, title),
    accepts: yup.object(Object.fromEntries(accepts)).strict().required(),
  };
}

/** @returns a schema of an object; a name that ends in `?` is optional */
export function objectSchema(properties: JsonObject, title?: string): JsonObject {
  const names = Object.keys(properties);
  return {
    ...(title !== undefined && { title }),
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(names.map((name) => [name.replace('?', ''), properties[name] ?? true])),
  };
}

/**
 * Describes an optional field of a request that has a default. Not `default`, because generators of clients then make the field
 * a required one.
 *
 * @param byDefault what applies if the field is missing
 */
export function withDefault(description: string, byDefault: string | undefined): string {
  return byDefault === undefined ? description : `${description}; the default is \`${byDefault}\``;
}

/** The schema of a single value. It has a type as well, because some generators ignore `const`. */
export function onlyValue(value: string | true): JsonObject {
  return { type: typeof value, const: value };
}

/** An optional duration in a request. */
export function givenDuration(description: string, byDefault?: number): JsonObject {
  return {
    type: ['string', 'null'],
    pattern: DURATION_PATTERN.source,
    description: withDefault(description, byDefault === undefined ? undefined : formatDuration(byDefault)),
  };
}

export function listOf<Item>(item: Field<Item>, description?: string): Field<Item[]> {
  return {
    schema: { type: 'array', items: item.schema, ...(description !== undefined && { description }) },
    accepts: yup.array(item.accepts).required(),
  };
}

export function described<F extends Field<unknown>>(field: F, description: string): F {
  return { ...field, schema: { ...field.schema, description } };
}

export function optional<V>(field: Field<V>): OptionalField<V> {
  return { ...field, accepts: field.accepts.optional(), isOptional: true };
}

export function orNull<V>({ schema, accepts }: Field<V>, description: string): Field<V | null> {
  return { schema: { oneOf: [{ type: 'null' }, schema], description }, accepts: accepts.nullable() };
}

/** A field that a relay may leave out, although this one sends it. */
export function mayBeMissing<V>(field: Field<V>, missing: V): Field<V> {
  return { ...field, accepts: field.accepts.optional(), missing };
}

/** A field that clients do not use, so that they accept anything there. */
export function unused<V>(field: Field<V>): Field<V> {
  return { ...field, accepts: yup.mixed().nullable() };
}

export function oneOf<const V extends string>(values: readonly V[]): Field<V> {
  return { schema: { type: 'string', enum: values }, accepts: yup.string().oneOf(values).required() };
}

/** Rejects characters that could move a cursor, or hide or reverse text, in a terminal or a window, and half a character. */
const printable = yup
  .string()
  .test(
    'printable',
    (value) => typeof value !== 'string' || (value.isWellFormed() && !hasUnprintable(value)),
  );

const someText = printable.required();
const count = yup.number().integer().min(0).required();

/** A text that is not empty. */
export const TEXT: Field<string> = { schema: { type: 'string' }, accepts: someText };
export const TEXT_OR_EMPTY: Field<string> = { ...TEXT, accepts: printable.defined() };
export const TEXT_OR_NULL: Field<string | null> = {
  schema: { type: ['string', 'null'] },
  accepts: printable.nullable().defined(),
};
export const FLAG: Field<boolean> = { schema: { type: 'boolean' }, accepts: yup.boolean().required() };
/** `true`, or missing. */
export const MARK = optional<true>({ schema: onlyValue(true), accepts: yup.boolean().isTrue().required() });
export const COUNT: Field<number> = { schema: { type: 'integer', minimum: 0 }, accepts: count };
export const LIMIT_OR_NULL: Field<number | null> = {
  schema: { type: ['integer', 'null'] },
  accepts: count.nullable().defined(),
};
export const UUID: Field<string> = {
  schema: { type: 'string', format: 'uuid' },
  accepts: yup.string().matches(UUID_PATTERN).required(),
};
/** 16 hexadecimal digits. */
export const SHORT_ID: Field<string> = {
  schema: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  accepts: yup
    .string()
    .matches(/^[0-9a-f]{16}$/)
    .required(),
};
/** RFC 3339 in UTC with milliseconds. Clients only show it. */
export const SHOWN_TIME: Field<string> = {
  schema: {
    type: 'string',
    format: 'date-time',
    description: 'UTC time in RFC 3339 format with milliseconds',
  },
  accepts: someText,
};
/** The same; clients count with it. */
export const TIME: Field<string> = {
  ...SHOWN_TIME,
  accepts: someText.test('time', (value?: string) => value === undefined || !Number.isNaN(Date.parse(value))),
};
export const TIME_OR_NULL: Field<string | null> = {
  schema: { ...SHOWN_TIME.schema, type: ['string', 'null'] },
  accepts: TEXT_OR_NULL.accepts,
};
/** A normalized duration (protocol.md section 3.4), from which clients set timers. */
export const DURATION: Field<string> = {
  schema: {
    type: 'string',
    pattern: '^(?:(?:\\d+h)?\\d+m)?\\d+s$',
    description: 'a duration, such as `1h0m0s`, `30m0s` or `45s`',
  },
  accepts: someText.test(
    'duration',
    (value) => typeof value !== 'string' || Number.isFinite(parseDuration(value)),
  ),
};
/** The address of a tunnel, which clients print, copy and open in a browser. */
export const ADDRESS: Field<string> = {
  schema: { type: 'string', format: 'uri' },
  accepts: yup
    .string()
    .required()
    .test('address', (value) => typeof value !== 'string' || isWebAddress(value)),
};
/** The address of a tunnel that may be one of TLS or TCP. */
export const TUNNEL_ADDRESS: Field<string> = {
  ...ADDRESS,
  accepts: yup
    .string()
    .required()
    .test('address', (value) => typeof value !== 'string' || isWebAddress(value) || isRawAddress(value)),
};
/** The address of all hosts of a wildcard tunnel, whose first label begins with `*`, which stands for any text. */
export const WILDCARD_ADDRESS: Field<string> = {
  ...ADDRESS,
  accepts: yup
    .string()
    .required()
    .test('address', (value) => typeof value !== 'string' || isWebAddress(value.replace('://*', '://x'))),
};

/**
 * Maximum length of a tunnel's URL: a host name of 253 characters, a port, and a path with a name of 63.
 * Browsers take longer ones.
 */
const TUNNEL_ADDRESS_MAX_CHARS = 2048;

/** Scheme, host and path, with only those characters of a URL (RFC 3986) that mean nothing to a shell. */
const WEB_ADDRESS = /^https?:\/\/[\w.~%:[\]/-]+$/i;

/**
 * Whether a text is the address of a tunnel that can be printed, copied into a shell and opened in a browser: of `http` or
 * `https`, with a host, without credentials, query and fragment. Addresses come from relays, and not every relay is a friend.
 */
export function isWebAddress(text: string): boolean {
  return text.length <= TUNNEL_ADDRESS_MAX_CHARS && WEB_ADDRESS.test(text) && URL.canParse(text);
}

/** The address of a TLS or TCP tunnel: scheme and host, with a port. A TLS tunnel may have the usual port, 443. */
const RAW_ADDRESS = /^(?:tls:\/\/[\w.[\]:-]+|tcp:\/\/[\w.[\]:-]+:\d{1,5})$/;

/** Whether a text is the address of a TLS or TCP tunnel that can be printed and copied into a shell. */
export function isRawAddress(text: string): boolean {
  return text.length <= TUNNEL_ADDRESS_MAX_CHARS && RAW_ADDRESS.test(text) && URL.canParse(text);
}
