/** What is recorded of the requests that visitors make, as the command and the window show it. */
import type { SignatureView, WebhookProvider } from '../webhooks/provider.ts';

/** One line of the request log. */
export interface RequestSummary {
  /** counts up from 1 within one tunnel of one process */
  readonly id: number;
  /** wall-clock ms */
  readonly startedAt: number;
  readonly method: string;
  /** as received, query included */
  readonly target: string;
  /** `undefined` until there is a response */
  readonly status: number | undefined;
  /** ms from the first byte of the request to the last byte of the response; `undefined` until then */
  readonly durationMs: number | undefined;
  /** bytes of the request, head included */
  readonly bytesIn: number;
  /** bytes of the response, head included */
  readonly bytesOut: number;
  /** the response broke off, or the visitor left */
  readonly isBroken: boolean;
  /** who came, such as `link:for the review`, where the tunnel is not open to everybody */
  readonly visitor: string | undefined;
  /** the request that this one repeats */
  readonly replayOf: number | undefined;
  /** it was written down elsewhere, and brought here; without a status it was never sent from here */
  readonly isImported: boolean;
  /** who says to have sent it, if it is a webhook */
  readonly webhook: WebhookProvider | undefined;
  /** of a webhook, where somebody checks that */
  readonly signature?: SignatureView;
}

/** What happened to a tunnel in one second. */
export interface TrafficSecond {
  /** wall-clock s */
  readonly id: number;
  /** requests of visitors that came */
  readonly requests: number;
  /** those that failed: with a status from 400 on, or broken off */
  readonly errors: number;
}

/** What has changed in a log since somebody looked. */
export interface LogChanges {
  /** up to which change this is: where to ask for more from */
  readonly revision: number;
  /** number of the oldest request that is kept: those before it are gone */
  readonly oldest: number;
  /** as they are now, the one that changed last at the end */
  readonly requests: readonly RequestSummary[];
}

/** A request or a response. */
export interface RecordedMessage {
  /** request line or status line */
  readonly startLine: string;
  /** in order, names as sent; values of secrets are replaced */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** without chunked coding, as far as it is kept */
  readonly body: Uint8Array;
  /** whether there was more body than is kept */
  readonly isTruncated: boolean;
}

/** A body, and what became of its content codings. */
export interface DecodedBody {
  readonly bytes: Uint8Array;
  /** codings that were removed, in that order */
  readonly removed: readonly string[];
  /** codings that are still applied, the last one outermost */
  readonly codings: readonly string[];
  /** why those are still applied */
  readonly problem: 'unknown' | 'damaged' | 'too-large' | 'too-many' | undefined;
}

/** What a request has spent its time on, in ms. Those of the other end count, too: its bytes are taken as they come. */
export interface Timing {
  /** before its first byte: from the visitor's announcement until there was a data socket; 0 where there was one */
  readonly waitedMs: number;
  /** from its first byte until there was a local connection for it; `undefined` until then */
  readonly connectedMs: number | undefined;
  /** from its first byte until the head of the response had come; `undefined` until then */
  readonly answeredMs: number | undefined;
}

export interface RequestDetail extends RequestSummary {
  readonly timing: Timing;
  readonly request: RecordedMessage;
  /** `undefined` until its head is complete */
  readonly response: RecordedMessage | undefined;
}

/**
 * A value without the white space of HTTP around it (RFC 9110 section 5.6.3). JavaScript would also trim 0xa0, a byte of many
 * characters in UTF-8. Looks at each character once, however many blanks there are.
 */
export function trimBlanks(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charAt(start))) start += 1;
  while (end > start && isBlank(value.charAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\t';
}

/* Finds recorded requests by words. */

/** What words are looked for in. */
export type Matched = Pick<
  RequestSummary,
  'method' | 'target' | 'status' | 'isBroken' | 'visitor' | 'webhook'
>;

/**
 * Whether every one of the words is in the request's method, address, status, visitor or sender, in any case. No words are in every
 * request.
 *
 * @param typed words with spaces between them
 */
export function matches(
  { method, target, status, isBroken, visitor, webhook }: Matched,
  typed: string,
): boolean {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const parts = [method, target, status, isBroken ? 'broken' : '', visitor, webhook];
  const text = parts.join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Those that match; the order stays. */
export function matching(summaries: readonly RequestSummary[], typed: string): readonly RequestSummary[] {
  return summaries.filter((summary) => matches(summary, typed));
}
