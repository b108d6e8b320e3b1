/** Requests about tunnels, as the REST interface accepts them (docs/protocol.md section 3). */
import * as yup from 'yup';
import { readAccess } from './access.ts';
import { TTL_MIN_SECONDS } from './constraints.ts';
import { readGivenDomain } from './domains.ts';
import { formatDuration, parseDuration } from './duration.ts';
import { API_ERRORS, ApiError, type ApiErrorEntry, ttlTooLong } from './errors.ts';
import type { TtlLimits, WantedTunnel } from './tunnel.ts';
import { NAME_RULE, PORT_RULE } from './value-rules.ts';

const localPort = yup
  .mixed<number>()
  .nullable()
  .test('local_port', (value: unknown, context) =>
    PORT_RULE.accepts(value) ? true : refuse(context, API_ERRORS.invalidPort),
  );

const name = yup
  .mixed<string>()
  .nullable()
  .test('name', (value: unknown, context) => {
    if (value === undefined || value === null || value === '') return true;
    return NAME_RULE.accepts(value) ? true : refuse(context, API_ERRORS.invalidName);
  });

const flag = yup
  .mixed<boolean>()
  .nullable()
  .test('flag', (value: unknown, context) =>
    value === undefined || value === null || typeof value === 'boolean'
      ? true
      : refuse(context, API_ERRORS.invalidBody),
  );

/** The create request (docs/protocol.md section 3.2), fields in the order in which they are checked. */
export function createTunnelSchema(limits: TtlLimits) {
  return yup
    .object({
      local_port: localPort,
      name,
      ttl: ttl(limits.maxTtl),
      idle_ttl: flag,
      access: yup.mixed().nullable(),
      take_over: flag,
      domain: yup.mixed().nullable(),
    })
    .strict();
}

/** The extend request (docs/protocol.md section 3.5). */
export function extendTunnelSchema(limits: TtlLimits) {
  return yup.object({ ttl: ttl(limits.maxTtl) }).strict();
}

/**
 * Reads the body of a create request.
 *
 * @param body parsed JSON
 * @throws ApiError for the first field, in the order of the table in docs/protocol.md section 3.2, that breaks a rule
 */
export function readCreateTunnel(body: unknown, limits: TtlLimits): WantedTunnel {
  const fields = check(createTunnelSchema(limits), body);
  return {
    localPort: Number(fields.local_port),
    name: fields.name ?? '',
    ttl: readGivenTtl(fields.ttl, limits.maxTtl) ?? limits.defaultTtl,
    idleTtl: fields.idle_ttl ?? false,
    access: readAccess(fields.access),
    takeOver: fields.take_over ?? false,
    domain: isNotGiven(fields.domain) ? '' : readGivenDomain(fields.domain),
  };
}

/**
 * Reads the body of an extend request.
 *
 * @returns the seconds asked for, or `undefined` when the tunnel's own `ttl` is meant
 * @throws ApiError
 */
export function readExtendTunnel(body: unknown, limits: TtlLimits): number | undefined {
  return readGivenTtl(check(extendTunnelSchema(limits), body).ttl, limits.maxTtl);
}

function isNotGiven(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/* What the requests of the REST interface have in common: fields, and how one that breaks a rule is refused. */

/**
 * Reads a `ttl` string.
 *
 * @param text duration string
 * @param maxTtl the longest accepted, in seconds
 * @returns whole seconds, or the entry of the error catalogue that refuses the text
 */
function readTtl(text: string, maxTtl: number): number | ApiErrorEntry {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < TTL_MIN_SECONDS) return API_ERRORS.invalidTtl;
  return seconds > maxTtl ? ttlTooLong(formatDuration(maxTtl)) : seconds;
}

/** yup keeps the entry with the text, so that whoever catches the failure knows its status. */
export function refuse(context: yup.TestContext, entry: ApiErrorEntry): yup.ValidationError {
  return context.createError({ message: entry.text, params: { entry } });
}

/** The field `ttl` of a request. */
export function ttl(maxTtl: number) {
  return yup
    .mixed<string>()
    .nullable()
    .test('ttl', (value: unknown, context) => {
      if (value === undefined || value === null) return true;
      if (typeof value !== 'string') return refuse(context, API_ERRORS.invalidTtl);
      const seconds = readTtl(value, maxTtl);
      return typeof seconds === 'number' ? true : refuse(context, seconds);
    });
}

/**
 * @param maxTtl the longest accepted, in seconds
 * @returns seconds; `undefined` where the request has none
 * @throws ApiError
 */
export function readGivenTtl(text: string | null | undefined, maxTtl: number): number | undefined {
  if (text === undefined || text === null) return undefined;
  const seconds = readTtl(text, maxTtl);
  if (typeof seconds !== 'number') throw new ApiError(seconds);
  return seconds;
}

/**
 * @param body parsed JSON
 * @throws ApiError for the first field, in the order of the schema, that breaks a rule
 */
export function check<T extends yup.AnyObject>(schema: yup.ObjectSchema<T>, body: unknown): T {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  try {
    schema.validateSync(body, { abortEarly: false });
    return body as T;
  } catch (error) {
    if (!(error instanceof yup.ValidationError)) throw error;
    // yup reports fields in the order they fail; the contract has one order.
    const order = Object.keys(schema.fields);
    const [first] = error.inner.toSorted((a, b) => order.indexOf(a.path ?? '') - order.indexOf(b.path ?? ''));
    throw new ApiError((first?.params?.['entry'] as ApiErrorEntry | undefined) ?? API_ERRORS.invalidBody);
  }
}
