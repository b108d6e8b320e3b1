/** What waits for a visitor that does not read. */
import { ENHANCE_YOUR_CALM } from './frames.ts';
import { type Intake, WAITING_MAX_BYTES } from './intake.ts';
import type { Http2Output } from './output.ts';
import type { Http2Stream } from './stream.ts';

/**
 * How long a visitor with HTTP/2 may accept nothing while more than 1 MiB and one window wait for its connection.
 * Then the relay closes streams until they fit.
 */
export const HTTP2_UNREAD_MS = 10_000;

export class UnreadLimit {
  readonly #streams: ReadonlyMap<number, Http2Stream>;
  readonly #intake: Intake;
  readonly #output: Http2Output;
  /** monotonic ms since which nothing of a stream was sent although too much waits */
  #since: number;

  /** @param streams the open streams of the connection, oldest first */
  constructor(streams: ReadonlyMap<number, Http2Stream>, intake: Intake, output: Http2Output, now: number) {
    this.#streams = streams;
    this.#intake = intake;
    this.#output = output;
    this.#since = now;
  }

  /** The visitor does not read its responses: they give way, the oldest first. */
  end(now: number): void {
    let bytes = this.#intake.waiting + this.#output.waiting;
    for (const { writableLength } of this.#streams.values()) bytes += writableLength;
    if (this.#output.takeHasSent() || bytes <= WAITING_MAX_BYTES) this.#since = now;
    if (now - this.#since < HTTP2_UNREAD_MS) return;
    for (const stream of this.#streams.values()) {
      if (bytes <= WAITING_MAX_BYTES) return;
      if (stream.writableLength === 0) continue;
      bytes -= stream.writableLength + stream.inputWaiting;
      stream.fail(ENHANCE_YOUR_CALM);
    }
  }
}
