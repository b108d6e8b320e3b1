/** What to do with a request, decided from its head alone. */
import type { BlockList } from 'node:net';
import { type VisitorErrorCode } from '../../../shared/errors.ts';
import { type Framing, requestFraming } from '../../../shared/http1/framing.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import { parseRequestHead, type RequestHead } from '../../../shared/http1/head.ts';
import { REQUEST_FIELDS_MAX, REQUEST_TARGET_MAX_BYTES } from '../../limits.ts';
import { offersWebSocket, route, type Route, type RouteContext } from './route.ts';

/** What the edge is told, the same for every connection. */
export interface EdgeContext extends RouteContext {
  readonly trustedProxies: BlockList;
  /** address of a link to whoever handles complaints about tunnels */
  readonly abuseContact?: string | undefined;
}

/** A well-formed request. */
export interface Plan {
  readonly head: RequestHead;
  readonly framing: Framing;
  readonly route: Route;
  /** Whether it offers a WebSocket that may be passed on. */
  readonly upgrade: boolean;
  /** Whether the visitor waits for a 100 before it sends its body. */
  readonly expectsContinue: boolean;
  /** Whether the visitor wants its connection to end with the response, as every HTTP/1.0 visitor does. */
  readonly close: boolean;
}

/**
 * Reads a head and decides.
 *
 * @returns the plan, or why the request is refused; after a refusal nothing more may be read on its connection
 */
export function planRequest(bytes: Buffer, context: EdgeContext): Plan | VisitorErrorCode {
  const head = parseRequestHead(bytes, { target: REQUEST_TARGET_MAX_BYTES, fields: REQUEST_FIELDS_MAX });
  if (typeof head === 'string') return head;
  const framing = requestFraming(head);
  if (typeof framing === 'string') return framing;
  const decided = route(head, context);
  if (decided.kind === 'refuse' && decided.code === 'bad-request') return decided.code;
  const expectation = head.minor === 1 ? fieldValue(head.fields, 'expect') : undefined;
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') return 'expectation-failed';
  return {
    head,
    framing,
    route: decided,
    upgrade: framing.kind === 'none' && offersWebSocket(head),
    expectsContinue: expectation !== undefined,
    close: head.minor === 0 || wantsClose(head),
  };
}

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

function wantsClose(head: RequestHead): boolean {
  return head.fields.some((field) => field.is('connection') && CLOSE.test(field.value));
}

/** The fault of a head that does not end within its limit of bytes. */
export function oversizeFault(text: string): VisitorErrorCode {
  const line = text.slice(0, text.indexOf('\r\n') === -1 ? text.length : text.indexOf('\r\n'));
  const target = line.split(' ', 2)[1] ?? '';
  return target.length > REQUEST_TARGET_MAX_BYTES ? 'uri-too-long' : 'head-too-large';
}
