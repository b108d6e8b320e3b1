/**
 * Rehearsal: fails some requests instead of the local service, or delays them, so that a user sees how a sender of
 * webhooks retries. Only tunnels with rules have this filter.
 */
import { STATUS_CODES } from 'node:http';
import { CloseCode } from '../../../shared/control.ts';
import { BodyError, type BodyTracker, requestFraming, trackBody } from '../../../shared/http1/body.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import { HeadReader, parseRequestHead, type RequestHead } from '../../../shared/http1/head.ts';
import type { ValueRule } from '../../../shared/value-rules.ts';
import type { Clock, Timer } from '../clock.ts';
import type { DataSocket } from '../data/data-dialer.ts';
import { NO_LIMITS, REQUEST_HEAD_MAX_BYTES, StreamFilter } from '../data/stream-filter.ts';

/**
 * Longest delay of a rehearsal: senders give up earlier.
 * @limit owner: Delay with `--delay` | the command reports an error
 */
export const REHEARSAL_DELAY_MAX_MS = 60_000;
/** Bytes of a delayed request that are held before its sender has to wait: more than webhooks have. */
const HELD_MAX_BYTES = 256 * 1024;

/** Perhaps a method, a path, what happens, and perhaps how often. */
const RULE = /^(?:([A-Z]{1,16}) +)?(\/[^?#\s]{0,255}) +(?:([45]\d\d)|(\d{1,5})(m?)s)(?: +x([1-9]\d{0,3}))?$/;

export const FAIL_RULE: ValueRule = {
  code: 'fail',
  accepts: (value) => readRule(value)?.status !== undefined,
  accepted:
    'a path and a status from 400 to 599, such as "/hooks 500". A method may come first, and a number of times last: "POST /hooks 500 x2"',
};

export const DELAY_RULE: ValueRule = {
  code: 'delay',
  accepts: (value) => readRule(value)?.delayMs !== undefined,
  accepted: `a path and a time up to ${REHEARSAL_DELAY_MAX_MS / 1000}s, such as "/api 3s" or "/api 500ms". A method may come first, and a number of times last: "POST /api 3s x2"`,
};

interface Rule {
  readonly method: string | undefined;
  readonly path: string;
  readonly status?: number;
  readonly delayMs?: number;
  /** how many more requests it applies to */
  left: number;
}

function readRule(text: unknown): Rule | undefined {
  const [all, method, path = '', status, time, milli, times] = RULE.exec(String(text).trim()) ?? [];
  const delayMs = Number(time) * (milli === 'm' ? 1 : 1000);
  if (all === undefined || delayMs === 0 || delayMs > REHEARSAL_DELAY_MAX_MS) return undefined;
  const what = status === undefined ? { delayMs } : { status: Number(status) };
  return { method, path, ...what, left: times === undefined ? Infinity : Number(times) };
}

/** The rehearsal of a tunnel. */
export class Rehearsal {
  /** as typed, for people */
  readonly text: string;
  isOn = true;
  readonly #rules: readonly Rule[];

  /** @param rules that {@link FAIL_RULE} or {@link DELAY_RULE} accepts */
  constructor(rules: readonly string[]) {
    this.text = rules.join(', ');
    this.#rules = rules.flatMap((text) => readRule(text) ?? []);
  }

  /** Decides about a request by the first rule of each kind that applies, and counts it. */
  plan(head: RequestHead): { readonly delayMs: number | undefined; readonly status: number | undefined } {
    return { delayMs: this.#take(head, 'delayMs'), status: this.#take(head, 'status') };
  }

  #take({ method, target }: RequestHead, kind: 'delayMs' | 'status'): number | undefined {
    const path = `${target.split('?', 1)[0] ?? ''}/`;
    const isFor = (rule: Rule): boolean =>
      (rule.method ?? method) === method && path.startsWith(`${rule.path.replace(/\/$/, '')}/`);
    const rule = this.#rules.find((each) => each[kind] !== undefined && each.left > 0 && isFor(each));
    if (rule === undefined || !this.isOn) return undefined;
    rule.left -= 1;
    return rule[kind];
  }
}

const NONE = Buffer.alloc(0);

/**
 * Follows the requests on a data socket to find where each one begins: a relay sends the next one when the previous
 * response is complete. If it loses track, everything that follows passes.
 */
export class RehearsedStream extends StreamFilter {
  readonly #rehearsal: Rehearsal;
  readonly #clock: Pick<Clock, 'setTimeout'>;
  readonly #reader = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  /** the rest of the latest request's body */
  #body: BodyTracker | undefined;
  /** gives the response to the latest request, if its service does not */
  #fail: (() => Buffer) | undefined;
  #timer: Timer | undefined;
  /** what has arrived during a delay */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isOpaque = false;
  #hasEnded = false;

  constructor(inner: DataSocket, rehearsal: Rehearsal, clock: Pick<Clock, 'setTimeout'>) {
    super(inner);
    this.#rehearsal = rehearsal;
    this.#clock = clock;
  }

  override onStreamData(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0 && !this.#hasEnded) {
      if (this.#timer !== undefined) return this.#hold(rest);
      if (this.#isOpaque) return super.onStreamData(rest);
      rest = this.#body === undefined ? this.#begin(rest) : this.#followBody(this.#body, rest, 0);
    }
  }

  /** A sender that gives up during a delay is not served. */
  protected override ended(): void {
    this.#hasEnded = true;
    this.#timer?.cancel();
    this.#held = [];
  }

  /** @returns the bytes after those that were used */
  #begin(bytes: Buffer): Buffer {
    const end = this.#reader.push(bytes);
    if (end === undefined) return NONE;
    if (typeof end === 'string') return this.#pass(Buffer.from(this.#reader.text, 'latin1'));
    const all = end.rest.length === 0 ? end.head : Buffer.concat([end.head, end.rest]);
    const head = parseRequestHead(end.head, NO_LIMITS);
    const framing = typeof head === 'string' ? head : requestFraming(head);
    if (typeof head === 'string' || typeof framing === 'string') return this.#pass(all);
    const { delayMs, status } = this.#rehearsal.plan(head);
    const serve = (first: Buffer): Buffer => {
      if (status !== undefined) this.rehearsed('failed');
      this.#fail = status === undefined ? undefined : () => this.#respond(head, status);
      // What follows an upgrade may be of another protocol; and who expects an answer keeps the body back.
      this.#isOpaque = this.#fail === undefined && fieldValue(head.fields, 'upgrade') !== undefined;
      if (this.#fail !== undefined && fieldValue(head.fields, 'expect') !== undefined) return this.#fail();
      return this.#followBody(trackBody(framing), first, end.head.length);
    };
    if (delayMs === undefined) return serve(all);
    this.rehearsed('delayed');
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = undefined;
      const [first = NONE, ...more] = this.#held.splice(0);
      this.#heldBytes = 0;
      for (const piece of [serve(first), ...more]) this.onStreamData(piece);
      if (!this.#hasEnded) this.resume();
    }, delayMs);
    this.#hold(all);
    return NONE;
  }

  /** @param start where the body continues in the bytes, all of which are used up to its end */
  #followBody(body: BodyTracker, bytes: Buffer, start: number): Buffer {
    let end: number;
    try {
      end = body.advance(bytes, start);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return this.#fail?.() ?? this.#pass(bytes);
    }
    this.#body = body.done ? undefined : body;
    if (this.#fail === undefined) super.onStreamData(bytes.subarray(0, end));
    else if (body.done) return this.#fail();
    return bytes.subarray(end);
  }

  #pass(bytes: Buffer): Buffer {
    this.#isOpaque = true;
    super.onStreamData(bytes);
    return NONE;
  }

  /** The relay sends its visitor's next request on another stream. */
  #respond({ method }: RequestHead, status: number): Buffer {
    const text = `${status} ${STATUS_CODES[status] ?? 'Error'}`;
    const body = `${text}: this is a rehearsal of culvert, and the local service did not get the request.\n`;
    const head = `HTTP/1.1 ${text}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\n`;
    const rest = `Cache-Control: no-store\r\nConnection: close\r\n\r\n${method === 'HEAD' ? '' : body}`;
    super.write(Buffer.from(head + rest));
    this.close(CloseCode.normal);
    super.onStreamClose(CloseCode.normal);
    return NONE;
  }

  /** A copy: the caller may use its memory again. A paused stream does not show its end, so it is paused late. */
  #hold(bytes: Buffer): void {
    this.#held.push(Buffer.from(bytes));
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > HELD_MAX_BYTES) this.pause();
  }
}
