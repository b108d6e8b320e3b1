/** Translates heads and trailers between HTTP/1.1 and HTTP/2 (RFC 9113 section 8). */
import { STATUS_CODES } from 'node:http';
import type { OutgoingHttpHeaders } from 'node:http2';
import { problemDetail } from '../../../shared/control.ts';
import { isForbiddenTrailer } from '../../../shared/http1/body.ts';
import { type Field, listMembers, parseFields } from '../../../shared/http1/fields.ts';
import type { RequestHead } from '../../../shared/http1/head.ts';
import { CONNECTION_FIELDS, isHopByHop, namedByConnection } from '../../../shared/http1/hop-by-hop.ts';

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const PLAIN_LENGTH = /^(?:0|[1-9]\d{0,14})$/;

/**
 * The header fields of the HTTP/2 request, with its pseudo-fields.
 *
 * @param scheme of the local service
 * @param authority for a request without Host
 */
export function toHttp2Headers(
  { method, target, fields }: RequestHead,
  scheme: 'http' | 'https',
  authority: string,
): OutgoingHttpHeaders {
  const host = fields.find((field) => field.is('host'))?.value ?? authority;
  const headers = noHeaders();
  headers[':method'] = method;
  headers[':scheme'] = scheme;
  headers[':authority'] = host;
  headers[':path'] = target;
  copyFields(
    fields.filter((field) => !field.is('host') && !field.is('te')),
    headers,
  );
  if (listMembers(fields, 'te').includes('trailers')) headers['te'] = 'trailers';
  return headers;
}

/** The trailer fields of the HTTP/2 request. */
export function toHttp2Trailers(fields: readonly Field[]): OutgoingHttpHeaders {
  const trailers = noHeaders();
  copyFields(fields, trailers);
  return trailers;
}

/** Without a prototype, because a field may be named `__proto__`. */
function noHeaders(): OutgoingHttpHeaders {
  return Object.create(null) as OutgoingHttpHeaders;
}

/** Node rejects repeated fields of some names, so the values of a name are combined (RFC 9110 section 5.3). */
function copyFields(fields: readonly Field[], headers: OutgoingHttpHeaders): void {
  const named = namedByConnection(fields);
  for (const field of fields) {
    const { lower, value } = field;
    if (isHopByHop(field, named) || CONNECTION_FIELDS.has(lower)) continue;
    const earlier = headers[lower];
    const separator = lower === 'cookie' ? '; ' : ', ';
    headers[lower] = earlier === undefined ? value : `${String(earlier)}${separator}${value}`;
  }
}

/** How a response is delimited in HTTP/1.1. `empty`: it could have a body, but has none. */
export type ResponseFraming = 'bodyless' | 'empty' | 'chunked' | { readonly length: number };

interface Http1Response {
  readonly head: Buffer;
  readonly framing: ResponseFraming;
}

/**
 * The HTTP/1.1 head of a final response.
 *
 * @param raw names and values in turn, as Node reports them
 * @param method of the request
 * @param isEnd whether the response consists of this head
 * @returns `undefined` if a field cannot be part of an HTTP/1.1 head
 */
export function toHttp1Response(
  raw: readonly string[],
  method: string,
  isEnd: boolean,
): Http1Response | undefined {
  const status = statusOf(raw);
  if (status === undefined || status < 200) return undefined;
  const framing = framingOf(raw, status, method, isEnd);
  const keepsLength = typeof framing === 'object' || (framing === 'bodyless' && status !== 204);
  const lines = fieldLines(raw, (name) => name !== 'content-length' || keepsLength);
  if (framing === undefined || lines === undefined) return undefined;
  const ending =
    framing === 'chunked'
      ? 'Transfer-Encoding: chunked\r\n'
      : framing === 'empty'
        ? 'Content-Length: 0\r\n'
        : '';
  return { head: Buffer.from(`${statusLine(status)}${lines}${ending}\r\n`, 'latin1'), framing };
}

/** The field for which {@link toHttp1Response} has refused a response, as the owner of the service reads it. */
export function refusedLine(raw: readonly string[]): string {
  let at = 0;
  while (at < raw.length && fieldLines(raw.slice(at, at + 2), () => true) !== undefined) at += 2;
  const [name = 'content-length', value = valueOf(raw, 'content-length') ?? ''] = raw.slice(at, at + 2);
  return problemDetail(Buffer.from(`${name}: ${value}`));
}

/** The HTTP/1.1 form of an informational response; `undefined` if it has none. */
export function toHttp1Informational(raw: readonly string[]): Buffer | undefined {
  const status = statusOf(raw);
  const lines = fieldLines(raw, (name) => name !== 'content-length');
  if (status === undefined || status < 100 || status === 101 || status > 199 || lines === undefined)
    return undefined;
  return Buffer.from(`${statusLine(status)}${lines}\r\n`, 'latin1');
}

/**
 * The end of a chunked body with these trailers. Leaves out fields that must not be trailers (RFC 9110 section 6.5.1),
 * which the relay would reject together with the response.
 *
 * @param raw names and values in turn, as Node reports them
 * @returns `undefined` if a field cannot be part of an HTTP/1.1 message
 */
export function toHttp1Trailers(raw: readonly string[]): Buffer | undefined {
  const lines = fieldLines(raw, () => true);
  const bytes = Buffer.from(`${lines}\r\n`, 'latin1');
  const fields = lines === undefined ? undefined : parseFields(bytes, 0);
  if (fields === undefined) return undefined;
  const kept = fields.filter((field) => !isForbiddenTrailer(field));
  return Buffer.from(`0\r\n${kept.map(({ name, value }) => `${name}: ${value}\r\n`).join('')}\r\n`, 'latin1');
}

function statusOf(raw: readonly string[]): number | undefined {
  const status = valueOf(raw, ':status');
  return status !== undefined && /^[1-9]\d\d$/.test(status) ? Number(status) : undefined;
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
}

/** @returns `undefined` for lengths that HTTP/1.1 parsers could read differently */
function framingOf(
  raw: readonly string[],
  status: number,
  method: string,
  isEnd: boolean,
): ResponseFraming | undefined {
  if (method === 'HEAD' || status === 204 || status === 304) return 'bodyless';
  if (isEnd || status === 205) return 'empty';
  const length = valueOf(raw, 'content-length');
  // Only a chunked body can have trailers.
  if (length === undefined || hasTrailers(raw)) return 'chunked';
  return PLAIN_LENGTH.test(length) ? { length: Number(length) } : undefined;
}

function hasTrailers(raw: readonly string[]): boolean {
  return (
    valueOf(raw, 'trailer') !== undefined ||
    valueOf(raw, 'content-type')?.startsWith('application/grpc') === true
  );
}

function valueOf(raw: readonly string[], name: string): string | undefined {
  for (let at = 0; at < raw.length; at += 2) if (raw[at] === name) return raw[at + 1];
  return undefined;
}

/** @returns `undefined` if a field contains characters that would end its line, or are no part of one */
function fieldLines(raw: readonly string[], keeps: (name: string) => boolean): string | undefined {
  let lines = '';
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    const value = raw[at + 1] ?? '';
    if (name.startsWith(':') || CONNECTION_FIELDS.has(name) || name === 'te' || !keeps(name)) continue;
    if (!NAME.test(name) || !VALUE.test(value)) return undefined;
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
