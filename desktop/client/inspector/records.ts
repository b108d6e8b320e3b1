/** Recorded requests as the command and the window show them. */
import type { RawEnd, Rehearsed } from '../data/stream-filter.ts';

/**
 * Number of bytes recorded for each body by default, as sent, including chunked coding.
 * @limit owner: Recorded part of a body, by default | the rest is not recorded
 */
export const RECORDED_BODY_MAX_BYTES = 256 * 1024;
/** As little as can be chosen, and what is recorded of each WebSocket message. */
export const RECORDED_BODY_MIN_BYTES = 64 * 1024;
/** Maximum length of a request search: more than anybody types. */
export const SEARCH_MAX_CHARS = 200;

/** One line of the request log. */
export interface RequestSummary {
  /** counts up from 1 within one tunnel of one process */
  readonly id: number;
  /** wall-clock ms */
  readonly startedAt: number;
  readonly method: string;
  /** as received, including the query */
  readonly target: string;
  /** `undefined` until a response begins */
  readonly status: number | undefined;
  /** ms from the first byte of the request to the last byte of the response; `undefined` until then */
  readonly durationMs: number | undefined;
  /** bytes of the request, including its head */
  readonly bytesIn: number;
  /** bytes of the response, including its head */
  readonly bytesOut: number;
  /** whether the response broke off, or the visitor left */
  readonly isBroken: boolean;
  /** who sent it, such as `link:for the review`, if the tunnel has an access policy */
  readonly visitor: string | undefined;
  /** who sent it, as its head says; missing of a request that no visitor sent */
  readonly from?: VisitorDevice | undefined;
  /** the repeated request */
  readonly replayOf: number | undefined;
  /** whether it was imported; without a status it was never sent from here */
  readonly isImported: boolean;
  /** the claimed sender, if it is a webhook */
  readonly webhook: WebhookProvider | undefined;
  /** what a rehearsal has done to it; missing for any other request */
  readonly rehearsed?: Rehearsed;
  /** of a webhook whose signature is checked */
  readonly signature?: SignatureView;
  /**
   * of a connection that carries bytes instead of a request: `method` is then its protocol, and `target` the visitor's
   * address, if that is known
   */
  readonly connection?: RawState | undefined;
  /** of a WebSocket or an event stream */
  readonly messages?: MessageCounts | undefined;
}

/** What sent a request. */
export interface VisitorDevice {
  /** the visitor's address, which the relay sets; `''` if it is not known */
  readonly address: string;
  /** the beginning of `User-Agent`, or `''` */
  readonly agent: string;
}

/**
 * The tries of each visit, by the numbers of all of them: a request and its repetitions, oldest first. An edited one
 * with another method or address is a visit of its own.
 *
 * @param requests oldest first
 */
export function triesOf(requests: readonly RequestSummary[]): ReadonlyMap<number, readonly RequestSummary[]> {
  const tries = new Map<number, RequestSummary[]>();
  for (const request of requests) {
    const { id, replayOf, method, target } = request;
    const visit = replayOf === undefined ? undefined : tries.get(replayOf);
    const isSame = visit?.[0]?.method === method && visit[0].target === target;
    if (isSame) visit.push(request);
    tries.set(id, isSame ? visit : [request]);
  }
  return tries;
}

/** How many messages a connection has carried so far, including those that are not kept. */
export interface MessageCounts {
  readonly kind: 'websocket' | 'event-stream';
  readonly fromVisitor: number;
  readonly fromService: number;
  /** control frames in both directions; comments of an event stream */
  readonly control: number;
}

/** Whether a raw connection is open, or how it has ended. */
export type RawState = 'open' | RawEnd;

/** The traffic of a tunnel in one second. */
export interface TrafficSecond {
  /** wall-clock s */
  readonly id: number;
  /** new requests of visitors */
  readonly requests: number;
  /** requests with a status of 4xx */
  readonly refused: number;
  /** failed requests: with a status from 500 on, or broken off */
  readonly errors: number;
}

/** A reader's position in a log. */
export interface LogPoint {
  /** changes when requests are hidden or shown again; earlier parts no longer apply then */
  readonly epoch: number;
  /** moves with every change */
  readonly revision: number;
}

/** Where nothing is read yet. */
export const LOG_START: LogPoint = { epoch: 0, revision: 0 };

/** Changes to a log since the reader's last position. */
export interface LogUpdate {
  /** how far it goes: ask for more from here */
  readonly at: LogPoint;
  /** whether this replaces everything read before */
  readonly isWhole: boolean;
  /** whether there is more than this */
  readonly isMore: boolean;
  /** number of the oldest request there is: those before it are gone */
  readonly oldest: number;
  /** in their current state, the one that changed last at the end */
  readonly requests: readonly RequestSummary[];
}

