import { CloseCode } from '../../../shared/control.ts';
import { type BodyTracker, BodyError } from '../../../shared/http1/body.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import { requestFraming } from '../../../shared/http1/framing.ts';
import { HeadReader } from '../../../shared/http1/head-reader.ts';
import { HeadWriter } from '../../../shared/http1/head-writer.ts';
import { parseRequestHead, parseResponseHead, type RequestHead } from '../../../shared/http1/head.ts';
import { trackBody } from '../../../shared/http1/track-body.ts';
import { REQUEST_HEAD_MAX_BYTES, RESPONSE_HEAD_MAX_BYTES, UPGRADE_EARLY_MAX_BYTES } from '../limits.ts';
import type { DataSocket } from './data-socket.ts';
import { StreamFilter } from './stream-filter.ts';

/** The relay has refused what is longer. */
const NO_LIMITS = { target: Infinity, fields: Infinity };

/**
 * Gives every request of a data socket another Host, and leaves the rest as it came. The requests are followed to know
 * where each begins; one that cannot be followed breaks the connection, since what comes behind it could not be either.
 */
export class HostRewriter extends StreamFilter {
  readonly #host: string;
  readonly #requests = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  /** of the request under way; `undefined` between two */
  #body: BodyTracker | undefined;
  /** reads the answer to an upgrade, until it is known whether what follows is HTTP */
  #answers: HeadReader | undefined;
  /** what came behind the offer of an upgrade, until then */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** whether its handler takes nothing at present */
  #isPaused = false;
  /** bytes are passed on unseen: after an upgrade, or after the end */
  #isThrough = false;

  /** @param host the Host to send */
  constructor(inner: DataSocket, host: string) {
    super(inner);
    this.#host = host;
  }

  override onStreamData(piece: Buffer): void {
    if (this.#isThrough) super.onStreamData(piece);
    else this.#follow(piece);
  }

  override pause(): void {
    this.#isPaused = true;
    super.pause();
  }

  override resume(): void {
    this.#isPaused = false;
    if (this.#heldBytes <= UPGRADE_EARLY_MAX_BYTES) super.resume();
  }

  /** The other side decides how much it sends, and the local service how long it takes to answer. */
  #hold(piece: Buffer): void {
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes > UPGRADE_EARLY_MAX_BYTES) super.pause();
  }

  override write(chunk: Buffer): boolean {
    if (this.#answers !== undefined) this.#readAnswer(this.#answers, chunk);
    return super.write(chunk);
  }

  #follow(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0 && !this.#isThrough) {
      // The body of the request that offers it belongs to the request.
      if (this.#answers !== undefined && this.#body === undefined) return this.#hold(rest);
      rest = this.#body === undefined ? this.#followHead(rest) : this.#followBody(this.#body, rest);
    }
  }

  /** @returns the bytes behind what was taken */
  #followHead(bytes: Buffer): Buffer {
    const end = this.#requests.push(bytes);
    if (end === undefined) return bytes.subarray(bytes.length);
    const head = typeof end === 'string' ? end : parseRequestHead(end.head, NO_LIMITS);
    const framing = typeof head === 'string' ? head : requestFraming(head);
    if (typeof end === 'string' || typeof head === 'string' || typeof framing === 'string')
      return this.#break(bytes);
    // Each is replaced by a longer one, so a head with many would grow without a limit.
    if (head.fields.filter((field) => field.is('host')).length > 1) return this.#break(bytes);
    const body = trackBody(framing);
    if (!body.done) this.#body = body;
    if (fieldValue(head.fields, 'upgrade') !== undefined)
      this.#answers = new HeadReader(RESPONSE_HEAD_MAX_BYTES);
    super.onStreamData(this.#rewrite(head));
    return end.rest;
  }

  #followBody(body: BodyTracker, bytes: Buffer): Buffer {
    let end: number;
    try {
      end = body.advance(bytes, 0);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return this.#break(bytes);
    }
    if (body.done) this.#body = undefined;
    super.onStreamData(end === bytes.length ? bytes : bytes.subarray(0, end));
    return bytes.subarray(end);
  }

  #rewrite(head: RequestHead): Buffer {
    const writer = new HeadWriter(head.bytes, this.#host.length);
    let from = 0;
    for (const field of head.fields) {
      if (!field.is('host')) continue;
      writer.keep(from, field.start);
      writer.text(`${field.name}: ${this.#host}\r\n`);
      from = field.end;
    }
    writer.keep(from, head.bytes.length);
    return writer.end();
  }

  #readAnswer(reader: HeadReader, chunk: Buffer): void {
    // Whoever writes on may change the bytes.
    let rest: Buffer = Buffer.from(chunk);
    while (rest.length > 0) {
      const end = reader.push(rest);
      if (end === undefined) return;
      const head = typeof end === 'string' ? undefined : parseResponseHead(end.head);
      if (typeof end === 'string' || head === undefined) return void this.#break(rest);
      rest = end.rest;
      if (head.status === 101 || head.status >= 200) return this.#settle(head.status === 101);
    }
  }

  /** It is known what follows the offer of an upgrade. */
  #settle(isUpgraded: boolean): void {
    this.#answers = undefined;
    this.#isThrough = isUpgraded;
    const wasFull = this.#heldBytes > UPGRADE_EARLY_MAX_BYTES;
    this.#heldBytes = 0;
    for (const piece of this.#held.splice(0)) this.onStreamData(piece);
    if (wasFull && !this.#isPaused && this.#heldBytes <= UPGRADE_EARLY_MAX_BYTES) super.resume();
  }

  #break(bytes: Buffer): Buffer {
    this.#isThrough = true;
    this.#answers = undefined;
    this.#held = [];
    this.#heldBytes = 0;
    this.destroy();
    super.onStreamClose(CloseCode.abnormal);
    return bytes.subarray(bytes.length);
  }
}
