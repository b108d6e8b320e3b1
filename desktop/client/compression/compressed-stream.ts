import { BlockList, isIP } from 'node:net';
import { CloseCode } from '../../../shared/control.ts';
import {
  BodyError,
  type BodyTracker,
  type Framing,
  requestFraming,
  responseFraming,
  trackBody,
  trackServiceBody,
} from '../../../shared/http1/body.ts';
import { listMembers } from '../../../shared/http1/fields.ts';
import {
  type HeadEnd,
  HeadReader,
  parseRequestHead,
  parseResponseHead,
  type ResponseHead,
} from '../../../shared/http1/head.ts';
import type { CompressMode } from '../../../shared/value-rules.ts';
import { isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import type { Clock, Timer } from '../clock.ts';
import type { DataSocket } from '../data/data-dialer.ts';
import {
  StreamFilter,
  NO_LIMITS,
  REQUEST_HEAD_MAX_BYTES,
  RESPONSE_HEAD_MAX_BYTES,
} from '../data/stream-filter.ts';
import { isLoopback } from '../network/dial.ts';
import { Compressor, type CompressorHandler, type CompressorSlots, hasCoding } from './compressor.ts';
import {
  acceptedCoding,
  type Coding,
  compressedHead,
  compressedTrailers,
  isCompressible,
  notModifiedHead,
  restoredTags,
  varyingHead,
  WeakenedTags,
} from './heads.ts';

/**
 * How long it may take to compress and send the rest of a response that broke off: the visitor must learn of the
 * end within 1 s (protocol.md section 4.3).
 */
export const COMPRESSION_BREAK_MS = 500;

const PRIVATE = new BlockList();
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv6');

/** Where a relay is, as far as its address shows. */
type Nearness = 'loopback' | 'private' | 'public';

/** @param host name or IP address, without brackets; a name other than `localhost` counts as public */
export function nearnessOf(host: string): Nearness {
  if (isLoopback(host)) return 'loopback';
  const family = isIP(host);
  if (family === 0) return 'public';
  // A zone says nothing about the network.
  const [address = ''] = host.split('%', 1);
  return PRIVATE.check(address, family === 4 ? 'ipv4' : 'ipv6') ? 'private' : 'public';
}

/**
 * @param relay the location of the relay; a private network is faster than the compression
 * @returns whether responses are compressed
 */
export function isCompressionOn(mode: CompressMode, relay: Nearness): boolean {
  return mode === 'auto' ? relay === 'public' : mode === 'on';
}

/** Compresses the responses of one tunnel if its mode and the location of the relay call for it. */
export class Compression {
  readonly #mode: CompressMode;
  readonly #clock: Pick<Clock, 'setTimeout'>;
  readonly #tags = new WeakenedTags();
  #isOn: boolean;

  /** @param host of the relay: a name or an IP address, without brackets */
  constructor(mode: CompressMode, host: string, clock: Pick<Clock, 'setTimeout'>) {
    this.#mode = mode;
    this.#clock = clock;
    this.#isOn = isCompressionOn(mode, nearnessOf(host));
  }

  /** @param address the IP address of the relay, which tells more than its name */
  reached(address: string): void {
    this.#isOn = isCompressionOn(this.#mode, nearnessOf(address));
  }

  /** Puts a filter around a visitor's data socket; `undefined` if none is needed. */
  around(inner: DataSocket): CompressedStream | undefined {
    return this.#isOn ? new CompressedStream(inner, { clock: this.#clock, tags: this.#tags }) : undefined;
  }
}

const NONE: Buffer = Buffer.alloc(0);
const CRLF = '\r\n';

/** A request whose response is not complete. */
interface OpenRequest {
  readonly method: string;
  /** the coding for its response; `undefined` for none */
  readonly coding: Coding | undefined;
  /** its tags that lost their `W/` */
  readonly restored: ReadonlySet<string>;
}

/** A response whose body is being compressed. */
interface Compressing {
  readonly compressor: Compressor;
  readonly body: BodyTracker;
  readonly framing: Framing;
}

interface CompressedStreamOptions {
  readonly clock: Pick<Clock, 'setTimeout'>;
  /** of the tunnel */
  readonly tags: WeakenedTags;
  /** by default those of the process */
  readonly slots?: CompressorSlots;
}

/**
 * Compresses those responses on a data socket for which it is worthwhile, and passes everything else on as it is
 * (docs/decisions/0025-compression-by-the-client.md). It follows requests and responses to find where each
 * one begins. If it loses track, everything that follows on the connection passes unchanged.
 */
export class CompressedStream extends StreamFilter implements CompressorHandler {
  readonly #options: CompressedStreamOptions;
  readonly #requests = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  readonly #responses = new HeadReader(RESPONSE_HEAD_MAX_BYTES);
  #request: OpenRequest | undefined;
  /** the rest of the latest request's body */
  #requestBody: BodyTracker | undefined;
  /** the rest of a response's body that is not compressed */
  #responseBody: BodyTracker | undefined;
  #compressing: Compressing | undefined;
  /** content of the compressed response, until all of a piece was read */
  readonly #content: Buffer[] = [];
  /** the trailers of the compressed response */
  #trailers = '';
  /** whether the compressor has got the whole body */
  #isFinishing = false;
  /** what the local service sent after a response that is still being compressed */
  #after: Buffer[] = [];
  /** whether the handler waits for `onStreamDrain` because of the compressor */
  #owesDrain = false;
  /** whether requests, and responses after the current one, pass unchanged */
  #isOpaque = false;
  /** the code to close with after the compressed data */
  #closing: number | undefined;
  #breakTimer: Timer | undefined;
  #hasEnded = false;

  constructor(inner: DataSocket, options: CompressedStreamOptions) {
    super(inner);
    this.#options = options;
  }

  /* Requests. */

  override onStreamData(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0) {
      // A relay sends the next request when the response is complete.
      if (this.#requestBody === undefined && this.#request !== undefined) this.#isOpaque = true;
      if (this.#isOpaque || this.#hasEnded) return super.onStreamData(rest);
      rest =
        this.#requestBody === undefined
          ? this.#followRequest(rest)
          : this.#followRequestBody(this.#requestBody, rest, 0);
    }
  }

  /** @returns the bytes that follow */
  #followRequest(bytes: Buffer): Buffer {
    const end = this.#requests.push(bytes);
    if (end === undefined) return NONE;
    if (typeof end === 'string') return this.#passRequests(Buffer.from(this.#requests.text, 'latin1'));
    const all = joinedAgain(end);
    const head = parseRequestHead(end.head, NO_LIMITS);
    const framing = typeof head === 'string' ? head : requestFraming(head);
    if (typeof head === 'string' || typeof framing === 'string') return this.#passRequests(all);
    const { bytes: changed, restored } = restoredTags(head, this.#options.tags);
    this.#request = { method: head.method, coding: acceptedCoding(head, hasCoding), restored };
    const body = trackBody(framing);
    if (!body.done) this.#requestBody = body;
    if (changed !== end.head) {
      super.onStreamData(changed);
      return end.rest;
    }
    return this.#followRequestBody(body, all, end.head.length);
  }

  /** @param start where the body continues in the bytes, all of which are passed on up to its end */
  #followRequestBody(body: BodyTracker, bytes: Buffer, start: number): Buffer {
    let end: number;
    try {
      end = body.advance(bytes, start);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return this.#passRequests(bytes);
    }
    if (body.done) this.#requestBody = undefined;
    super.onStreamData(end === bytes.length ? bytes : bytes.subarray(0, end));
    return bytes.subarray(end);
  }

  #passRequests(bytes: Buffer): Buffer {
    this.#isOpaque = true;
    super.onStreamData(bytes);
    return NONE;
  }

  /* Responses. */

  override write(chunk: Buffer): boolean {
    if (this.#hasEnded) return super.write(chunk);
    let hasRoom = true;
    let rest = chunk;
    while (rest.length > 0 && !this.#hasEnded) {
      if (this.#isFinishing) {
        this.#after.push(rest);
        this.#owesDrain = true;
        return false;
      }
      if (this.#compressing !== undefined) {
        rest = this.#compress(this.#compressing, rest);
      } else {
        const [passed, next] = this.#followResponse(rest);
        if (passed.length > 0) hasRoom = super.write(passed);
        rest = next;
      }
    }
    return this.#compressing === undefined ? hasRoom : !this.#owesDrain;
  }

  /** @returns what to send, and the bytes that follow */
  #followResponse(bytes: Buffer): readonly [Buffer, Buffer] {
    const body = this.#responseBody;
    if (body !== undefined) return this.#followBody(body, bytes, 0);
    // Without a request, a response cannot be interpreted.
    if (this.#request === undefined) return this.#passResponses(bytes);
    const end = this.#responses.push(bytes);
    if (end === undefined) return [NONE, NONE];
    if (typeof end === 'string') return this.#passResponses(Buffer.from(this.#responses.text, 'latin1'));
    const head = parseResponseHead(end.head);
    if (head === undefined || head.status === 101) return this.#passResponses(joinedAgain(end));
    if (head.status < 200) return [end.head, end.rest];
    return this.#begin(this.#request, head, end);
  }

  /** The final head has arrived. */
  #begin(
    { method, coding, restored }: OpenRequest,
    head: ResponseHead,
    end: HeadEnd,
  ): readonly [Buffer, Buffer] {
    const framing = responseFraming(head, method);
    if (framing === undefined) return this.#passResponses(joinedAgain(end));
    const { tags } = this.#options;
    const isEligible = isCompressible(head, framing, method);
    if (isEligible && coding !== undefined && framing.kind !== 'none') {
      const compressor = Compressor.create(coding, this, this.#options.clock, this.#options.slots);
      if (compressor !== undefined) {
        this.#compressing = { compressor, framing, body: this.#track(framing) };
        return [compressedHead(head, coding, closesAfter(head, framing), tags), end.rest];
      }
    }
    const body = trackServiceBody(framing, {});
    if (body.done) this.#request = undefined;
    else this.#responseBody = body;
    const changed = isEligible
      ? varyingHead(head)
      : head.status === 304
        ? notModifiedHead(head, tags, restored)
        : end.head;
    if (changed !== end.head) return [changed, end.rest];
    return this.#followBody(body, joinedAgain(end), end.head.length);
  }

  /** @param start where the body continues in the bytes, all of which are sent up to its end */
  #followBody(body: BodyTracker, bytes: Buffer, start: number): readonly [Buffer, Buffer] {
    let end: number;
    try {
      end = body.advance(bytes, start);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return this.#passResponses(bytes);
    }
    if (body.done) {
      this.#responseBody = undefined;
      this.#request = undefined;
    }
    return [bytes.subarray(0, end), bytes.subarray(end)];
  }

  #passResponses(bytes: Buffer): readonly [Buffer, Buffer] {
    this.#isOpaque = true;
    this.#request = undefined;
    this.#responseBody = undefined;
    return [bytes, NONE];
  }

  /* The body that is compressed. */

  #track(framing: Framing): BodyTracker {
    this.#trailers = '';
    return trackServiceBody(framing, {
      onPayload: (piece) => void this.#content.push(piece),
      onTrailers: (fields) => (this.#trailers = compressedTrailers(fields, this.#options.tags)),
    });
  }

  /** @returns the bytes after the body */
  #compress({ compressor, body, framing }: Compressing, bytes: Buffer): Buffer {
    let end: number;
    try {
      end = body.advance(bytes, 0);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.onCompressorFailed();
      return NONE;
    }
    const pieces = this.#content.splice(0);
    if (framing.kind !== 'chunked') pieces.push(bytes.subarray(0, end));
    const [first] = pieces;
    // Each write costs a round trip to the thread pool.
    const content = pieces.length > 1 ? Buffer.concat(pieces) : first;
    if (content !== undefined && !compressor.write(content)) this.#owesDrain = true;
    if (body.done) this.#finish(compressor);
    return bytes.subarray(end);
  }

  #finish(compressor: Compressor): void {
    this.#isFinishing = true;
    compressor.end();
  }

  onCompressed(piece: Buffer): boolean {
    return super.write(
      Buffer.concat([Buffer.from(piece.length.toString(16) + CRLF), piece, Buffer.from(CRLF)]),
    );
  }

  onRoom(): void {
    if (!this.#owesDrain) return;
    this.#owesDrain = false;
    super.onStreamDrain();
  }

  onCompressedEnd(): void {
    this.#compressing = undefined;
    this.#isFinishing = false;
    this.#request = undefined;
    let hasRoom = super.write(Buffer.from(`0${CRLF}${this.#trailers}${CRLF}`, 'latin1'));
    const owed = this.#owesDrain;
    this.#owesDrain = false;
    for (const piece of this.#after.splice(0)) hasRoom = this.write(piece);
    if (this.#closing !== undefined && this.#compressing === undefined) return super.close(this.#closing);
    if (owed && hasRoom) super.onStreamDrain();
  }

  /** A compressed response that cannot be continued must not look complete. */
  onCompressorFailed(): void {
    this.destroy();
    super.onStreamClose(CloseCode.abnormal);
  }

  /* The ends. */

  override onStreamDrain(): void {
    this.#compressing?.compressor.resume();
    if (!this.#owesDrain) super.onStreamDrain();
  }

  override close(code: number): void {
    if (this.#closing !== undefined) return;
    this.#closing = code;
    const compressing = this.#compressing;
    if (compressing === undefined) {
      // Part of a head, which can no longer become complete.
      if (this.#request !== undefined && this.#responses.partial)
        super.write(Buffer.from(this.#responses.text, 'latin1'));
      return super.close(code);
    }
    if (this.#isFinishing) return;
    if (compressing.framing.kind === 'until-close' && isCleanClose(code))
      this.#finish(compressing.compressor);
    else this.#breakOff(compressing.compressor, isCleanClose(code) ? CloseCode.internalError : code);
  }

  /** Sends what the service has sent of an incomplete response, without an end. */
  #breakOff(compressor: Compressor, code: number): void {
    const stop = (): void => {
      if (!this.#hasEnded) super.close(code);
    };
    this.#breakTimer = this.#options.clock.setTimeout(stop, COMPRESSION_BREAK_MS);
    compressor.flush(stop);
  }

  protected override ended(): void {
    this.#hasEnded = true;
    this.#breakTimer?.cancel();
    this.#compressing?.compressor.destroy();
    this.#compressing = undefined;
    this.#isFinishing = false;
    this.#after = [];
  }
}

/** A head and the bytes after it as they arrived, since a {@link HeadReader} leaves them next to each other. */
function joinedAgain({ head, rest }: HeadEnd): Buffer {
  if (rest.length === 0) return head;
  return Buffer.from(head.buffer, head.byteOffset, head.length + rest.length);
}

/** Whether the service closes the connection after the response, which chunks would not show. */
function closesAfter({ minor, fields }: ResponseHead, framing: Framing): boolean {
  const options = listMembers(fields, 'connection');
  if (options.includes('close')) return false;
  return framing.kind === 'until-close' || (minor === 0 && !options.includes('keep-alive'));
}
