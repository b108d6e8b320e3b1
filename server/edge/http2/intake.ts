/** What a visitor may send on an HTTP/2 connection: the windows of its requests, and how often it may cause work. */
import { ENHANCE_YOUR_CALM, numberFrame, WINDOW_UPDATE } from './frames.ts';
import type { Http2Stream } from './stream.ts';

/**
 * Maximum number of bytes of a request body that wait in the relay for each HTTP/2 stream. At first, a visitor
 * can send only this much per round trip.
 */
export const HTTP2_STREAM_WINDOW_BYTES = 64 * 1024;
/** Maximum number of bytes of request bodies that wait in the relay for each HTTP/2 connection. */
export const HTTP2_CONNECTION_WINDOW_BYTES = 1024 * 1024;
/**
 * Number of bytes of a request body that the tunnel must accept, without another body in between, before its
 * stream may use the whole window of its HTTP/2 connection.
 */
const HTTP2_WIDEN_BYTES = 256 * 1024;
/**
 * How long a request body may wait in the relay without being read, if all bodies together use up the window of
 * their HTTP/2 connection. Then its stream is closed, so that the others can continue.
 */
export const HTTP2_STANDSTILL_MS = 5000;

/** What may wait in the relay for a connection (protocol.md section 4.5). */
export const WAITING_MAX_BYTES = HTTP2_CONNECTION_WINDOW_BYTES + HTTP2_STREAM_WINDOW_BYTES;
/** How much has to be accepted before the visitor is told that it may send as much again. */
const UPDATE_SHARE = 4;

/** The windows of a connection's requests, and what waits of them in the relay. */
export class Intake {
  readonly #streams: ReadonlyMap<number, Http2Stream>;
  readonly #send: (frame: Buffer) => void;
  #window = HTTP2_CONNECTION_WINDOW_BYTES;
  #waiting = 0;
  /** content that was accepted and that the visitor has not been told of */
  #accepted = 0;
  /** the one stream with a wide window, and how much of it was accepted without a pause */
  #flow = { stream: 0, bytes: 0 };

  /** @param streams the open streams of the connection */
  constructor(streams: ReadonlyMap<number, Http2Stream>, send: (frame: Buffer) => void) {
    this.#streams = streams;
    this.#send = send;
  }

  /** Bytes of requests that wait for their readers. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Whether no further request may wait. */
  get isFull(): boolean {
    return this.#waiting > WAITING_MAX_BYTES;
  }

  /** The visitor sends a DATA frame. @returns false if it is more than the window */
  spend(bytes: number): boolean {
    this.#window -= bytes;
    return this.#window >= 0;
  }

  /** More or less waits; what has stood still for longest gives way to the rest. */
  waits(change: number): void {
    this.#waiting += change;
    // Tiny pieces take several times their size.
    while (this.isFull) {
      const stillest = this.#stillest();
      if (stillest === undefined) return;
      stillest.fail(ENHANCE_YOUR_CALM);
    }
  }

  /** Lets the visitor send on the connection again what nothing of which waits. */
  returnWindow(bytes: number): void {
    this.#accepted += bytes;
    if (this.#accepted < HTTP2_CONNECTION_WINDOW_BYTES / UPDATE_SHARE) return;
    this.#window += this.#accepted;
    this.#send(numberFrame(WINDOW_UPDATE, 0, this.#accepted));
    this.#accepted = 0;
  }

  /**
   * Lets the visitor send more of a body. One that is passed on as fast as it arrives gets the whole window of the
   * connection, unless another one is moving, too: at first, a visitor can send only a small window per round trip.
   */
  update(stream: Http2Stream, bytes: number): void {
    if (!stream.receives || stream.destroyed) return;
    if (this.#flow.stream !== stream.id) this.#flow = { stream: stream.id, bytes: 0 };
    this.#flow.bytes += bytes;
    const isWide = this.#flow.bytes > HTTP2_WIDEN_BYTES;
    const window = isWide ? HTTP2_CONNECTION_WINDOW_BYTES : HTTP2_STREAM_WINDOW_BYTES;
    const more = window - stream.waiting - stream.receiveWindow;
    if (more < window / UPDATE_SHARE) return;
    stream.receiveWindow += more;
    this.#send(numberFrame(WINDOW_UPDATE, stream.id, more));
  }

  /** Bodies that nobody reads have used up the window, which others need: what has stood still for longest gives way. */
  endStandstill(now: number): void {
    if (this.#window >= HTTP2_STREAM_WINDOW_BYTES) return;
    const stillest = this.#stillest();
    if (stillest !== undefined && now - stillest.waitsSince >= HTTP2_STANDSTILL_MS)
      stillest.fail(ENHANCE_YOUR_CALM);
  }

  #stillest(): Http2Stream | undefined {
    let stillest: Http2Stream | undefined;
    for (const stream of this.#streams.values())
      if (stream.waitsSince < (stillest?.waitsSince ?? Infinity)) stillest = stream;
    return stillest;
  }
}
