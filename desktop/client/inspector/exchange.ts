import { VISITOR_FIELD } from '../../../shared/http1/hop-by-hop.ts';
import type { Rehearsed } from '../data/stream-filter.ts';
import type { Capture } from './capture.ts';
import {
  type RawState,
  recogniseWebhook,
  type RequestSummary,
  type Timing,
  trimBlanks,
  type VisitorDevice,
  type WebhookProvider,
} from './records.ts';
import { redactTarget } from './redaction.ts';
import type { MessageLog } from './messages/message-log.ts';

/**
 * Number of characters of a request's path that are kept after its content is dropped to make room for newer
 * requests.
 */
export const RECORDED_TARGET_MAX_CHARS = 512;

/** The two captures of one exchange, which another exchange reuses when it is dropped. */
interface Captures {
  readonly request: Capture;
  readonly response: Capture;
}

const NOTHING = Buffer.alloc(0);

/** Whether secrets are shown. */
export interface Visibility {
  readonly reveal: boolean;
}

/** One recorded request and its response, as far as they have arrived, or a raw connection. */
export class Exchange {
  readonly id: number;
  readonly replayOf: number | undefined;
  isImported = false;
  rehearsed: Rehearsed | undefined;
  /** wall-clock ms */
  readonly startedAt: number;
  /** monotonic ms */
  readonly startedMs: number;
  status: number | undefined = undefined;
  durationMs: number | undefined = undefined;
  /** as in {@link Timing} */
  waitedMs = 0;
  connectedMs: number | undefined = undefined;
  answeredMs: number | undefined = undefined;
  bytesIn = 0;
  bytesOut = 0;
  isBroken = false;
  /** of a raw connection */
  connection: RawState | undefined;
  /** the recorded request, up to the limit, is one complete message */
  isRequestComplete = false;
  /** revision of its log at the last change of this exchange; 0 until its head has arrived */
  revision = 0;
  #captures: Captures | undefined;
  /** of a WebSocket or an event stream */
  messages: MessageLog | undefined;
  /** set once the head is complete */
  #line: RequestLine | undefined;

  constructor(
    id: number,
    replayOf: number | undefined,
    startedAt: number,
    startedMs: number,
    captures: Captures,
  ) {
    this.id = id;
    this.replayOf = replayOf;
    this.startedAt = startedAt;
    this.startedMs = startedMs;
    this.#captures = captures;
  }

  /** `undefined` once its messages are forgotten. */
  get captures(): Captures | undefined {
    return this.#captures;
  }

  /** Memory used by its messages, in bytes. */
  get capturedBytes(): number {
    if (this.#captures === undefined) return 0;
    const { request, response } = this.#captures;
    return request.capacity + response.capacity + (this.messages?.memory ?? 0);
  }

  /** It carries bytes instead of messages. @param visitor the visitor's address, if it is known */
  becomeRaw(protocol: string, visitor = ''): void {
    this.connection = 'open';
    this.#line = {
      method: protocol,
      target: visitor,
      visitor: undefined,
      webhook: undefined,
      from: undefined,
    };
  }

  /** Hands over the captures, if any are left, to another exchange. */
  release(): Captures | undefined {
    const captures = this.#captures;
    this.#captures = undefined;
    this.messages = undefined;
    captures?.request.clear();
    captures?.response.clear();
    return captures;
  }

  get timing(): Timing {
    const { waitedMs, connectedMs, answeredMs } = this;
    return { waitedMs, connectedMs, answeredMs };
  }

  /** Forgets its content. Its line stays, with a shortened address and the counts. */
  forgetMessages(): void {
    const line = this.#readLine();
    const target = line.target.slice(0, RECORDED_TARGET_MAX_CHARS);
    // A copy, because a substring would keep all of the longer one in memory.
    this.#line = target === line.target ? line : { ...line, target: Buffer.from(target).toString() };
    this.#captures = undefined;
    this.messages?.forget();
  }

