/** What the relay answers a visitor itself (docs/protocol.md sections 4.5 and 5.4). */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { ApiError, VisitorErrorCode } from '../../shared/errors.ts';
import { fieldValue } from '../../shared/http1/fields.ts';
import { errorAnswer } from '../../shared/page.ts';
import { REQUEST_ID_FIELD } from '../observe/request-id.ts';
import type { Plan } from './request-plan.ts';
import type { OwnRoute } from './route.ts';

/** What of the request, as far as it was read, shapes the answer. */
export interface AnswerContext {
  /** value of `Accept` */
  readonly accept?: string | undefined;
  /** Whether the request is a HEAD, which gets no body. */
  readonly headOnly?: boolean;
  /** Whether the connection ends with the answer. */
  readonly close: boolean;
}

/** An answer that the relay gives in place of a request's target. */
export interface OwnAnswer {
  readonly status: number;
  /** what the visitor could not have; `undefined` where it is led on */
  readonly error?: VisitorErrorCode;
  /** @returns the whole response */
  readonly bytes: (close: boolean) => Buffer;
}

/** What shapes the answer to a request; `undefined` for one whose head is not at hand. */
export function answerContext(plan: Pick<Plan, 'head'> | undefined, close: boolean): AnswerContext {
  if (plan === undefined) return { close };
  const { method, fields } = plan.head;
  return { close, accept: fieldValue(fields, 'accept'), headOnly: method === 'HEAD' };
}

/**
 * What shapes the answer to a request that is refused for its head. Of that nothing is believed but which form the
 * visitor can read, because browsers cause such heads, too, with a long address or many cookies; and whether it is a
 * HEAD, or may yet become one, because a proxy takes what follows the head of such an answer for the next one.
 *
 * @param head as much of it as has come, latin1
 */
export function refusalContext(head: string): AnswerContext {
  const start = head.trimStart().slice(0, HEAD_START.length);
  return {
    close: true,
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
  'plan-limit': 'Retry-After: 5\r\n',
  'client-timeout': 'Retry-After: 5\r\n',
};

/**
 * The whole response for a failure of the visitor catalogue.
 *
 * @param contact address of a link for complaints
 * @param text what to say instead of the catalogue's text
 */
export function visitorAnswer(
  code: VisitorErrorCode,
  context: AnswerContext,
  contact: string | undefined,
  text?: string,
): Buffer {
  const { status, fields, contentType, body } = errorAnswer(code, context.accept, text, contact);
  return wholeAnswer(status, fields + (EXTRA[code] ?? ''), contentType, body, context);
}

/** The status of what the relay answers itself though nothing is wrong with it. */
export const OWN_STATUS = { options: 204, redirect: 308 } as const satisfies Record<OwnRoute['kind'], number>;

/**
 * The whole response to such a request.
 *
 * @param close whether the connection ends with it
 */
export function ownAnswer(route: OwnRoute, close: boolean): Buffer {
  const status = OWN_STATUS[route.kind];
  // A 204 has no Content-Length (RFC 9110 section 8.6).
  const fields =
    route.kind === 'options'
      ? ALLOW
      : `Location: ${route.location}\r\nContent-Length: 0\r\nCache-Control: no-store\r\n`;
  return Buffer.from(`${statusLine(status)}${fields}${ending(close)}`, 'latin1');
}

/** The whole response for a refused upgrade: the JSON error body of the REST interface. */
export function upgradeRefusal(error: ApiError, context: AnswerContext): Buffer {
  let fields = '';
  const headers = { [REQUEST_ID_FIELD]: randomUUID(), ...error.headers };
  for (const [name, value] of Object.entries(headers)) fields += `${name}: ${value}\r\n`;
  const body = JSON.stringify({ error: error.message });
  return wholeAnswer(error.status, fields, 'application/json; charset=utf-8', body, context);
}

/** A whole response, never to be cached. */
export function wholeAnswer(
  status: number,
  fields: string,
  contentType: string,
  body: string,
  context: AnswerContext,
): Buffer {
  const length = Buffer.byteLength(body);
  const head =
    `${statusLine(status)}Content-Type: ${contentType}\r\nContent-Length: ${length}\r\nCache-Control: no-store\r\n${fields}` +
    ending(context.close);
  return Buffer.from(context.headOnly === true ? head : head + body);
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n`;
}

function ending(close: boolean): string {
  return `Date: ${new Date().toUTCString()}\r\n${close ? 'Connection: close\r\n' : ''}\r\n`;
}
