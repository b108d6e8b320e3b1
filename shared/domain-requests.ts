/** Requests that name a domain, as the REST interface accepts them (docs/protocol.md section 12). */
import { readDomain } from './domain-rules.ts';
import { API_ERRORS, ApiError, invalidDomain } from './errors.ts';

/**
 * Reads the body of a request for a domain.
 *
 * @param body parsed JSON
 * @returns the domain in the one spelling that is kept
 * @throws ApiError
 */
export function readAddDomain(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  return readGivenDomain((body as { readonly domain?: unknown }).domain);
}

/** @throws ApiError for what is not a domain */
export function readGivenDomain(value: unknown): string {
  const reading = typeof value === 'string' ? readDomain(value) : { problem: 'must be a text' };
  if ('problem' in reading) throw new ApiError(invalidDomain(reading.problem));
  return reading.name;
}
