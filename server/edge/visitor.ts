/**
 * One inbound connection: reads request heads, has each request decided and exchanged, answers what the relay
 * answers itself, and ends well. The same connection may go from tunnel to tunnel and to the API.
 */
import type { Socket } from 'node:net';
import { ApiError, VISITOR_ERRORS, type VisitorErrorCode } from '../../shared/errors.ts';
import { BodyError } from '../../shared/http1/body.ts';
import { fieldValue } from '../../shared/http1/fields.ts';
import { HeadReader } from '../../shared/http1/head-reader.ts';
import { joined } from '../../shared/http1/joined.ts';
import { trackBody } from '../../shared/http1/track-body.ts';
import {
  BACKLOG_MAX_BYTES,
  BODY_TIMEOUT_MS,
  DRAIN_IDLE_MS,
  HEAD_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  LINGER_TIMEOUT_MS,
  REQUEST_HEAD_MAX_BYTES,
} from '../limits.ts';
import { countApiRefusal, type Outcomes, refusals, requests } from '../observe/counters.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import { AccessRecord, type Progress } from './access-record.ts';
import type { Admission } from './admission.ts';
import {
  answerContext,
  OWN_STATUS,
  ownAnswer,
  type OwnAnswer,
  refusalContext,
  upgradeRefusal,
  visitorAnswer,
} from './answers.ts';
import { Exchange, type ExchangeOwner } from './exchange.ts';
import { KeptStream } from './kept-stream.ts';
import type { Origins } from './origins.ts';
import { pipe } from './pipe.ts';
import type { Peer } from './request-head.ts';
import { oversizeFault, type Plan, planRequest } from './request-plan.ts';
import { interimsFor } from './interims.ts';
import { ResponseRelay } from './response-relay.ts';
import type { OwnRoute } from './route.ts';
import type { Occupant } from './seats.ts';
import { visitorAddress } from './visitor-address.ts';
import { VisitorSocket, type VisitorSocketHandler } from './visitor-socket.ts';

/**
 * `head`: between requests or inside a head. `exchange`: a request is under way. `upgrading`: an upgrade to one of the
 * relay's own sockets is being decided. `lingering`: answered for the last time, what still comes is thrown away.
 * `piped`: a WebSocket, out of this class's hands but for its end. `gone`: closed, or given away.
 */
type State = 'head' | 'exchange' | 'upgrading' | 'piped' | 'lingering' | 'gone';

/** What a connection asks of the edge that holds it. */
export interface VisitorOwner {
  /** Says of each of its requests whether it is let in. */
  enter(visitor: Visitor): Admission;
  /** Told once, when the connection is closed or given away. */
  gone(visitor: Visitor): void;
}

export class Visitor implements ExchangeOwner, Occupant, VisitorSocketHandler {
  readonly #socket: VisitorSocket;
  readonly #peer: Peer;
  readonly #origins: Origins;
  readonly #owner: VisitorOwner;
  readonly #admission: Admission;
  readonly #reader = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  #state: State = 'head';
  /** Bytes that have come and wait for their turn. */
  #input: Buffer | undefined;
  #processing = false;
  #inputEnded = false;
  #blocked = false;
  #draining = false;
  #plan: Plan | undefined;
  /** What the current request goes to: a tunnel, or the relay. */
  #target: object | undefined;
  /** Where it is counted how the current request ends. */
  #outcomes: Outcomes = requests.nowhere;
  #exchange: Exchange | undefined;
  #response: ResponseRelay | undefined;
  /** What the access log will say of the current request, if there is one. */
  #access: AccessRecord | undefined;
  readonly #kept = new KeptStream();
  /** Monotonic ms at which patience ends. */
  #deadline: number;

  constructor(socket: Socket, peer: Peer, origins: Origins, owner: VisitorOwner) {
    this.#socket = new VisitorSocket(socket, () => this.#target ?? peer.address, this);
    this.#peer = peer;
    this.#origins = origins;
    this.#owner = owner;
    this.#admission = owner.enter(this);
    this.#deadline = origins.now() + IDLE_TIMEOUT_MS;
  }

