/** Passes one response from a stream on to its visitor: interim heads, the final head, and the body to its end. */
import { type BodyTracker, BodyError } from '../../../shared/http1/body.ts';
import { fieldValue, listMembers } from '../../../shared/http1/fields.ts';
import { type Framing, responseFraming } from '../../../shared/http1/framing.ts';
import { HeadReader } from '../../../shared/http1/head-reader.ts';
import { parseResponseHead, type ResponseHead } from '../../../shared/http1/head.ts';
import { trackBody } from '../../../shared/http1/track-body.ts';
import { INTERIM_RESPONSES_MAX, RESPONSE_FIELDS_MAX, RESPONSE_HEAD_MAX_BYTES } from '../../limits.ts';
import {
  type FieldMap,
  finalResponseHead,
  interimResponseHead,
  type Omission,
  preflightResponseHead,
  type ResponseEnding,
} from '../heads/response-head.ts';

const EMPTY = Buffer.alloc(0);

/** Which interim responses (1xx except 101) a visitor is sent: any, a 100 because it waits for one, or none. */
export type Interims = 'all' | 'continue' | 'none';

export interface ResponseContext {
  /** the method of the request */
  readonly method: string;
  /** the minor version of the visitor */
  readonly minor: 0 | 1;
  readonly interims: Interims;
  /** Whether the request offers a WebSocket. */
  readonly upgrade: boolean;
  /** Whether the visitor's connection is to end with the response. */
  readonly close: boolean;
  /**
   * The request's body, where the visitor sends it only after a 100. After a final response it may leave that out
   * (RFC 9110 section 10.1.1), and what then comes on its connection could be another request.
   */
  readonly heldBack: BodyTracker | undefined;
  /** how heads are written; read when there is one */
  readonly rules: {
    readonly ending: ResponseEnding;
    readonly mapField: FieldMap | undefined;
    /** Whether only the status and the fields that answer a preflight are passed on */
    readonly isPreflight?: boolean;
  };
  /** told when the response turns out to be an event stream, before its head is passed on */
  readonly owner: { staysOpen(): void };
}

/** A visitor's connection, as seen by whoever writes a response. */
export interface VisitorSink {
  send(bytes: Buffer): void;
  /** Whether the visitor has not taken what was sent, so that no more should come. */
  readonly isFull: boolean;
}

/**
 * `more`: goes on. `done`: the response is complete. `switched`: the connection is a WebSocket now. `no-head`: what came is
 * not a response, and none of it has been passed on. `broken`: the body breaks its own framing.
 */
export type ResponseProgress = 'more' | 'done' | 'switched' | 'no-head' | 'broken';

export class ResponseRelay {
  readonly #context: ResponseContext;
  readonly #sink: VisitorSink;
  /** of the final response, or of the switch to a WebSocket, once it was passed on */
  status: number | undefined;
  readonly #reader = new HeadReader(RESPONSE_HEAD_MAX_BYTES);
  #body: BodyTracker | undefined;
  #untilClose = false;
  #unchunk = false;
  #started = false;
  #interimResponses = 0;
  #closes: boolean;
  #reusable = true;
  #isWithheld = false;

  constructor(context: ResponseContext, sink: VisitorSink) {
    this.#context = context;
    this.#sink = sink;
    this.#closes = context.close;
  }

  /** Whether any byte of a response has come. */
  get started(): boolean {
    return this.#started;
  }

  /** Whether the final head has been passed on, so that no other response can be sent. */
  get committed(): boolean {
    return this.#body !== undefined;
  }

  /** Whether the visitor's connection ends with this response. */
  get closes(): boolean {
    return this.#closes;
  }

  /** Whether the visitor takes the end of the connection for the end of the body, so that only a reset tells otherwise. */
  get endsWithConnection(): boolean {
    return this.#untilClose || this.#unchunk;
  }

  /** Ends the visitor's connection with this response, unless its head has already gone out without saying so. */
  closeAfter(): void {
    if (!this.committed) this.#closes = true;
  }

  /** Whether the stream can carry another request after this response. */
  get reusable(): boolean {
    return this.#reusable;
  }

  /** Whether the response has a body that the visitor does not get. */
  get isWithheld(): boolean {
    return this.#isWithheld;
  }

