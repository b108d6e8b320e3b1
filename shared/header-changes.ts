/** Headers that a client sets and removes: in requests for the local service, and in its responses. */
import { CONNECTION_FIELDS } from './http1/hop-by-hop.ts';
import type { ValueRule } from './value-rules.ts';

/** Lines such as `X-Env: dev` replace all headers of that name; names are removed. */
export interface HeaderChanges {
  readonly requestHeader: readonly string[];
  readonly removeRequestHeader: readonly string[];
  readonly responseHeader: readonly string[];
  readonly removeResponseHeader: readonly string[];
}

export const NO_HEADER_CHANGES: HeaderChanges = {
  requestHeader: [],
  removeRequestHeader: [],
  responseHeader: [],
  removeResponseHeader: [],
};

/** Maximum number of headers in each of the four lists. */
export const HEADERS_MAX = 16;
/** Maximum length of one of them: all together add less to a head than clients and relays leave room for. */
const HEADER_MAX_CHARS = 1024;

/** An RFC 9110 token. */
const NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const PRINTABLE_ASCII = /^[\x20-\x7e\t]*$/;

/**
 * Fields that frame a message or are about a connection (RFC 9110 sections 7.6.1 and 7.8, RFC 9112 section 6, RFC 6455
 * section 11.3), and Host. Host has an option of its own.
 */
const FIXED: ReadonlySet<string> = new Set([
  ...CONNECTION_FIELDS,
  'content-length',
  'expect',
  'host',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-version',
  'te',
  'trailer',
]);

const EXCEPT =
  'except Host (see --host-header) and headers of the connection such as Connection, Content-Length and Upgrade';

/** A header to set. */
export const HEADER_RULE: ValueRule = {
  code: 'header',
  accepts: (value) => isShort(value) && readHeader(value) !== undefined,
  accepted: `a header such as "X-Env: dev" of at most ${HEADER_MAX_CHARS} characters, ${EXCEPT}`,
};

/** A header to remove. */
export const HEADER_NAME_RULE: ValueRule = {
  code: 'headerName',
  accepts: (value) => isShort(value) && NAME.test(value) && !FIXED.has(value.toLowerCase()),
  accepted: `the name of a header, ${EXCEPT}`,
};

/** One header to set, or a list. */
export const HEADERS_RULE: ValueRule = listRule('headers', HEADER_RULE);
/** One name to remove, or a list. */
export const HEADER_NAMES_RULE: ValueRule = listRule('headerNames', HEADER_NAME_RULE);

function listRule(code: string, rule: ValueRule): ValueRule {
  return {
    code,
    accepts(value) {
      const list: readonly unknown[] = Array.isArray(value) ? value : [value];
      return list.length <= HEADERS_MAX && list.every((one) => rule.accepts(one));
    },
    accepted: `${rule.accepted}, or a list of at most ${HEADERS_MAX}`,
  };
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value.length <= HEADER_MAX_CHARS;
}

export interface Header {
  readonly name: string;
  readonly value: string;
}

/** @returns `undefined` if the line is not a header, or must not be set */
export function readHeader(line: string): Header | undefined {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon));
  const value = line.slice(colon + 1);
  if (!NAME.test(name) || !PRINTABLE_ASCII.test(value) || FIXED.has(name.toLowerCase())) return undefined;
  return { name, value: value.trim() };
}

const LISTS: Readonly<Record<keyof HeaderChanges, ValueRule>> = {
  requestHeader: HEADERS_RULE,
  removeRequestHeader: HEADER_NAMES_RULE,
  responseHeader: HEADERS_RULE,
  removeResponseHeader: HEADER_NAMES_RULE,
};

/** Whether a value from elsewhere has exactly the four lists, with nothing in them that must not be changed. */
export function isHeaderChanges(value: unknown): value is HeaderChanges {
  if (typeof value !== 'object' || value === null) return false;
  const entries = Object.entries(value);
  return (
    entries.length === Object.keys(LISTS).length &&
    entries.every(([name, list]) => Array.isArray(list) && hasRule(name) && LISTS[name].accepts(list))
  );
}

function hasRule(name: string): name is keyof HeaderChanges {
  return Object.hasOwn(LISTS, name);
}
