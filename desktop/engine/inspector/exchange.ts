import { Capture } from './capture.ts';
import type { RequestSummary } from './records.ts';
import { visitorOf } from './visitor.ts';
import { redactTarget } from './redaction.ts';

/** The two captures of one exchange, which pass to another exchange when it is dropped. */
export interface Captures {
  readonly request: Capture;
  readonly response: Capture;
}

/** Whether values of secrets are shown. */
export interface Visibility {
  readonly reveal: boolean;
}

/** One recorded request and its response, as far as they have arrived. */
export class Exchange {
  readonly id: number;
  readonly replayOf: number | undefined;
  /** wall-clock ms */
  readonly startedAt: number;
  /** monotonic ms */
  readonly startedMs: number;
  status: number | undefined = undefined;
  durationMs: number | undefined = undefined;
  bytesIn = 0;
  bytesOut = 0;
  isBroken = false;
  /** the recorded request, apart from what is beyond the limit, is one whole message */
  isRequestComplete = false;
  #captures: Captures | undefined;

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

  /** `undefined` once the log has dropped the exchange. */
  get captures(): Captures | undefined {
    return this.#captures;
  }

  /** Gives the captures to another exchange. */
  release(): Captures {
    const captures = this.#captures ?? { request: new Capture(), response: new Capture() };
    this.#captures = undefined;
    captures.request.clear();
    captures.response.clear();
    return captures;
  }

  summary({ reveal }: Visibility): RequestSummary {
    const [method = '', target = ''] = this.#requestLine().split(' ', 2);
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
      visitor: visitorOf(this.#captures?.request.bytes),
      replayOf: this.replayOf,
    };
  }

  #requestLine(): string {
    const bytes = this.#captures?.request.bytes;
    if (bytes === undefined) return '';
    const end = bytes.indexOf('\r\n');
    return bytes.toString('latin1', 0, end === -1 ? bytes.length : end);
  }
}
