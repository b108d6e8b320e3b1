/** The relay's own responses to visitors (protocol.md sections 4.5 and 5.4). */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { ApiError, VisitorErrorCode } from '../../shared/errors.ts';
import { fieldValue } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { type AcceptingRequest, errorContent } from '../../shared/page.ts';
import { REQUEST_ID_FIELD } from '../log.ts';

/** The facts about a request that determine the response, as far as the request was read. */
interface RequestFacts extends AcceptingRequest {
  /** Whether the request is a HEAD, whose response has no body. */
  readonly headOnly?: boolean;
}

/** A response of the relay instead of the request's target. */
export interface OwnResponse {
  readonly status: number;
  /** Whether the request was refused. */
  readonly refuses: boolean;
  /** why, if the reason is in the catalogue of visitor errors */
  readonly error?: VisitorErrorCode;
  /**
   * Writes the whole response.
   *
   * @param close whether the connection ends with it
   */
  readonly bytes: (close: boolean) => Buffer;
}

/** The facts that determine the response to a request; `undefined` for one without a known head. */
export function requestFacts(plan: { readonly head: RequestHead } | undefined): RequestFacts {
  if (plan === undefined) return {};
  const { method, fields } = plan.head;
  return { accept: fieldValue(fields, 'accept'), headOnly: method === 'HEAD', isGet: method === 'GET' };
}

/**
 * The facts about a request that is refused for its head. Only two things in that head are trusted: the form that the
 * visitor can read, because browsers also cause such heads with a long address or many cookies; and whether it is a
 * HEAD, or may become one, because a proxy treats what follows the head of such a response as the next response.
 *
 * @param head as much of it as has arrived, latin1
 */
export function factsOfHead(head: string): RequestFacts {
  const start = head.trimStart().slice(0, HEAD_START.length);
  return {
    accept: ACCEPT_LINE.exec(head)?.[1],
    headOnly: start !== '' && HEAD_START.startsWith(start),
  };
}

const HEAD_START = 'HEAD ';
const ACCEPT_LINE = /\r\naccept:([^\r\n]*)\r\n/i;

const ALLOW = 'Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n';
const EXTRA: Partial<Record<VisitorErrorCode, string>> = {
  'method-not-allowed': ALLOW,
  'too-many': 'Retry-After: 5\r\n',
  'relay-busy': 'Retry-After: 5\r\n',
  'tunnel-busy': 'Retry-After: 5\r\n',
  'tunnel-offline': 'Retry-After: 5\r\n',
  'domain-offline': 'Retry-After: 5\r\n',
  'plan-limit': 'Retry-After: 5\r\n',
  'client-timeout': 'Retry-After: 5\r\n',
};

/**
 * The response for an error of the visitor catalogue.
 *
 * @param contact address of a link for complaints
 * @param text replaces the catalogue's text
 */
export function errorResponse(
  code: VisitorErrorCode,
  request: RequestFacts,
  contact: string | undefined,
  text?: string,
): OwnResponse {
  const { status, fields, contentType, body } = errorContent(code, request, text, contact);
  const content = { status, fields: fields + (EXTRA[code] ?? ''), contentType, body };
  return {
    status,
    refuses: true,
    error: code,
    bytes: (close) => wholeResponse(content, close, request.headOnly),
  };
}

/** Valid requests that the relay responds to itself. */
export type OwnRoute =
  /** OPTIONS of the whole server */
  | { readonly kind: 'options' }
  /** to the same address with a slash after the prefix */
  | { readonly kind: 'redirect'; readonly location: string };

/** The response to a request of that kind. */
export function routeResponse(route: OwnRoute): OwnResponse {
  const status = route.kind === 'options' ? 204 : 308;
  // A 204 has no Content-Length (RFC 9110 section 8.6).
  const fields =
    route.kind === 'options'
      ? ALLOW
      : `Location: ${route.location}\r\nContent-Length: 0\r\nCache-Control: no-store\r\n`;
  return {
    status,
    refuses: false,
    bytes: (close) => Buffer.from(`${statusLine(status)}${fields}${ending(close)}`, 'latin1'),
  };
}

/** The response for a refused upgrade: the JSON error body of the REST interface. */
export function upgradeRefusal(error: ApiError): OwnResponse {
  const { status } = error;
  let fields = '';
  const headers = { [REQUEST_ID_FIELD]: randomUUID(), ...error.headers };
  for (const [name, value] of Object.entries(headers)) fields += `${name}: ${value}\r\n`;
  const body = JSON.stringify(error.body);
  const content = { status, fields, contentType: 'application/json; charset=utf-8', body };
  return { status, refuses: true, bytes: (close) => wholeResponse(content, close) };
}

/** The content of a response. */
export interface Content {
  readonly status: number;
  /** more field lines, each with its line end */
  readonly fields: string;
  readonly contentType: string;
  readonly body: string;
}

/** A whole response that must not be cached. */
export function wholeResponse(
  { status, fields, contentType, body }: Content,
  close: boolean,
  headOnly = false,
): Buffer {
  const length = Buffer.byteLength(body);
  const head =
    `${statusLine(status)}Content-Type: ${contentType}\r\nContent-Length: ${length}\r\nCache-Control: no-store\r\n${fields}` +
    ending(close);
  return Buffer.from(headOnly ? head : head + body);
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n`;
}

function ending(close: boolean): string {
  return `Date: ${new Date().toUTCString()}\r\n${close ? 'Connection: close\r\n' : ''}\r\n`;
}
