/** One request and its response over one stream: opened or reused, followed to their ends in both directions. */
import type { VisitorErrorCode } from '../../shared/errors.ts';
import type { BodyTracker } from '../../shared/http1/body.ts';
import type { ByteStream, Dial, DialFault, DialHandler, StreamHandler } from '../tunnels/stream.ts';
import type { OwnAnswer } from './answers.ts';
import type { ResponseRelay } from './response-relay.ts';

/** What an exchange asks of the connection it serves. */
export interface ExchangeOwner {
  /** The stream is open: bytes of the body that wait may come. */
  ready(): void;
  /** The stream takes no more for now, or takes more again. */
  blocked(isBlocked: boolean): void;
  /** Both messages are complete. `stream`: can carry another request. */
  complete(stream: ByteStream | undefined): void;
  /** The response is complete, and the rest of the request has nowhere to go. */
  answeredEarly(): void;
  /** The response is a WebSocket from here on. */
  switched(stream: ByteStream): void;
  /** There is no response, and no byte of one was passed on. `text`: says more than the catalogue's. */
  failed(code: VisitorErrorCode, text?: string): void;
  /** The relay itself answers, and nothing was handed to a stream. */
  answered(answer: OwnAnswer): void;
  /** The response broke off. `reset`: only a reset tells the visitor. */
  brokeOff(reset: boolean): void;
}

/** Who opens a stream to where a request goes. */
export interface OriginHandler extends DialHandler {
  /** The relay itself answers: nothing is handed to a stream. */
  answered(answer: OwnAnswer): void;
}

export interface ExchangeRequest {
  /** the head as the stream gets it */
  readonly head: Buffer;
  readonly body: BodyTracker;
  /** Whether it may be sent again over a new stream when a kept one turns out to have ended. */
  readonly repeatable: boolean;
  readonly open: (handler: OriginHandler) => Dial;
  /** Told once, when the head has been handed to a stream. */
  readonly onHanded: () => void;
}

export class Exchange implements OriginHandler, StreamHandler {
  readonly #request: ExchangeRequest;
  readonly #response: ResponseRelay;
  readonly #owner: ExchangeOwner;
  #dial: Dial | undefined;
  #stream: ByteStream | undefined;
  /** When the end of the stream, without a byte of a response, is reason to send the request again over another one. */
  #repeatsWhen: 'ended' | 'lost' | 'never' = 'never';
  #repeated = false;
  #handed = false;
  #responded = false;
  #over = false;

  constructor(request: ExchangeRequest, response: ResponseRelay, owner: ExchangeOwner) {
    this.#request = request;
    this.#response = response;
    this.#owner = owner;
  }

  /** @param kept a stream left open by the request before, to the same target */
  start(kept: ByteStream | undefined): void {
    if (kept === undefined) return this.#open();
    this.#use(kept, 'ended');
  }

  get stream(): ByteStream | undefined {
    return this.#stream;
  }

  /** Whether the visitor has been sent a final response head. */
  get committed(): boolean {
    return this.#response.committed;
  }

  /** Whether the visitor's connection ends with the response. */
  get closes(): boolean {
    return this.#response.closes;
  }

  /** Lets the visitor's connection end with the response, if that can still be said. */
  closeAfter(): void {
    this.#response.closeAfter();
  }

  /** Whether the request has come to its end. */
  get requestDone(): boolean {
    return this.#request.body.done;
  }

  /** Whether bytes of the request's body can be taken now. */
  get takesBody(): boolean {
    return this.#stream !== undefined && !this.#request.body.done;
  }

  /**
   * Passes on what belongs to the request's body.
   *
   * @returns the bytes behind the body
   * @throws BodyError when the body breaks its own framing
   */
  take(bytes: Buffer): Buffer | undefined {
    const { body } = this.#request;
    const end = body.advance(bytes, 0);
    if (this.#stream?.write(bytes.subarray(0, end)) === false) this.#owner.blocked(true);
    if (body.done && this.#responded) this.#complete();
    return end < bytes.length ? bytes.subarray(end) : undefined;
  }

  /** The visitor is gone or broke its request: nothing of the exchange goes on. */
  abort(): void {
    this.#over = true;
    this.#dial?.cancel();
    this.#stream?.abort();
  }

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
    const room = stream.write(this.#request.head);
    stream.attach(this);
    if (this.#over) return;
    if (!room) this.#owner.blocked(true);
    if (!this.#request.body.done) this.#owner.ready();
  }

  failed(fault: DialFault, text?: string): void {
    this.#fail(fault, text);
  }

  answered(answer: OwnAnswer): void {
    this.#over = true;
    this.#owner.answered(answer);
  }

  onDrain(): void {
    this.#owner.blocked(false);
  }

  onData(piece: Buffer): void {
    const stream = this.#stream;
    if (this.#over || stream === undefined) return;
    if (this.#responded) return this.#response.spoil();
    switch (this.#response.push(piece)) {
      case 'more':
        return;
      case 'done':
        return this.#respond();
      case 'switched':
        this.#over = true;
        return this.#owner.switched(stream);
      case 'no-head':
        stream.abort();
        return this.#fail('client-closed');
      case 'broken':
        stream.abort();
        return this.#breakOff();
    }
  }

  onClose(clean: boolean, lost = false): void {
    if (this.#over) return;
    this.#stream = undefined;
    if (this.#responded) {
      this.#over = true;
      this.#owner.answeredEarly();
    } else if (this.#response.completedByEnd(clean)) {
      this.#respond();
    } else if (this.#response.committed) {
      this.#breakOff();
    } else if (this.#canRepeat(lost)) {
      this.#repeated = true;
      this.#open();
    } else {
      this.#fail('client-closed');
    }
  }

  /**
   * Whether the other side let an idle connection go at the moment it was used again, or went down with one that was
   * warm. What brings a client down is not sent to it for ever.
   */
  #canRepeat(lost: boolean): boolean {
    if (!this.#request.repeatable || this.#response.started) return false;
    return this.#repeatsWhen === 'ended' || (this.#repeatsWhen === 'lost' && lost);
  }

  #respond(): void {
    this.#responded = true;
    if (this.#request.body.done) return this.#complete();
    if (this.#stream !== undefined) return;
    this.#over = true;
    this.#owner.answeredEarly();
  }

  #complete(): void {
    this.#over = true;
    const stream = this.#stream;
    if (stream !== undefined && !this.#response.reusable) stream.finish();
    this.#owner.complete(this.#response.reusable ? stream : undefined);
  }

  #fail(code: VisitorErrorCode, text?: string): void {
    this.#over = true;
    this.#owner.failed(code, text);
  }

  #breakOff(): void {
    this.#over = true;
    this.#owner.brokeOff(this.#response.endsWithConnection);
  }
}
