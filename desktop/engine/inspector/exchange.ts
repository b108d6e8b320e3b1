import { RECORDED_TARGET_MAX_CHARS } from '../limits.ts';
import type { Capture } from './capture.ts';
import type { RequestSummary, Timing } from './records.ts';
import { redactTarget } from './redaction.ts';
import { hasHead, readRequestLine, type RequestLine } from './request-line.ts';

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
