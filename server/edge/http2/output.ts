/** What the relay sends on an HTTP/2 connection: frames about the connection first, then those of streams. */
import type { TLSSocket } from 'node:tls';
import { DEFAULT_WINDOW, headersFrames, WINDOW_MAX } from './frames.ts';
import { HeaderEncoder } from './hpack.ts';
import { ReadyStreams } from './priority.ts';
import { block, type Http2Stream, type MessageHead } from './stream.ts';

/** Number of bytes of responses that are written to an HTTP/2 connection at a time. */
const HTTP2_WRITE_BYTES = 64 * 1024;

export class Http2Output {
  readonly #socket: TLSSocket;
  readonly #onContent: () => void;
  readonly #encoder = new HeaderEncoder();
  /** frames that come before those of the streams */
  #control: Buffer[] = [];
  #controlBytes = 0;
  readonly #ready = new ReadyStreams<Http2Stream>();
  #window = DEFAULT_WINDOW;
  /** streams of which something is being written; `undefined` while nothing is */
  #writing: Http2Stream[] | undefined;
  #hasSent = false;
  #willFlush = false;
  #isEnding = false;

  /** @param onContent called for each frame of content */
  constructor(socket: TLSSocket, onContent: () => void) {
    this.#socket = socket;
    this.#onContent = onContent;
  }

  /** Bytes of frames about the connection that wait. */
  get waiting(): number {
    return this.#controlBytes;
  }

  /** Whether something of a stream was sent since this was asked last. */
  takeHasSent(): boolean {
    const hasSent = this.#hasSent;
    this.#hasSent = false;
    return hasSent;
  }

  /** Sends whole frames before those of the streams. */
  send(...frames: readonly Buffer[]): void {
    if (this.#isEnding || this.#socket.destroyed) return;
    for (const bytes of frames) {
      this.#control.push(bytes);
      this.#controlBytes += bytes.length;
    }
    // The visitor asks for more responses to frames than it reads.
    if (this.#controlBytes > HTTP2_WRITE_BYTES && this.#writing !== undefined) this.#socket.destroy();
    else this.flushSoon();
  }

  /** Sends what waits, and then half-closes. */
  end(): void {
    this.#isEnding = true;
    this.#flush();
  }

  /** The stream has something to send. */
  ready(stream: Http2Stream): void {
    this.#ready.add(stream);
    this.flushSoon();
  }

  /** The visitor wants the stream sooner or later than before. */
  prioritize(stream: Http2Stream, urgency: number): void {
    const isReady = this.#ready.delete(stream);
    stream.urgency = urgency;
    if (isReady) this.#ready.add(stream);
  }

  /** Nothing of the stream is sent from here on. */
  drop(stream: Http2Stream): void {
    this.#ready.delete(stream);
  }

  /** Sends an informational response, unless it would have to wait. */
  inform(stream: Http2Stream, { status, fields }: MessageHead): void {
    if (this.#writing !== undefined || this.#controlBytes > 0 || !this.#ready.isEmpty) return;
    this.send(...headersFrames(stream.id, block(this.#encoder, fields, status), false));
    this.#flush();
  }

  /** Sends the response to a request that never became a stream. */
  respond(id: number, status: string, error: string): void {
    this.#encoder.begin();
    this.#encoder.add(':status', status);
    this.#encoder.add('culvert-error', error);
    this.send(...headersFrames(id, this.#encoder.finish(), true));
  }

  /** The visitor keeps a table of this size (RFC 9113 section 6.5.2). */
  resizeTable(bytes: number): void {
    this.#encoder.resize(bytes);
  }

  /** The visitor takes more content. @returns false if that is more than a window may be (RFC 9113 section 6.9.1) */
  grow(bytes: number): boolean {
    this.#window += bytes;
    this.flushSoon();
    return this.#window <= WINDOW_MAX;
  }

  flushSoon(): void {
    if (this.#willFlush || this.#writing !== undefined) return;
    this.#willFlush = true;
    process.nextTick(this.#flush);
  }

  /** Writes what waits: one frame of each stream in turn, the most urgent ones first. */
  readonly #flush = (): void => {
    this.#willFlush = false;
    if (this.#socket.destroyed || this.#socket.writableEnded || this.#writing !== undefined) return;
    const frames = this.#control;
    this.#control = [];
    this.#controlBytes = 0;
    const written = new Set<Http2Stream>();
    let bytes = 0;
    while (bytes < HTTP2_WRITE_BYTES) {
      const stream = this.#ready.take(this.#window > 0);
      if (stream === undefined) break;
      const before = frames.length;
      const content = stream.take(frames, this.#encoder, this.#window);
      this.#window -= content;
      this.#ready.sent(content);
      if (content > 0) this.#onContent();
      for (let index = before; index < frames.length; index += 1) bytes += frames[index]?.length ?? 0;
      written.add(stream);
      if (stream.hasOutput) this.#ready.add(stream);
    }
    if (frames.length > 0) {
      this.#writing = [...written];
      // One copy, which TLS would make as well.
      this.#socket.write(frames.length === 1 ? (frames[0] ?? '') : Buffer.concat(frames), this.#onWritten);
    }
    if (this.#isEnding) this.#socket.end();
  };

  readonly #onWritten = (): void => {
    const written = this.#writing ?? [];
    this.#writing = undefined;
    if (this.#socket.destroyed) return;
    if (written.length > 0) this.#hasSent = true;
    for (const stream of written) stream.sent();
    if (!this.#ready.isEmpty || this.#control.length > 0 || this.#isEnding) this.#flush();
  };
}