  push(piece: Buffer): ResponseProgress {
    this.#started = true;
    if (this.#body !== undefined) return this.#pushBody(this.#body, piece);
    return this.#pushHead(piece);
  }

  /** The stream has ended; `clean`: its sender has sent everything. Returns whether that completes the response. */
  completedByEnd(clean: boolean): boolean {
    return clean && this.#untilClose;
  }

  /** Bytes came after the complete response: they belong to no request, so the stream is not reused. */
  spoil(): void {
    this.#reusable = false;
  }

  #pushHead(piece: Buffer): ResponseProgress {
    let rest = piece;
    for (;;) {
      const end = this.#reader.push(rest);
      if (end === undefined) return 'more';
      const head = typeof end === 'string' ? undefined : parseResponseHead(end.head);
      if (typeof end === 'string' || head === undefined) return 'no-head';
      if (head.fields.length > RESPONSE_FIELDS_MAX) return 'no-head';
      rest = end.rest;
      if (head.status === 101) return this.#switch(head, rest);
      if (head.status >= 200) return this.#commit(head, rest);
      this.#interimResponses += 1;
      if (this.#interimResponses > INTERIM_RESPONSES_MAX) return 'no-head';
      if (this.#passes(head)) this.#sink.send(interimResponseHead(head, this.#context.rules.mapField, EMPTY));
      if (rest.length === 0) return 'more';
    }
  }

  #passes({ status }: ResponseHead): boolean {
    const { interims, rules } = this.#context;
    if (rules.isPreflight === true) return false;
    return interims === 'all' || (interims === 'continue' && status === 100 && this.#interimResponses === 1);
  }

  #switch(head: ResponseHead, rest: Buffer): ResponseProgress {
    if (!this.#context.upgrade || listMembers(head.fields, 'upgrade').join() !== 'websocket')
      return 'no-head';
    this.#sink.send(interimResponseHead(head, this.#context.rules.mapField, rest));
    this.status = head.status;
    return 'switched';
  }

  #commit(head: ResponseHead, rest: Buffer): ResponseProgress {
    const { method, minor } = this.#context;
    const framing = responseFraming(head, method);
    if (framing === undefined) return 'no-head';
    if (this.#context.rules.isPreflight === true) return this.#withhold(head, framing, rest);
    this.#untilClose = framing.kind === 'until-close';
    this.#unchunk = framing.kind === 'chunked' && minor === 0;
    this.#closes ||= this.#untilClose || this.#context.heldBack?.done === false;
    // Some servers are left in an unclear state when they refuse an upgrade: Node's never responds to a broken request after
    // that.
    const isSettled = !this.#untilClose && !this.#context.upgrade;
    this.#reusable = isSettled && staysUsable(head);
    const body = this.#unchunk ? trackBody(framing, (piece) => this.#sink.send(piece)) : trackBody(framing);
    this.#body = body;
    this.status = head.status;
    if (framing.kind !== 'length' && framing.kind !== 'none' && isEventStream(head))
      this.#context.owner.staysOpen();
    if (this.#unchunk || rest.length === 0) {
      // Without its coding, the body is sent as decoded.
      this.#sink.send(this.#finalHead(head, EMPTY));
      return this.#pushBody(body, rest);
    }
    return this.#pushFirst(head, body, rest);
  }

  /** Passes on the answer to a preflight. For the visitor the response is complete with its head. */
  #withhold(head: ResponseHead, { kind }: Framing, rest: Buffer): ResponseProgress {
    this.#body = trackBody({ kind: 'none' });
    this.status = head.status;
    this.#isWithheld = kind !== 'none';
    this.#reusable = !this.#isWithheld && rest.length === 0 && staysUsable(head);
    const { ending } = this.#context.rules;
    this.#sink.send(preflightResponseHead(head, { close: this.#closes, ending }));
    return 'done';
  }

  /** The head and the bytes that came with it, in one piece. */
  #pushFirst(head: ResponseHead, body: BodyTracker, piece: Buffer): ResponseProgress {
    let end: number;
    try {
      end = body.advance(piece, 0);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.#body = undefined;
      this.status = undefined;
      return 'no-head';
    }
    this.#sink.send(this.#finalHead(head, end === piece.length ? piece : piece.subarray(0, end)));
    return this.#progress(body, end < piece.length);
  }

  #finalHead(head: ResponseHead, body: Buffer): Buffer {
    const { ending, mapField } = this.#context.rules;
    const omits = this.#omission(head);
    return finalResponseHead(head, { close: this.#closes, omits, ending, mapField }, body);
  }

  #omission({ status }: ResponseHead): Omission {
    if (status === 204 || status === 205) return 'length';
    return this.#unchunk || status === 304 || this.#context.method === 'HEAD' ? 'coding' : 'nothing';
  }

  #pushBody(body: BodyTracker, piece: Buffer): ResponseProgress {
    try {
      const end = body.advance(piece, 0);
      if (!this.#unchunk && end > 0) this.#sink.send(end === piece.length ? piece : piece.subarray(0, end));
      return this.#progress(body, end < piece.length);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return 'broken';
    }
  }

  /** @param hasMore whether bytes came after the body, as far as it is complete */
  #progress(body: BodyTracker, hasMore: boolean): ResponseProgress {
    if (!body.done) return 'more';
    if (hasMore) this.spoil();
    return 'done';
  }
}

/** One of server-sent events (HTML Living Standard section 9.2). */
function isEventStream({ fields }: ResponseHead): boolean {
  return /^text\/event-stream\b/i.test(fieldValue(fields, 'content-type') ?? '');
}

/** Whether nothing in a head speaks against another request on its stream. */
function staysUsable(head: ResponseHead): boolean {
  const { minor, fields } = head;
  return minor === 1 && !listMembers(fields, 'connection').includes('close') && !mayBring(head);
}

/** Whether a response that has no body announces one, which may still come. */
function mayBring({ status, fields }: ResponseHead): boolean {
  if (status !== 204 && status !== 205) return false;
  return (
    (fieldValue(fields, 'content-length') ?? '0') !== '0' ||
    fieldValue(fields, 'transfer-encoding') !== undefined
  );
}