/** A request or a response. */
export interface RecordedMessage {
  /** request line or status line */
  readonly startLine: string;
  /** in order, names as sent; values of secrets are replaced */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** without chunked coding, as far as recorded */
  readonly body: Uint8Array;
  /** whether the body was longer than recorded */
  readonly isTruncated: boolean;
  /** number of bytes of the body that were recorded, if only its beginning is shown here */
  readonly wholeBytes?: number;
}

/** A message with at most that much of its body, to show it. */
export function beginningOf(message: RecordedMessage, bytes: number): RecordedMessage {
  const { body } = message;
  if (body.length <= bytes) return message;
  // A copy, because all of the memory behind a Uint8Array goes to the window.
  return { ...message, body: Uint8Array.from(body.subarray(0, bytes)), wholeBytes: body.length };
}

/** The values of all fields with a name, which is given in lower case. */
export function fieldValues({ fields }: Pick<RecordedMessage, 'fields'>, lower: string): string[] {
  return fields.filter(([name]) => name.toLowerCase() === lower).map(([, value]) => value);
}

/** Names with their values, in order, including repeated names. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** The cookies that a request sends, or that a response sets, each with its attributes. */
export function cookiesOf(message: Pick<RecordedMessage, 'fields'>): Pairs {
  const sent = fieldValues(message, 'cookie').flatMap((value) => value.split(';'));
  return [...sent, ...fieldValues(message, 'set-cookie')]
    .filter((cookie) => trimBlanks(cookie) !== '')
    .map((cookie) => {
      const [pair = ''] = cookie.split(';', 1);
      const at = pair.indexOf('=');
      return [trimBlanks(cookie.slice(0, Math.max(0, at))), trimBlanks(cookie.slice(at + 1))];
    });
}

/** A message of a WebSocket, a control frame, or an event of an event stream. */
export interface SocketMessage {
  /** counts up from 1 within one connection, in both directions together */
  readonly id: number;
  /** ms from the first byte of the request until its last byte */
  readonly atMs: number;
  readonly isFromVisitor: boolean;
  /** a `comment` is what makes no event */
  readonly kind: 'text' | 'binary' | 'close' | 'ping' | 'pong' | 'event' | 'comment';
  /** fields of an event, without its data; `undefined` if there are none */
  readonly event?: { readonly name: string | undefined; readonly id: string | undefined } | undefined;
  /** bytes of its payload as it was sent, which may be compressed */
  readonly size: number;
  /** how it was sent; `unreadable` if it could not be decompressed, and `waiting` if that is yet to be done */
  readonly form: 'plain' | 'compressed' | 'unreadable' | 'waiting';
  /** decompressed, as far as recorded; empty for a message that could not be decompressed */
  readonly body: Uint8Array;
  /** whether it was longer than recorded */
  readonly isCut: boolean;
}

/** The messages of a WebSocket or an event stream. */
export interface SocketMessages {
  /** number of the last message so far: control frames and messages that are no longer kept count as well */
  readonly count: number;
  /** number of the oldest one that is kept */
  readonly oldest: number;
  /** in their order */
  readonly messages: readonly SocketMessage[];
  /** why later ones are missing: an unknown extension, a content coding, or bytes that are not a WebSocket's */
  readonly problem: 'extension' | 'encoded' | 'damaged' | undefined;
}

/** A body, with its content codings. */
export interface DecodedBody {
  readonly bytes: Uint8Array;
  /** codings that were removed, in that order */
  readonly removed: readonly string[];
  /** codings that are still applied, the last one outermost */
  readonly codings: readonly string[];
  /** why those are still applied */
  readonly problem: 'unknown' | 'damaged' | 'too-large' | 'too-many' | undefined;
  /** whether this is only the beginning */
  readonly isCut?: boolean;
}

/** A message, and its decoded body if it has content codings. */
export interface MessageView extends RecordedMessage {
  readonly decoded?: DecodedBody | undefined;
}

/** A request as a window shows it. */
export interface DetailView extends RequestDetail {
  /** all tries of its visit, if there are several */
  readonly tries?: readonly RequestSummary[] | undefined;
  readonly request: MessageView;
  readonly response: MessageView | undefined;
}

/** How a request spent its time, in ms. Includes delays of the peer, because its bytes are forwarded as they arrive. */
export interface Timing {
  /** before its first byte: from the visitor's announcement until its data socket was open; 0 if it already was */
  readonly waitedMs: number;
  /** from its first byte until it had a local connection; `undefined` until then */
  readonly connectedMs: number | undefined;
  /** from its first byte until the head of the response had arrived; `undefined` until then */
  readonly answeredMs: number | undefined;
}

