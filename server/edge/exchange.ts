/**
 * One request and its response over one stream: opened or reused, followed to their ends in both directions. While one
 * side accepts nothing, nothing more is read from the other.
 */
import { problemDetail } from '../../shared/control.ts';
import type { VisitorErrorCode } from '../../shared/errors.ts';
import { type BodyTracker, trackBody } from '../../shared/http1/body.ts';
import { fieldValue } from '../../shared/http1/fields.ts';
import type { RequestCounts } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import {
  type ByteStream,
  type Dial,
  type DialFault,
  LOST_BEYOND,
  type StreamHandler,
} from '../tunnels/stream.ts';
import type { OwnResponse } from './builtin-responses.ts';
import type { FieldMap, ResponseEnding } from './response-head.ts';
import { type InformationalResponses, ResponseRelay, type VisitorSink } from './response.ts';
import type { UpstreamHandler, ParsedRequest } from './route.ts';
import type { AllowedVisitor } from './visitor-access.ts';

/** How an exchange ends. */
export type ExchangeEnd =
  /** The response is complete. `stream`: can carry another request. `close`: the connection ends with the response. */
  | { readonly kind: 'completed'; readonly stream: ByteStream | undefined; readonly close: boolean }
  /** The response is a WebSocket from here on. */
  | { readonly kind: 'switched'; readonly stream: ByteStream }
  /** There is no response, and no byte of one was passed on. `text` replaces the catalogue's text. */
  | (Problem & {
      readonly kind: 'failed';
      readonly code: VisitorErrorCode;
      readonly text?: string | undefined;
    })
  /** The relay itself responds; nothing was sent to a stream. */
  | { readonly kind: 'intercepted'; readonly response: OwnResponse }
  /** The response broke off. `reset`: only a reset shows that to the visitor. */
  | (Problem & { readonly kind: 'broken'; readonly reset: boolean });

interface Problem {
  /** the line that makes the response of the service invalid, as `problemDetail` shows it */
  readonly refused?: string | undefined;
}

/** Callbacks of an exchange to the connection it serves. */
export interface ExchangeOwner {
  /** Whether bytes of the body are accepted has changed: see {@link Exchange.takesBody}. */
  flowChanged(): void;
  /** The response is an event stream, which has no end of its own. */
  staysOpen(): void;
  /** The exchange is over. Called at most once, and not after {@link Exchange.abort}. */
  end(end: ExchangeEnd): void;
}

/** A request as its upstream receives it, and the upstream. */
export interface UpstreamRequest {
  /** The upstream; the same object for the same tunnel. */
  readonly target: object;
  /** the head for the stream, once there is a stream */
  readonly head: Buffer;
  /** Whether it may be sent again over a new stream if a kept one turns out to have ended. */
  readonly repeatable: boolean;
  readonly open: (handler: UpstreamHandler) => Dial;
  /** Called once, when the head has been sent to a stream. */
  readonly onHanded: () => void;
  /** Written after the fields of the response; final once the request has been sent. */
  readonly ending: ResponseEnding;
  readonly mapField: FieldMap | undefined;
  /**
   * Whether only the status and the fields that answer a preflight are passed on; final once the request has been
   * sent.
   */
  readonly isPreflight?: boolean;
  /** Whether it needs its own stream, because it has to wait, possibly in a queue that a kept stream would bypass. */
  readonly fresh: boolean;
  /** Whose next request on the connection its stream may serve: any, or only one of the same visitor. */
  readonly keepsStream: 'any' | 'own' | 'none';
  /** A kept stream serves requests with the same host only: the client may forward hosts to different services. */
  readonly host: string;
  /** The requested tunnel, once it is known; `undefined` for other upstreams. */
  readonly tunnel: LiveTunnel | undefined;
  /** The visitor who got access, if the tunnel has an access policy. */
  readonly entrant: AllowedVisitor | undefined;
  /** Counts how the request ends. */
  readonly outcomes: RequestCounts;
}

interface ExchangeOptions {
  /** the request as received */
  readonly plan: ParsedRequest;
  /** the same request as sent to its upstream */
  readonly request: UpstreamRequest;
  readonly interims: InformationalResponses;
  /** Whether the visitor's connection is to end with the response. */
  readonly close: boolean;
}

