/**
 * Writes the head of an HTTP/2 request as the HTTP/1.1 head that means the same (RFC 9113 section 8.3), so that one set
 * of rules decides on both (docs/decisions/0024-http2.md).
 */
import { CONNECTION_FIELDS } from '../../../shared/http1/hop-by-hop.ts';
import { REQUEST_FIELDS_MAX } from '../../limits.ts';
import { isHost, namesHost } from '../route.ts';

/** How the body of a request follows its head. */
export type RequestBody = 'none' | 'length' | 'chunked';

export interface WrittenHead {
  readonly bytes: Buffer;
  readonly body: RequestBody;
  /** Whether the response has no body, whatever its fields say. */
  readonly isHead: boolean;
}

const PSEUDO: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path']);
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Without blanks at its ends (RFC 9113 section 8.2.1). */
const VALUE = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/;
const TARGET = /^[!-~\x80-\xff]+$/;

/**
 * Writes the head of a request.
 *
 * @param fields names and values in turn, as decoded, one character per byte
 * @param isComplete whether the message ends with its head
 * @returns a head that the parser of HTTP/1.1 refuses, if the message is malformed
 */
export function writeRequestHead(fields: readonly string[], isComplete: boolean): WrittenHead {
  const message = read(fields);
  if (message === undefined) return { bytes: refusable(fields), body: 'none', isHead: false };
  const { method, target, host, lines, hasLength } = message;
  const body = hasLength ? 'length' : isComplete ? 'none' : 'chunked';
  const coding = body === 'chunked' ? 'Transfer-Encoding: chunked\r\n' : '';
  // The stream ends with the response; in HTTP/1.1, this field announces that.
  const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${lines}${coding}Connection: close\r\n\r\n`;
  return { bytes: Buffer.from(head, 'latin1'), body, isHead: method === 'HEAD' };
}

interface Message {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  /** the other fields, each with its line end */
  readonly lines: string;
  readonly hasLength: boolean;
}

/** @returns `undefined` for a malformed message */
function read(fields: readonly string[]): Message | undefined {
  const pseudo = new Map<string, string>();
  const cookies: string[] = [];
  let host: string | undefined;
  let lines = '';
  let hasLength = false;
  let count = 0;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    const value = fields[index + 1] ?? '';
    if (name.startsWith(':')) {
      if (!PSEUDO.has(name) || pseudo.has(name) || count > 0) return undefined;
      pseudo.set(name, value);
      continue;
    }
    count += 1;
    if (!isField(name, value)) return undefined;
    if (name === 'host') {
      if (host !== undefined) return undefined;
      host = value;
    } else if (name === 'cookie') cookies.push(value);
    else lines += `${name}: ${value}\r\n`;
    hasLength ||= name === 'content-length';
  }
  const target = targetIn(pseudo);
  const method = pseudo.get(':method');
  const authority = pseudo.get(':authority');
  if (target === undefined || method === undefined || !METHOD.test(method)) return undefined;
  const named = authority ?? host;
  if (named === undefined || !isHost(named) || (host !== undefined && !namesHost(named, 'https', host)))
    return undefined;
  return { method, target, host: named, lines: lines + cookieLines(cookies, count), hasLength };
}

function isField(name: string, value: string): boolean {
  if (!NAME.test(name) || !VALUE.test(value) || CONNECTION_FIELDS.has(name)) return false;
  return name !== 'te' || value === 'trailers';
}

/** @returns `undefined` unless it is that of a request for https */
function targetIn(pseudo: ReadonlyMap<string, string>): string | undefined {
  const path = pseudo.get(':path');
  if (pseudo.get(':scheme') !== 'https' || path === undefined || !TARGET.test(path)) return undefined;
  return path.startsWith('/') || path === '*' ? path : undefined;
}

/**
 * A cookie may be split into several fields, which HTTP/1.1 has as one (RFC 9113 section 8.2.3). Each counts as a field
 * though, so if there are too many, the parser gets to see all of them.
 */
function cookieLines(cookies: readonly string[], count: number): string {
  if (cookies.length === 0) return '';
  const values = count > REQUEST_FIELDS_MAX ? cookies : [cookies.join('; ')];
  return values.map((value) => `cookie: ${value}\r\n`).join('');
}

/** A head with a malformed first line, and the field that decides on the form of the response. */
function refusable(fields: readonly string[]): Buffer {
  const at = fields.indexOf('accept');
  const accept = at === -1 || at % 2 === 1 ? '' : (fields[at + 1] ?? '').replaceAll(/[^ -~]/g, '');
  return Buffer.from(`HTTP/2\r\nAccept: ${accept}\r\n\r\n`, 'latin1');
}

/**
 * Writes the trailer section of a chunked body.
 *
 * @param fields as for {@link writeRequestHead}
 * @returns `undefined` for malformed fields
 */
export function writeTrailers(fields: readonly string[]): Buffer | undefined {
  let lines = '0\r\n';
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    const value = fields[index + 1] ?? '';
    if (!isField(name, value)) return undefined;
    lines += `${name}: ${value}\r\n`;
  }
  return Buffer.from(`${lines}\r\n`, 'latin1');
}