export interface RequestDetail extends RequestSummary {
  readonly timing: Timing;
  readonly request: RecordedMessage;
  /** `undefined` until its head is complete */
  readonly response: RecordedMessage | undefined;
}

/**
 * Removes the white space of HTTP around a value (RFC 9110 section 5.6.3). JavaScript would also trim 0xa0, a byte of
 * many UTF-8 characters. Looks at each character once, no matter how many blanks there are.
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

/** Whether a raw connection has ended in another way than both sides wanted. */
export function isBrokenEnd(connection: RawState): boolean {
  return connection !== 'open' && connection !== 'done';
}

/** Whether it has its response: a WebSocket is open for long after that. A raw connection has none, but an end. */
export function isAnswered({ durationMs, status }: Pick<RequestSummary, 'durationMs' | 'status'>): boolean {
  return durationMs !== undefined || status === SWITCHING_PROTOCOLS;
}

/** Which changes of a log deserve a line of text: a WebSocket opens, or a request ends. */
export function newLines(): (change: RequestSummary) => boolean {
  const opened = new Set<number>();
  return (change) => {
    const { id, durationMs } = change;
    if (durationMs !== undefined) opened.delete(id);
    else if (!isAnswered(change) || opened.has(id)) return false;
    else opened.add(id);
    return true;
  };
}

const SWITCHING_PROTOCOLS = 101;

/* Searches recorded requests. */

/** The searched fields. */
type Matched = Pick<
  RequestSummary,
  'method' | 'target' | 'status' | 'isBroken' | 'visitor' | 'webhook' | 'connection' | 'messages'
>;

/**
 * Whether the request's method, address, status, visitor or sender contain every word, in any case. The word `websocket` or
 * `event-stream` stands for requests that opened one. Without words, every request matches.
 *
 * @param typed words separated by spaces
 */
export function matches(
  { method, target, status, isBroken, visitor, webhook, connection, messages }: Matched,
  typed: string,
): boolean {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const broken = isBroken ? 'broken' : '';
  const parts = [method, target, status, broken, visitor, webhook, connection, messages?.kind];
  const text = parts.join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The matching requests, in the same order. */
export function matching(summaries: readonly RequestSummary[], typed: string): readonly RequestSummary[] {
  return summaries.filter((summary) => matches(summary, typed));
}

/* Recognises the sender of a webhook by its signature or identifying field. Only the signature proves it. */

/** Senders by their ids, with their names for people. */
export const WEBHOOK_PROVIDERS = {
  stripe: 'Stripe',
  github: 'GitHub',
  slack: 'Slack',
  shopify: 'Shopify',
  twilio: 'Twilio',
  /** senders that sign according to https://www.standardwebhooks.com, or as Svix did before */
  standard: 'Standard Webhooks',
} as const;

export type WebhookProvider = keyof typeof WEBHOOK_PROVIDERS;

export const WEBHOOK_PROVIDER_IDS = Object.keys(WEBHOOK_PROVIDERS) as readonly WebhookProvider[];

/** By field name in lower case. If a request has several of them, the first decides. */
const PROVIDER_FIELDS: ReadonlyMap<string, WebhookProvider> = new Map([
  ['stripe-signature', 'stripe'],
  ['x-github-event', 'github'],
  ['x-slack-signature', 'slack'],
  ['x-shopify-hmac-sha256', 'shopify'],
  ['x-twilio-signature', 'twilio'],
  ['webhook-signature', 'standard'],
  ['svix-signature', 'standard'],
]);

/**
 * Recognises a webhook.
 *
 * @param fields of a request, names in any case
 * @returns the id of its sender; `undefined` for any other request
 */
export function recogniseWebhook(
  fields: Iterable<readonly [name: string, value: string]>,
): WebhookProvider | undefined {
  for (const [name] of fields) {
    const provider = PROVIDER_FIELDS.get(name.toLowerCase());
    if (provider !== undefined) return provider;
  }
  return undefined;
}

/* The result of checking a webhook's signature. */

/**
 * `mismatch`: made with another secret or for another body; most signatures do not show which. `too-old` and `too-new`:
 * valid, but made too long before or after the request arrived. `unsigned`: the sender has no secret. `body-cut`: the
 * body was not recorded completely.
 */
export type Verdict =
  | 'valid'
  | 'mismatch'
  | 'body-changed'
  | 'too-old'
  | 'too-new'
  | 'malformed'
  | 'unsigned'
  | 'no-secret'
  | 'body-cut';

export interface SignatureView {
  readonly provider: WebhookProvider;
  readonly verdict: Verdict;
}
