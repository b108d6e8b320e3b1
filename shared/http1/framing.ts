/** How long the body of a message is (RFC 9112 section 6.3), decided from its head, or refused. */
import type { Field } from './fields.ts';
import type { RequestHead, ResponseHead } from './head.ts';

export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  /** responses only: the body ends with the connection */
  | { readonly kind: 'until-close' };

/** Why the framing of a request is refused; each is an entry of `VISITOR_ERRORS`. */
export type FramingFault = 'bad-request' | 'not-implemented';

const NONE: Framing = { kind: 'none' };
const CHUNKED: Framing = { kind: 'chunked' };
const UNTIL_CLOSE: Framing = { kind: 'until-close' };

// Plain digits, no leading zero, below 2^53: every parser reads them as the same number.
const CONTENT_LENGTH = /^(?:0|[1-9]\d{0,14})$/;
const CODING_LIST = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:[ \t]*,[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+)*$/;

/** The framing of a request, or why it is ambiguous. */
export function requestFraming(head: RequestHead): Framing | FramingFault {
  const framing = declaredFraming(head.fields, head.minor);
  return framing === undefined ? NONE : framing;
}

/**
 * The framing of a response, or `undefined` when it is ambiguous.
 *
 * @param method the method of the request it responds to
 */
export function responseFraming(head: ResponseHead, method: string): Framing | undefined {
  const framing = declaredFraming(head.fields, head.minor);
  if (typeof framing === 'string') return undefined;
  return method === 'HEAD' || hasNoBody(head.status) ? NONE : (framing ?? UNTIL_CLOSE);
}

/** Whether a response with that status has no body, whatever its fields say. */
function hasNoBody(status: number): boolean {
  // A 205 must not have one, and some browsers read none (RFC 9110 section 15.3.6).
  return status < 200 || status === 204 || status === 205 || status === 304;
}

/** What Content-Length and Transfer-Encoding say together; `undefined` when there is neither. */
function declaredFraming(fields: readonly Field[], minor: 0 | 1): Framing | FramingFault | undefined {
  let length: string | undefined;
  let coding: string | undefined;
  for (const field of fields) {
    if (field.is('content-length')) {
      if (length !== undefined) return 'bad-request';
      length = field.value;
    } else if (field.is('transfer-encoding')) {
      if (coding !== undefined) return 'bad-request';
      coding = field.value;
    }
  }
  if (coding !== undefined) {
    if (length !== undefined || minor === 0 || !CODING_LIST.test(coding)) return 'bad-request';
    if (coding.toLowerCase() === 'chunked') return CHUNKED;
    const onlyChunked = coding.split(',').every((member) => member.trim().toLowerCase() === 'chunked');
    return onlyChunked ? 'bad-request' : 'not-implemented';
  }
  if (length === undefined) return undefined;
  if (!CONTENT_LENGTH.test(length)) return 'bad-request';
  return length === '0' ? NONE : { kind: 'length', length: Number(length) };
}
