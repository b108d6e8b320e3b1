/** What the requests of the REST interface have in common: fields, and how one that breaks a rule is refused. */
import * as yup from 'yup';
import { TTL_MIN_SECONDS } from './constraints.ts';
import { formatDuration, parseDuration } from './duration.ts';
import { API_ERRORS, ApiError, type ApiErrorEntry, ttlTooLong } from './errors.ts';

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
