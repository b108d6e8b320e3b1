import { VISITOR_FIELD } from '../../../shared/http1/hop-by-hop.ts';
import { RECORDED_TARGET_MAX_CHARS } from '../limits.ts';
import { recogniseWebhook, type WebhookProvider } from '../webhooks/provider.ts';
import type { RequestSummary, Timing } from './records.ts';
import { redactTarget } from './redaction.ts';

/** The two captures of one exchange, which pass to another exchange when it is dropped. */
export interface Captures {
  readonly request: Capture;
  readonly response: Capture;
}

const NOTHING = Buffer.alloc(0);

/** Whether values of secrets are shown. */
export interface Visibility {
  readonly reveal: boolean;
}

/** One recorded request and its response, as far as they have arrived. */
export class Exchange {
  readonly id: number;
  readonly replayOf: number | undefined;
  isImported = false;
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
  /** the recorded request, apart from what is beyond the limit, is one whole message */
  isRequestComplete = false;
  /** the change of its log that was the last of this exchange; 0 until its head has come */
  revision = 0;
  #captures: Captures | undefined;
  /** once the head is complete */
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

  /** Memory that its messages take up, in bytes. */
  get capturedBytes(): number {
    return this.#captures === undefined
      ? 0
      : this.#captures.request.capacity + this.#captures.response.capacity;
  }

  /** Gives the captures, if there still are any, to another exchange. */
  release(): Captures | undefined {
    const captures = this.#captures;
    this.#captures = undefined;
    captures?.request.clear();
    captures?.response.clear();
    return captures;
  }

  get timing(): Timing {
    const { waitedMs, connectedMs, answeredMs } = this;
    return { waitedMs, connectedMs, answeredMs };
  }

  /** Forgets both messages; what its line says stays, with as much of the address as that has room for. */
  forgetMessages(): void {
    const line = this.#readLine();
    const target = line.target.slice(0, RECORDED_TARGET_MAX_CHARS);
    // A text of its own: a part of the longer one would keep all of it in memory.
    this.#line = target === line.target ? line : { ...line, target: Buffer.from(target).toString() };
    this.#captures = undefined;
  }

  summary({ reveal }: Visibility): RequestSummary {
    const { method, target, visitor, webhook } = this.#readLine();
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

/** Room for a usual head, so that most captures never grow. */
const INITIAL_BYTES = 1024;
/** A larger buffer is not kept for the next message. */
const REUSED_MAX_BYTES = 4096;

export class Capture {
  #buffer: Buffer = NOTHING;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Memory it holds, in bytes. */
  get capacity(): number {
    return this.#buffer.length;
  }

  /** What has been captured; valid until the next call of {@link clear} or {@link append}. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /**
   * Copies `chunk` from `start` to `end`, as far as there is room.
   *
   * @param max bytes that the capture may have then
   * @returns bytes by which its memory has grown
   */
  append(chunk: Buffer, start: number, end: number, max: number): number {
    const length = Math.min(end - start, max - this.#length);
    if (length <= 0) return 0;
    const before = this.#buffer.length;
    if (this.#length + length > before) this.#grow(this.#length + length, max);
    chunk.copy(this.#buffer, this.#length, start, start + length);
    this.#length += length;
    return this.#buffer.length - before;
  }

  /** Forgets everything, for another message. */
  clear(): void {
    this.#length = 0;
    if (this.#buffer.length > REUSED_MAX_BYTES) this.#buffer = NOTHING;
  }

  #grow(needed: number, max: number): void {
    let capacity = Math.max(INITIAL_BYTES, this.#buffer.length);
    while (capacity < needed) capacity *= 2;
    // Not from Node's pool: a captured byte would hold a whole page of it.
    const larger = Buffer.allocUnsafeSlow(Math.min(capacity, max));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/* What the line of a request in the log says, read from what was recorded of it. */

export interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly visitor: string | undefined;
  readonly webhook: WebhookProvider | undefined;
}

const END_OF_HEAD = '\r\n\r\n';
const END_OF_LINE = '\r\n';
const SPACE = 0x20;

/** Whether all that {@link readRequestLine} looks at has come. @param request what was recorded, from its first byte on */
export function hasHead(request: Buffer): boolean {
  return request.includes(END_OF_HEAD);
}

/** @param request what was recorded, from its first byte on; its head may be incomplete */
export function readRequestLine(request: Buffer): RequestLine {
  const headEnd = indexOr(request, END_OF_HEAD, request.length);
  const lineEnd = indexOr(request, END_OF_LINE, headEnd);
  const methodEnd = Math.min(lineEnd, indexOr(request, SPACE, lineEnd));
  const targetEnd = Math.min(lineEnd, indexOr(request, SPACE, lineEnd, methodEnd + 1));
  return {
    // Texts of their own: a part of a longer one would keep all of it in memory.
    method: request.toString('latin1', 0, methodEnd),
    target: request.toString('latin1', methodEnd + 1, targetEnd),
    visitor: visitorOf(request),
    webhook: recogniseWebhook(fieldsOf(request.toString('latin1', lineEnd, headEnd))),
  };
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
 * Who sent a recorded request, as the relay says it (docs/protocol.md section 11.1): it removes such a field of visitors, and
 * writes its own always in the same way.
 *
 * @param request what was recorded, from its first byte on
 */
export function visitorOf(request: Buffer): string | undefined {
  const end = request.indexOf('\r\n\r\n');
  const at = request.indexOf(FIELD);
  if (at === -1 || end === -1 || at >= end) return undefined;
  const start = at + FIELD.length;
  return decoded(request.toString('latin1', start, request.indexOf('\r\n', start)));
}

/** What is not visible ASCII is percent-encoded UTF-8 there. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
