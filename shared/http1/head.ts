/**
 * Heads of HTTP/1.1 messages (RFC 9112 sections 2 to 5), read strictly: what another parser might read in a second
 * way is refused. Text is latin1, one character a byte, so that what is passed on is what came.
 */

/** One field line, its name as sent. */
export interface Field {
  readonly name: string;
  readonly lower: string;
  /** without the white space around it */
  readonly value: string;
}

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** the minor version: HTTP/1.0 or HTTP/1.1 */
  readonly minor: 0 | 1;
  readonly fields: readonly Field[];
}

export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly minor: 0 | 1;
  readonly fields: readonly Field[];
}

/** Why a request head is refused; each is an entry of `VISITOR_ERRORS`. */
export type RequestFault = 'bad-request' | 'version-not-supported' | 'uri-too-long' | 'head-too-large';

export interface RequestLimits {
  /** bytes of the request target */
  readonly target: number;
  /** number of field lines */
  readonly fields: number;
}

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
// A target has no fragment. Bytes from 0x80 up are let through in targets and values: they are not the standard's, but are read alike.
const REQUEST_LINE = new RegExp(
  `(${TOKEN}) ([\\x21\\x22\\x24-\\x7e\\x80-\\xff]+) HTTP/(\\d)\\.(\\d)\\r\\n`,
  'y',
);
const STATUS_LINE = /HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n/y;
const FIELD_LINE = new RegExp(`(${TOKEN}):[ \\t]*([\\t\\x20-\\x7e\\x80-\\xff]*)\\r\\n`, 'y');

/**
 * Reads a request head.
 *
 * @param text the head, from the first byte to the empty line, both included
 */
export function parseRequestHead(text: string, limits: RequestLimits): RequestHead | RequestFault {
  REQUEST_LINE.lastIndex = 0;
  const line = REQUEST_LINE.exec(text);
  if (line === null) return 'bad-request';
  const [, method = '', target = '', major, minor] = line;
  if (major !== '1' || (minor !== '0' && minor !== '1')) return 'version-not-supported';
  if (target.length > limits.target) return 'uri-too-long';
  const fields = parseFields(text, REQUEST_LINE.lastIndex);
  if (fields === undefined) return 'bad-request';
  if (fields.length > limits.fields) return 'head-too-large';
  return { method, target, minor: minor === '0' ? 0 : 1, fields };
}

/**
 * Reads a response head.
 *
 * @param text the head, from the first byte to the empty line, both included
 * @returns `undefined` for a broken head
 */
export function parseResponseHead(text: string): ResponseHead | undefined {
  STATUS_LINE.lastIndex = 0;
  const line = STATUS_LINE.exec(text);
  if (line === null) return undefined;
  const [, minor, status, reason = ''] = line;
  const fields = parseFields(text, STATUS_LINE.lastIndex);
  return fields && { status: Number(status), reason, minor: minor === '0' ? 0 : 1, fields };
}

/**
 * Reads field lines up to and with the empty line that ends them, which must be the last of the text.
 *
 * @param start where the first line begins
 * @returns `undefined` when a line is broken
 */
export function parseFields(text: string, start: number): Field[] | undefined {
  const fields: Field[] = [];
  const end = text.length - 2;
  let position = start;
  while (position < end) {
    FIELD_LINE.lastIndex = position;
    const match = FIELD_LINE.exec(text);
    if (match === null) return undefined;
    const [, name = '', raw = ''] = match;
    fields.push({ name, lower: name.toLowerCase(), value: trimEnd(raw) });
    position = FIELD_LINE.lastIndex;
  }
  return position === end && text.endsWith('\r\n') ? fields : undefined;
}

/** `String.trimEnd` would also cut bytes that are no white space in HTTP, such as 0xa0. */
function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end -= 1;
  return end === text.length ? text : text.slice(0, end);
}

/** The value of the first field of that name, which is given in lower case. */
export function fieldValue(fields: readonly Field[], lower: string): string | undefined {
  for (const field of fields) if (field.lower === lower) return field.value;
  return undefined;
}

/**
 * The members of a comma-separated list field, in lower case, all its lines taken together (RFC 9110 section 5.6.1).
 * For lists of tokens only: a quoted comma would be taken for a separator.
 */
export function listMembers(fields: readonly Field[], lower: string): string[] {
  const members: string[] = [];
  for (const field of fields) {
    if (field.lower !== lower) continue;
    for (const member of field.value.split(',')) {
      const trimmed = member.trim().toLowerCase();
      if (trimmed !== '') members.push(trimmed);
    }
  }
  return members;
}