  summary({ reveal }: Visibility): RequestSummary {
    const { method, target, visitor, webhook, from } = this.#readLine();
    const isOfVisitor = this.replayOf === undefined && !this.isImported;
    return {
      id: this.id,
      startedAt: this.startedAt,
      method,
      target: reveal ? target : redactTarget(target),
      status: this.status,
      durationMs: this.durationMs,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      isBroken: this.isBroken,
      visitor,
      replayOf: this.replayOf,
      isImported: this.isImported,
      webhook,
      ...(isOfVisitor && from !== undefined && { from }),
      ...(this.rehearsed !== undefined && { rehearsed: this.rehearsed }),
      ...(this.connection === undefined ? {} : { connection: this.connection }),
      ...(this.messages !== undefined && { messages: this.messages.counts }),
    };
  }

  #readLine(): RequestLine {
    if (this.#line !== undefined) return this.#line;
    const bytes = this.#captures?.request.bytes ?? NOTHING;
    const line = readRequestLine(bytes);
    if (hasHead(bytes)) this.#line = line;
    return line;
  }
}

/* The line of a request in the log, parsed from its recorded bytes. */

interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly visitor: string | undefined;
  readonly webhook: WebhookProvider | undefined;
  readonly from: VisitorDevice | undefined;
}

const END_OF_HEAD = '\r\n\r\n';
const END_OF_LINE = '\r\n';
const SPACE = 0x20;

/**
 * Whether everything that {@link readRequestLine} parses has arrived. @param request recorded bytes, from the first one
 * on
 */
function hasHead(request: Buffer): boolean {
  return request.includes(END_OF_HEAD);
}

/** @param request recorded bytes, from the first one on; the head may be incomplete */
function readRequestLine(request: Buffer): RequestLine {
  const headEnd = indexOr(request, END_OF_HEAD, request.length);
  const lineEnd = indexOr(request, END_OF_LINE, headEnd);
  const methodEnd = Math.min(lineEnd, indexOr(request, SPACE, lineEnd));
  const targetEnd = Math.min(lineEnd, indexOr(request, SPACE, lineEnd, methodEnd + 1));
  const fields = [...fieldsOf(request.toString('latin1', lineEnd, headEnd))];
  return {
    // Copies, because substrings would keep all of a longer text in memory.
    method: request.toString('latin1', 0, methodEnd),
    target: request.toString('latin1', methodEnd + 1, targetEnd),
    visitor: visitorOf(request),
    webhook: recogniseWebhook(fields),
    from: deviceOf(fields),
  };
}

/** Enough of `User-Agent` to recognise the program and its system. */
const AGENT_MAX_CHARS = 200;

function deviceOf(fields: readonly (readonly [name: string, value: string])[]): VisitorDevice | undefined {
  const valueOf = (lower: string): string => {
    const [, value = ''] = fields.find(([name]) => name.toLowerCase() === lower) ?? [];
    return Buffer.from(trimBlanks(value).slice(0, AGENT_MAX_CHARS), 'latin1').toString('latin1');
  };
  const from = { address: valueOf('x-forwarded-for'), agent: valueOf('user-agent') };
  return from.address === '' && from.agent === '' ? undefined : from;
}

function* fieldsOf(lines: string): Generator<readonly [name: string, value: string]> {
  for (const line of lines.split(END_OF_LINE)) {
    const colon = line.indexOf(':');
    if (colon > 0) yield [line.slice(0, colon), line.slice(colon + 1)];
  }
}

function indexOr(bytes: Buffer, what: string | number, otherwise: number, from = 0): number {
  const at = bytes.indexOf(what, from);
  return at === -1 ? otherwise : at;
}

const FIELD = `\r\n${VISITOR_FIELD}: `;

/**
 * The sender of a recorded request according to the relay (protocol.md section 11.1). The relay removes such a
 * field from visitors' requests, and always writes its own in the same form.
 *
 * @param request recorded bytes, from the first one on
 */
export function visitorOf(request: Buffer): string | undefined {
  const end = request.indexOf('\r\n\r\n');
  const at = request.indexOf(FIELD);
  if (at === -1 || end === -1 || at >= end) return undefined;
  const start = at + FIELD.length;
  return decoded(request.toString('latin1', start, request.indexOf('\r\n', start)));
}

/** Characters other than visible ASCII are percent-encoded UTF-8. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
