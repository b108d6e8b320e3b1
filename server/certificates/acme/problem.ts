/** What goes wrong with an authority. */

const URN = 'urn:ietf:params:acme:error:';
const DETAIL_MAX_LENGTH = 300;

/** The authority cannot be reached, is overloaded, or sends what nobody can use: no name is to blame. */
export class AuthorityError extends Error {
  /** ms to wait that it asks for */
  readonly retryAfterMs: number | undefined;

  constructor(text: string, retryAfterMs?: number, cause?: unknown) {
    super(text, { cause });
    this.name = 'AuthorityError';
    this.retryAfterMs = retryAfterMs;
  }
}

/** The authority has refused (RFC 8555 section 6.7). */
export class AcmeProblem extends Error {
  /** without the namespace of ACME, such as `badNonce` */
  readonly type: string;
  readonly status: number;

  constructor(type: string, detail: string, status: number) {
    super(`${type}: ${printable(detail)}`);
    this.name = 'AcmeProblem';
    this.type = type;
    this.status = status;
  }
}

/** @param body of a response, parsed, or an `error` in it */
export function problemOf(body: unknown, status: number): AcmeProblem {
  const { type, detail } = (body ?? {}) as { type?: unknown; detail?: unknown };
  const kind = typeof type === 'string' && type.startsWith(URN) ? type.slice(URN.length) : 'malformed';
  return new AcmeProblem(printable(kind), typeof detail === 'string' ? detail : `status ${status}`, status);
}

/** What others wrote goes into the log. */
function printable(text: string): string {
  return text.slice(0, DETAIL_MAX_LENGTH).replaceAll(/[^\x20-\x7e]/g, '?');
}
