import { BodyError, type BodyTracker } from '../../../shared/http1/body.ts';
import { SPACE } from '../../../shared/http1/characters.ts';
import { joined } from '../../../shared/http1/joined.ts';
import { trackBody } from '../../../shared/http1/track-body.ts';
import { RECORDED_HEAD_MAX_BYTES } from '../limits.ts';
import { HeadScan } from './head-scan.ts';

/** Which body follows a head: that of a request, or of a response that may have one or (to HEAD) has none. */
export type Expecting = 'request' | 'response' | 'response-without-body';

const LETTER_H = 0x48;
const METHOD_HEAD_LENGTH = 4;
/** Where the status is in `HTTP/1.1 200`. */
const STATUS_AT = 9;

/** Follows one message after another in one direction of a connection, to know where each ends. */
export class MessageTracker {
  /** bytes of the head; 0 until it is complete */
  headLength = 0;
  /** of a response whose head is complete, else 0 */
  status = 0;
  /** the message is complete */
  isDone = false;
  /** of a request whose head is complete: its method is HEAD */
  isHead = false;
  /** of a response: only the end of the connection ends it */
  isUntilClose = false;
  /** the message cannot be followed: it lasts as long as the connection does */
  isLost = false;
  readonly #scan = new HeadScan();
  /** the beginning of a head that comes in pieces */
  #held: Buffer | undefined;
  #body: BodyTracker | undefined;

  /** Starts on another message. */
  reset(): void {
    this.headLength = 0;
    this.status = 0;
    this.isDone = false;
    this.isHead = false;
    this.isUntilClose = false;
    this.#scan.reset();
    this.#held = undefined;
    this.#body = undefined;
  }

  /**
   * Takes the next bytes.
   *
   * @param start where in the chunk the message goes on
   * @returns one past the last byte that belongs to the message
   */
  advance(chunk: Buffer, start: number, expecting: Expecting): number {
    if (this.isLost) return chunk.length;
    return this.headLength === 0 ? this.#readHead(chunk, start, expecting) : this.#followBody(chunk, start);
  }

  #readHead(chunk: Buffer, start: number, expecting: Expecting): number {
    const part = start === 0 ? chunk : chunk.subarray(start);
    const held = this.#held;
    const bytes = held === undefined ? part : joined(held, part);
    if (!this.#scan.scan(bytes)) {
      // A copy: the chunk is changed by whoever passes it on.
      this.#held = held === undefined ? Buffer.from(part) : bytes;
      this.isLost = bytes.length > RECORDED_HEAD_MAX_BYTES;
      return chunk.length;
    }
    this.#held = undefined;
    this.headLength = this.#scan.end;
    this.#expectBody(bytes, expecting);
    return this.#followBody(chunk, start + this.#scan.end - (held?.length ?? 0));
  }

  #expectBody(head: Buffer, expecting: Expecting): void {
    const { isChunked, length } = this.#scan;
    if (expecting === 'request') {
      this.isHead = head[0] === LETTER_H && head[METHOD_HEAD_LENGTH] === SPACE;
    } else {
      const status = readStatus(head);
      this.status = status;
      if (expecting === 'response-without-body' || status < 200 || status === 204 || status === 304) return;
      this.isUntilClose = !isChunked && length === undefined;
    }
    if (isChunked) this.#body = trackBody({ kind: 'chunked' });
    else if (this.isUntilClose) this.#body = trackBody({ kind: 'until-close' });
    else if (length !== undefined && length > 0) this.#body = trackBody({ kind: 'length', length });
  }

  #followBody(chunk: Buffer, start: number): number {
    const body = this.#body;
    if (body === undefined) {
      this.isDone = true;
      return start;
    }
    try {
      const end = body.advance(chunk, start);
      this.isDone = body.done;
      return end;
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.isLost = true;
      return chunk.length;
    }
  }
}

/** Three digits, or 0. */
function readStatus(head: Buffer): number {
  let status = 0;
  for (let at = STATUS_AT; at < STATUS_AT + 3; at++) {
    const digit = (head[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    status = status * 10 + digit;
  }
  return status;
}