export class Exchange implements UpstreamHandler, StreamHandler {
  readonly #request: UpstreamRequest;
  /** of the request */
  readonly #body: BodyTracker;
  readonly #response: ResponseRelay;
  readonly #sink: VisitorSink;
  readonly #owner: ExchangeOwner;
  #dial: Dial | undefined;
  #stream: ByteStream | undefined;
  /** Whether the stream currently accepts no data. */
  #blocked = false;
  /** When the end of a stream without a byte of a response is a reason to repeat the request over another one. */
  #repeatsWhen: 'ended' | 'lost' | 'never' = 'never';
  #repeated = false;
  #handed = false;
  #responded = false;
  #over = false;

  /** @param sink receives the response */
  constructor({ plan, request, interims, close }: ExchangeOptions, sink: VisitorSink, owner: ExchangeOwner) {
    this.#request = request;
    this.#body = trackBody(plan.framing);
    this.#sink = sink;
    this.#owner = owner;
    const hasMadeKey = plan.upgrade && sink.messages !== undefined;
    this.#response = new ResponseRelay(
      {
        method: plan.head.method,
        minor: plan.head.minor,
        interims,
        upgrade: plan.upgrade,
        webSocketKey: hasMadeKey ? fieldValue(plan.head.fields, 'sec-websocket-key') : undefined,
        close,
        heldBack: plan.expectsContinue ? this.#body : undefined,
        rules: request,
        owner,
      },
      sink,
    );
  }

  /** @param kept a stream left open by the previous request to the same target */
  start(kept: ByteStream | undefined): void {
    if (kept === undefined) return this.#open();
    this.#use(kept, 'ended');
  }

  // For its owner

  /** Whether there is a stream to send to. */
  get hasStream(): boolean {
    return this.#stream !== undefined;
  }

  /** Whether bytes of the request's body are currently accepted. */
  get takesBody(): boolean {
    return this.#stream !== undefined && !this.#blocked && !this.#body.done;
  }

  /** Whether bytes arrive that the stream currently does not accept. */
  get isBlocked(): boolean {
    return this.#blocked;
  }

  /** Cancels the request, if nothing of it was sent to a stream. @returns whether that was so */
  recall(): boolean {
    if (this.#handed || this.#over) return false;
    this.abort();
    return true;
  }

  /** Whether the whole response has been passed on. */
  get responded(): boolean {
    return this.#responded;
  }

  /** Whether the whole request has been read. */
  get requestDone(): boolean {
    return this.#body.done;
  }

  /** Whether the visitor has been sent a final response head. */
  get committed(): boolean {
    return this.#response.committed;
  }

  /** Whether a response is being sent whose request may still be: such a stream may be silent (protocol.md section 4.5). */
  get isTwoWay(): boolean {
    return this.#response.committed && !this.#responded;
  }

  /** Whether the response asks the visitor to authenticate its connection. */
  get challengesConnection(): boolean {
    return this.#response.challengesConnection;
  }

  /** Whether the response is an event stream. */
  get isEventStream(): boolean {
    return this.#response.isEventStream;
  }

  /** The status of the response, once its head was passed on. */
  get status(): number | undefined {
    return this.#response.status;
  }

  // The visitor's side

  /**
   * Passes on the bytes that belong to the request's body.
   *
   * @returns the bytes after the body
   * @throws BodyError if the body violates its own framing
   */
  takeBody(bytes: Buffer): Buffer | undefined {
    const body = this.#body;
    const end = body.advance(bytes, 0);
    if (this.#stream?.write(bytes.subarray(0, end)) === false) this.#blocked = true;
    if (body.done && this.#responded) this.#complete();
    return end < bytes.length ? bytes.subarray(end) : undefined;
  }

  /** The visitor accepts bytes again. */
  resumeResponse(): void {
    this.#stream?.resume();
  }

  /** Ends the visitor's connection with the response, if the response can still announce that. */
  closeAfter(): void {
    this.#response.closeAfter();
  }

  /** The visitor is gone or its request is malformed: the exchange ends. */
  abort(): void {
    this.#over = true;
    this.#dial?.cancel();
    this.#stream?.abort();
  }

  /** The visitor has lost access to the rest of a response: it breaks off. */
  cut(): void {
    this.abort();
    this.#breakOff();
  }

  // For its upstream

  #open(): void {
    this.#dial = this.#request.open(this);
  }

  opened(stream: ByteStream, wasWarm = false): void {
    this.#dial = undefined;
    this.#use(stream, wasWarm && !this.#repeated ? 'lost' : 'never');
  }

  #use(stream: ByteStream, repeatsWhen: 'ended' | 'lost' | 'never'): void {
    this.#repeatsWhen = repeatsWhen;
    this.#stream = stream;
    if (!this.#handed) this.#request.onHanded();
    this.#handed = true;
    this.#blocked = !stream.write(this.#request.head);
    stream.attach(this);
    if (this.#over) return;
    if (this.#blocked || !this.#body.done) this.#owner.flowChanged();
  }

  failed(code: DialFault, text?: string): void {
    this.#end({ kind: 'failed', code, text });
  }

  intercepted(response: OwnResponse): void {
    this.#end({ kind: 'intercepted', response });
  }

  onRoom(): void {
    this.#blocked = false;
    this.#owner.flowChanged();
  }

  onBytes(piece: Buffer): void {
    const stream = this.#stream;
    if (this.#over || stream === undefined) return;
    if (this.#responded) return this.#response.spoil();
    const progress = this.#response.push(piece);
    // The visitor may have lost its access with the head of an event stream.
    if (this.#over) return;
    if (this.#sink.isFull) stream.pause();
    switch (progress) {
      case 'more':
        return;
      case 'done':
        return this.#respond();
      case 'switched':
        this.#over = true;
        // From here on, the new owner of the stream controls the flow.
        if (this.#sink.isFull) stream.resume();
        return this.#end({ kind: 'switched', stream });
      case 'malformed':
        stream.abort();
        return this.#end({ kind: 'failed', code: 'local-malformed', refused: this.#refused });
      case 'broken':
        stream.abort();
        return this.#breakOff(this.#refused);
    }
  }

  get #refused(): string {
    return problemDetail(this.#response.refused);
  }

  onEnded(clean: boolean, lost = false, code = 0): void {
    if (this.#over) return;
    this.#stream = undefined;
    if (this.#responded) {
      this.#complete();
    } else if (this.#response.completedByEnd(clean)) {
      this.#respond();
    } else if (this.#response.committed) {
      this.#breakOff();
    } else if (this.#canRepeat(lost, code === LOST_BEYOND)) {
      this.#repeated = true;
      this.#open();
    } else {
      this.#end({ kind: 'failed', code: 'client-closed' });
    }
  }

  /**
   * Whether the other side closed an idle connection at the moment it was reused, or broke off on one opened in
   * advance, or another relay was lost on the way. A request that brings a client down is not repeated indefinitely.
   */
  #canRepeat(lost: boolean, lostBeyond: boolean): boolean {
    if (!this.#request.repeatable || this.#response.started || this.#repeated) return false;
    return this.#repeatsWhen === 'ended' || lostBeyond || (this.#repeatsWhen === 'lost' && lost);
  }

  // Endings

  /**
   * The response is complete, possibly before the request is; the rest of the request is accepted as long as there is
   * a stream.
   */
  #respond(): void {
    this.#responded = true;
    if (this.#body.done || this.#stream === undefined) this.#complete();
    else this.#owner.flowChanged();
  }

  #complete(): void {
    this.#over = true;
    const stream = this.#stream;
    const { closes, reusable } = this.#response;
    const close = closes || !this.#body.done;
    if (stream === undefined || !reusable || !this.#body.done) {
      // The rest of a withheld response may be endless.
      if (this.#response.isWithheld) stream?.abort();
      else stream?.finish();
      return this.#end({ kind: 'completed', stream: undefined, close });
    }
    // The next request waits until the visitor has read this response, and nobody would resume the stream then.
    if (this.#sink.isFull) stream.resume();
    this.#end({ kind: 'completed', stream, close });
  }

  /** @param refused what is wrong with the response, if it is not valid HTTP */
  #breakOff(refused?: string): void {
    this.#end({ kind: 'broken', reset: this.#response.endsWithConnection, refused });
  }

  #end(end: ExchangeEnd): void {
    this.#over = true;
    this.#owner.end(end);
  }
}
