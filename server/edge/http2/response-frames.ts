/** Reads an HTTP/1.1 response that the relay has written, and sends it as an HTTP/2 response (RFC 9113 section 8). */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { type BodyTracker, responseFraming, trackBody } from '../../../shared/http1/body.ts';
import type { Field } from '../../../shared/http1/fields.ts';
import { HeadReader, parseResponseHead, type ResponseHead } from '../../../shared/http1/head.ts';
import { CONNECTION_FIELDS } from '../../../shared/http1/hop-by-hop.ts';
import { RESPONSE_HEAD_MAX_BYTES } from '../../limits.ts';

/** Additions of the relay to a head that has the largest accepted size. */
const HEAD_EXTRA_BYTES = 4096;

/** The body of a response, as far as it is read. */
export interface FrameSink {
  /** Bytes that one piece may have now. */
  pieceMax(): number;
  /** Sends content. The bytes stay unchanged until it was sent. */
  send(content: Buffer): void;
  /** The response is complete. */
  complete(): void;
}

export class ResponseFrames {
  readonly #stream: ServerHttp2Stream;
  readonly #isHead: boolean;
  readonly #sink: FrameSink;
  #reader = new HeadReader(RESPONSE_HEAD_MAX_BYTES + HEAD_EXTRA_BYTES);
  #body: BodyTracker | undefined;
  #isChunked = false;
  #isUntilClose = false;
  #trailers: OutgoingHttpHeaders = {};

  /** @param isHead whether the request is a HEAD, whose response has no body */
  constructor(stream: ServerHttp2Stream, isHead: boolean, sink: FrameSink) {
    this.#stream = stream;
    this.#isHead = isHead;
    this.#sink = sink;
  }

  /** Whether the end of the connection completes the response. */
  get endsWithConnection(): boolean {
    return this.#isUntilClose;
  }

  /** Reads the next bytes. @throws Error if they are not a response */
  push(bytes: Buffer): void {
    let rest = bytes;
    while (this.#body === undefined) {
      const end = this.#reader.push(rest);
      if (end === undefined) return;
      const head = typeof end === 'string' ? undefined : parseResponseHead(end.head);
      if (typeof end === 'string' || head === undefined) throw new Error('not a response');
      rest = end.rest;
      if (head.status >= 200) this.#commit(head, rest.length);
      else this.#stream.additionalHeaders({ ':status': head.status, ...fieldsOf(head.fields) });
    }
    this.#pushBody(this.#body, rest);
  }

  /** @param arrived how many bytes have arrived after the head */
  #commit(head: ResponseHead, arrived: number): void {
    const framing = responseFraming(head, this.#isHead ? 'HEAD' : 'GET');
    if (framing === undefined) throw new Error('not a response');
    const headers = { ':status': head.status, ...fieldsOf(head.fields) };
    this.#isUntilClose = framing.kind === 'until-close';
    this.#isChunked = framing.kind === 'chunked';
    this.#body = trackBody(
      framing,
      (piece) => this.#sink.send(piece),
      (trailers) => (this.#trailers = fieldsOf(trailers)),
    );
    const endStream = this.#body.done;
    // Without waiting for trailers, Node would mark the last frame of a response that breaks off as its end. One that has
    // arrived as a whole, and leaves in one piece, cannot.
    const isWhole =
      framing.kind === 'length' && framing.length <= this.#sink.pieceMax() && arrived >= framing.length;
    const waitForTrailers = !endStream && !isWhole;
    this.#stream.respond(headers, { endStream, sendDate: false, waitForTrailers } as never);
    if (endStream) this.#sink.complete();
    else if (waitForTrailers)
      this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(this.#trailers));
  }

  #pushBody(body: BodyTracker, bytes: Buffer): void {
    if (body.done || bytes.length === 0) return;
    const end = body.advance(bytes, 0);
    if (!this.#isChunked && end > 0) this.#sink.send(end === bytes.length ? bytes : bytes.subarray(0, end));
    if (body.done) this.#sink.complete();
  }
}

/** Fields that Node refuses to send twice. Lists are joined; of the others, the first one counts. */
const ONCE = new Map<string, 'list' | 'value'>([
  ['content-encoding', 'list'],
  ['content-language', 'list'],
  ...[
    'access-control-allow-credentials access-control-max-age access-control-request-method age authorization',
    'content-length content-location content-md5 content-range content-type date dnt etag expires from host',
    'if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards',
    'proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent x-content-type-options',
  ]
    .flatMap((line) => line.split(' '))
    .map((name) => [name, 'value'] as const),
]);

/** Fields as Node sends them. */
function fieldsOf(fields: readonly Field[]): OutgoingHttpHeaders {
  const headers = Object.create(null) as Record<string, string | string[]>;
  for (const field of fields) {
    const name = field.lower;
    if (CONNECTION_FIELDS.has(name) || name === 'te') continue;
    const known = headers[name];
    if (known === undefined) headers[name] = field.value;
    else if (typeof known !== 'string') known.push(field.value);
    else if (!ONCE.has(name)) headers[name] = [known, field.value];
    else if (ONCE.get(name) === 'list') headers[name] = `${known}, ${field.value}`;
  }
  return headers;
}