  /** Ends what has outstayed its time limit. To be called every {@link DEADLINE_TICK_MS}. */
  tick(now: number): void {
    if (now < this.#deadline) return;
    const waitsForRequest = (this.#state === 'head' && this.#reader.partial) || this.#state === 'exchange';
    const head = this.#state === 'head' ? this.#reader.text : undefined;
    if (waitsForRequest && this.#exchange?.committed !== true) this.#refuse('request-timeout', head);
    else if (this.#draining && this.#state === 'head') this.#endConnection();
    else this.#socket.destroy();
  }

  /**
   * The relay shuts down: the next answer that can say so is the connection's last. Where none is due, a request that is
   * on its way gets {@link DRAIN_IDLE_MS} to arrive.
   */
  drain(): void {
    this.#draining = true;
    this.#exchange?.closeAfter();
    if (this.#state === 'head' && !this.#reader.partial) this.#deadline = this.#origins.now() + DRAIN_IDLE_MS;
  }

  /** Whether no request of it waits for a stream or is still to come. */
  get isSettled(): boolean {
    if (this.#state === 'exchange') return this.#exchange?.stream !== undefined;
    return this.#state !== 'head';
  }

  /** Whoever is in the middle of a head is told why. */
  giveWay(): void {
    if (this.#state !== 'head') return;
    if (this.#reader.partial) this.#refuse('relay-busy', this.#reader.text);
    else this.#endConnection();
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#socket.destroy();
  }

  // Input

  onData(chunk: Buffer): void {
    if (this.#state === 'lingering') return;
    this.#input = this.#input === undefined ? chunk : joined(this.#input, chunk);
    this.#process();
  }

  /** Takes as much of the input as its state allows. */
  #process(): void {
    if (this.#processing) return;
    this.#processing = true;
    while (this.#input !== undefined && this.#takesInput()) {
      const bytes = this.#input;
      this.#input = undefined;
      if (this.#exchange === undefined) this.#readHead(bytes);
      else this.#readBody(this.#exchange, bytes);
    }
    this.#processing = false;
    if (this.#inputEnded && this.#input === undefined) this.#inputIsOver();
    this.#updateFlow();
  }

  /** The visitor has half-closed and everything it sent has been taken. */
  #inputIsOver(): void {
    if (this.#state === 'head') this.#endConnection();
    else if (this.#state === 'exchange' && this.#exchange?.requestDone === false) this.#socket.destroy();
  }

  #takesInput(): boolean {
    // A visitor that does not take its answers is not read on.
    if (this.#state === 'head') return !this.#socket.isFull;
    return this.#state === 'exchange' && this.#exchange?.takesBody === true && !this.#blocked;
  }

  #readHead(bytes: Buffer): void {
    if (!this.#reader.partial) this.#deadline = this.#origins.now() + HEAD_TIMEOUT_MS;
    const end = this.#reader.push(bytes);
    if (end === undefined) return;
    if (end === 'malformed') return this.#refuse('bad-request', this.#reader.text);
    if (end === 'too-large') return this.#refuse(oversizeFault(this.#reader.text), this.#reader.text);
    if (end.rest.length > 0) this.#input = end.rest;
    this.#deadline = Infinity;
    const plan = planRequest(end.head, this.#origins.context);
    if (typeof plan === 'string') this.#refuse(plan, end.head.toString('latin1'));
    else this.#startRequest(plan);
  }

  #readBody(exchange: Exchange, bytes: Buffer): void {
    try {
      this.#input = exchange.take(bytes);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      exchange.abort();
      if (exchange.committed) this.#socket.destroy();
      else this.#refuse('bad-request');
      return;
    }
    if (this.#exchange === exchange) this.#watchBody();
  }

  /** A request body may be silent for so long, unless it is the other side that does not take it. */
  #watchBody(): void {
    const waits = this.#exchange?.requestDone === false && !this.#blocked;
    this.#deadline = waits ? this.#origins.now() + BODY_TIMEOUT_MS : Infinity;
  }

  #updateFlow(): void {
    if (this.#state === 'piped' || this.#state === 'gone') return;
    const full = (this.#input?.length ?? 0) >= BACKLOG_MAX_BYTES;
    this.#socket.setPaused(this.#blocked || full);
  }

  // Requests

  #startRequest(plan: Plan): void {
    this.#plan = plan;
    if (this.#origins.accessLog !== undefined) this.#record(plan, plan.head.bytes.length);
    const { route } = plan;
    const notice = this.#origins.noticeFor(plan);
    const refusal = this.#admission.begin(plan, notice !== undefined);
    if (refusal?.ends === true) return this.#refuse(refusal.code);
    if (refusal !== undefined) return this.#answer(refusal.code, refusal.text);
    if (notice !== undefined) return this.answered(notice);
    if (route.kind === 'relay' && plan.upgrade && this.#origins.handlesUpgrade(route.target)) {
      this.#state = 'upgrading';
      this.#outcomes = requests.relay;
      void this.#upgrade(plan, route.target);
      return;
    }
    if (route.kind === 'refuse') return this.#answer(route.code);
    if (route.kind === 'options' || route.kind === 'redirect') return this.#answerItself(route);
    this.#state = 'exchange';
    const body = trackBody(plan.framing);
    const origin = this.#origins.request(plan, route, this.#peer);
    this.#target = origin.target;
    this.#outcomes = origin.outcomes;
    const response = new ResponseRelay(
      {
        method: plan.head.method,
        minor: plan.head.minor,
        interims: interimsFor(plan, this.#peer),
        upgrade: plan.upgrade,
        close: plan.close || this.#draining,
        heldBack: plan.expectsContinue ? body : undefined,
        ending: origin.ending,
        mapField: origin.mapField,
      },
      this.#send,
    );
    this.#response = response;
    this.#exchange = new Exchange({ ...origin, body }, response, this);
    this.#watchBody();
    this.#exchange.start(this.#kept.take(origin.target, origin.fresh));
  }

  async #upgrade(plan: Plan, target: string): Promise<void> {
    try {
      await this.#origins.upgrade({
        target,
        address: this.#origins.limitedAddress(plan.head, this.#peer),
        header: (name) => fieldValue(plan.head.fields, name),
        takeOver: () => this.#giveAway(),
      });
    } catch (error) {
      if (this.#state !== 'upgrading') return;
      const close = this.#draining || plan.close;
      const refusal = error instanceof ApiError ? error : this.#origins.unexpected(error);
      countApiRefusal(refusal);
      this.#socket.send(upgradeRefusal(refusal, { close }));
      this.#ended('refused', refusal.status);
      this.#nextRequest(close);
    }
  }

  #giveAway(): { socket: Socket; head: Buffer } | undefined {
    if (this.#state !== 'upgrading') return undefined;
    this.#ended('upgraded', 101);
    this.#leave();
    return { socket: this.#socket.release(), head: this.#takeInput() };
  }

  #takeInput(): Buffer {
    const input = this.#input ?? Buffer.alloc(0);
    this.#input = undefined;
    return input;
  }

  // What an exchange reports

  ready(): void {
    this.#process();
  }

  blocked(isBlocked: boolean): void {
    this.#blocked = isBlocked;
    if (this.#state === 'exchange') this.#watchBody();
    if (isBlocked) this.#updateFlow();
    else this.#process();
  }

  complete(stream: ByteStream | undefined): void {
    this.#ended('answered', this.#response?.status);
    const closes = this.#exchange?.closes === true;
    this.#exchange = undefined;
    if (stream !== undefined && this.#target !== undefined && !closes) {
      // The next request waits until the visitor has taken this response; nobody would resume the stream then.
      if (this.#socket.isFull) stream.resume();
      this.#kept.keep(this.#target, stream);
    } else stream?.finish();
    this.#nextRequest(closes);
  }

  answeredEarly(): void {
    this.#ended('answered', this.#response?.status);
    this.#exchange = undefined;
    this.#nextRequest(true);
  }

  switched(stream: ByteStream): void {
    this.#state = 'piped';
    this.#outcomes.upgraded += 1;
    this.#exchange = undefined;
    this.#deadline = Infinity;
    const socket = this.#socket.release();
    pipe(socket, stream, this.#target, () => this.#leave());
    const early = this.#takeInput();
    if (early.length > 0) socket.emit('data', early);
    if (this.#inputEnded) socket.emit('end');
  }

  failed(code: VisitorErrorCode, text?: string): void {
    this.#answer(code, text);
  }

  answered(answer: OwnAnswer): void {
    const close = this.#closesAfterAnswer;
    this.#exchange = undefined;
    this.#outcomes = requests.tunnel;
    this.#admission.refused();
    this.#socket.send(answer.bytes(close));
    if (answer.error !== undefined) this.#refused(answer.error);
    else this.#ended('answered', answer.status);
    this.#nextRequest(close);
  }

  brokeOff(reset: boolean): void {
    this.#ended('broken', this.#response?.status);
    this.#exchange = undefined;
    if (reset) this.#socket.reset();
    else this.#socket.destroy();
  }

  // Output

  readonly #send = (bytes: Buffer): void => {
    if (!this.#socket.send(bytes)) this.#exchange?.stream?.pause();
  };

  onDrain(): void {
    this.#exchange?.stream?.resume();
    this.#process();
  }

  /** Answers a well-formed request in place of its target. */
  #answer(code: VisitorErrorCode, text?: string): void {
    const close = this.#closesAfterAnswer;
    this.#exchange = undefined;
    this.#admission.refused();
    const { abuseContact } = this.#origins.context;
    this.#socket.send(visitorAnswer(code, answerContext(this.#plan, close), abuseContact, text));
    this.#refused(code);
    this.#nextRequest(close);
  }

  #answerItself(route: OwnRoute): void {
    const close = this.#closesAfterAnswer;
    this.#outcomes = requests.relay;
    this.#admission.refused();
    this.#socket.send(ownAnswer(route, close));
    this.#ended('answered', OWN_STATUS[route.kind]);
    this.#nextRequest(close);
  }

  /** Whether the connection ends with an answer of the relay's own: what is left of a body is not read. */
  get #closesAfterAnswer(): boolean {
    const plan = this.#plan;
    const bodyDone = plan?.framing.kind === 'none' || this.#exchange?.requestDone === true;
    return plan === undefined || plan.close || this.#draining || !bodyDone;
  }

  /**
   * Answers a request that may not be read on.
   *
   * @param head as much of the head as has come, where that is what is wrong
   */
  #refuse(code: VisitorErrorCode, head?: string): void {
    const context = head === undefined ? answerContext(this.#plan, true) : refusalContext(head);
    this.#exchange?.abort();
    this.#exchange = undefined;
    if (this.#plan === undefined && this.#origins.accessLog !== undefined)
      this.#record(undefined, head?.length ?? 0);
    this.#socket.send(visitorAnswer(code, context, this.#origins.context.abuseContact));
    this.#refused(code);
    this.#nextRequest(true);
  }

  #refused(code: VisitorErrorCode): void {
    refusals[code] += 1;
    this.#ended('refused', VISITOR_ERRORS[code].status, code);
  }

  /** The current request has ended, and what was to be sent has been. */
  #ended(outcome: keyof Outcomes, status?: number, error?: VisitorErrorCode): void {
    this.#outcomes[outcome] += 1;
    if (this.#access !== undefined) this.#tell(outcome, status, error);
  }

  // The access log, where there is one

  /** @param headLength bytes of the request that have been taken */
  #record(plan: Plan | undefined, headLength: number): void {
    const { accessLog, context } = this.#origins;
    const { now, taken, sent } = this.#progress;
    const address = visitorAddress(plan?.head.fields ?? [], this.#peer, context.trustedProxies);
    if (accessLog !== undefined)
      this.#access = new AccessRecord(accessLog, address, plan, { now, taken: taken - headLength, sent });
  }

  #tell(outcome: keyof Outcomes, status?: number, error?: VisitorErrorCode): void {
    this.#access?.end(outcome, this.#progress, status, error);
    this.#access = undefined;
  }

  get #progress(): Progress {
    const { bytesRead, bytesWritten } = this.#socket;
    const taken = bytesRead - (this.#input?.length ?? 0);
    return { now: this.#origins.now(), taken, sent: bytesWritten };
  }

  #nextRequest(close: boolean): void {
    this.#plan = undefined;
    this.#outcomes = requests.nowhere;
    this.#response = undefined;
    this.#blocked = false;
    if (close) return this.#endConnection();
    this.#admission.end();
    this.#state = 'head';
    this.#deadline = this.#origins.now() + (this.#draining ? DRAIN_IDLE_MS : IDLE_TIMEOUT_MS);
    this.#process();
  }

  // Endings

  /** Ends the connection behind what was written; what still comes is thrown away for a while. */
  #endConnection(): void {
    if (this.#state === 'gone' || this.#state === 'lingering') return;
    this.#state = 'lingering';
    this.#admission.end();
    this.#input = undefined;
    this.#kept.end();
    this.#blocked = false;
    this.#deadline = Infinity;
    this.#socket.end(() => {
      this.#deadline = this.#origins.now() + LINGER_TIMEOUT_MS;
    });
  }

  onEnd(): void {
    this.#inputEnded = true;
    // A visitor that only half-closed still gets its answer; probes find out about one that is gone.
    if (this.#state === 'exchange') this.#socket.probe();
    this.#process();
  }

  onClose(): void {
    if (this.#exchange !== undefined || this.#state === 'upgrading')
      this.#ended('abandoned', this.#response?.status);
    this.#exchange?.abort();
    this.#leave();
  }

  #leave(): void {
    // A WebSocket has ended: that it was opened is counted, and now how much it has carried is known.
    if (this.#access !== undefined) this.#tell('upgraded', 101);
    this.#state = 'gone';
    // A connection that is given away may have served visitors: a proxy that pools them uses it for whoever comes next.
    this.#kept.end();
    this.#exchange = undefined;
    this.#deadline = Infinity;
    this.#admission.leave();
    this.#owner.gone(this);
  }
}
