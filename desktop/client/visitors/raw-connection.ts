import { CloseCode } from '../../../shared/control.ts';
import { type ByteStreamHandler, isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import type { Expiring } from '../clock.ts';
import type { DataHandler, DataSocket } from '../data/data-dialer.ts';
import type { RawEnd, RawRecording, Recorder } from '../data/stream-filter.ts';
import type { LocalDialHandler } from '../local/local-dialer.ts';
import type { LocalConnection, LocalHandler, RawMode } from '../local/local-service.ts';
import { describeEndpoint, parsePeers, type Peers, proxyHeader } from '../local/proxy-header.ts';
import type { Attempt } from '../network/dial.ts';
import type { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import {
  LOCAL_BLOCKED_LOOK_MS,
  LOCAL_BLOCKED_MS,
  type Visitor,
  type VisitorContext,
} from './visitor-connection.ts';

/** How long a local service has to take what is left, and to end its side, once the visitor accepts nothing more. */
const RAW_LINGER_MS = 10_000;

/** Shared by the visitors of a TLS or TCP tunnel. */
export interface RawContext extends Omit<VisitorContext, 'pool' | 'filters' | 'inspect' | 'onLocalReset'> {
  readonly mode: RawMode;
  readonly recorder: Pick<Recorder, 'openRaw'> | undefined;
}

/**
 * One connection of a TLS or TCP tunnel, passed on as bytes from its announcement to its end. Neither side waits for the
 * other: the local service may speak first, and each direction ends for itself.
 * Backpressure works as for a visitor of HTTP.
 */
export class RawConnection
  implements Visitor, DataHandler, LocalDialHandler, ByteStreamHandler, LocalHandler, Expiring
{
  readonly #context: RawContext;
  #peers: Peers | undefined;
  #opening: Attempt | undefined;
  #dialing: Attempt | undefined;
  #stream: DataSocket | undefined;
  #local: LocalConnection | undefined;
  #refusal: Error | undefined;
  #recording: RawRecording | undefined;
  /** received before the local connection existed */
  #held: Buffer[] = [];
  #visitorEnded = false;
  #serviceEnded = false;
  /** whether nothing passes any longer; the local connection may still be closing */
  #isOver = false;

  constructor(context: RawContext) {
    this.#context = context;
  }

  announced(open: (handler: DataHandler) => Attempt, peers?: string): void {
    this.#begin(peers);
    this.#opening = open(this);
  }

  arrived(stream: DataSocket, first: Buffer): void {
    this.#begin(stream.peers);
    this.opened(stream);
    if (first.length > 0) this.onStreamData(first);
  }

  cancel(): void {
    this.#opening?.cancel();
    this.#dialing?.cancel();
    this.#stream?.destroy();
    this.#over('cut');
    this.#local?.destroy(true);
    this.#end();
  }

  /** It may be silent for as long as it likes. */
  looksSlow(): boolean {
    return false;
  }

  #begin(peers: string | undefined): void {
    const { local, recorder, mode } = this.#context;
    this.#peers = parsePeers(peers);
    this.#recording = recorder?.openRaw(mode.protocol, this.#peers && describeEndpoint(this.#peers.visitor));
    this.#dialing = local.connect(this);
  }

  // The data socket

  opened(stream: DataSocket): void {
    this.#opening = undefined;
    this.#stream = stream;
    // The visitor's end may be among what has arrived, and a service that has it looks like one that has closed.
    this.#join();
    stream.attach(this);
    if (this.#refusal !== undefined) this.#breakOff();
  }

  failed(error: RelayRefusal | RelayUnreachable): void {
    this.#dialing?.cancel();
    this.#context.onDataFailed(error);
    this.#over('visitor-reset');
    this.#local?.destroy(true);
    this.#end();
  }

  onStreamData(piece: Buffer): void {
    if (this.#isOver) return;
    this.#recording?.toLocal(piece.length);
    if (this.#local === undefined) {
      this.#held.push(piece);
      this.#stream?.pause();
    } else if (!this.#local.write(piece)) {
      this.#stream?.pause();
      this.#context.deadlines.add(this, LOCAL_BLOCKED_MS);
    }
  }

  onStreamDrain(): void {
    this.#local?.resume();
  }

  onStreamEnd(): void {
    this.#visitorEnded = true;
    this.#local?.end();
    if (this.#serviceEnded) this.#finish();
  }

  onStreamClose(code: number): void {
    if (this.#isOver) return;
    const isClean = isCleanClose(code);
    this.#dialing?.cancel();
    const isVisitor = code === CloseCode.goingAway || code === CloseCode.internalError;
    this.#over(isClean ? 'done' : isVisitor ? 'visitor-reset' : 'cut');
    if (this.#local === undefined) this.#end();
    else if (isClean) this.#linger(this.#local);
    else this.#local.destroy(true);
  }

  // The local service

  connected(local: LocalConnection): void {
    this.#dialing = undefined;
    this.#local = local;
    this.#recording?.connected();
    if (this.#context.mode.proxyProtocol) local.write(proxyHeader(this.#peers));
    this.#join();
  }

  refused(error: Error): void {
    this.#dialing = undefined;
    this.#refusal = error;
    this.#context.onLocalRefused(error);
    this.#over('refused');
    if (this.#stream !== undefined) this.#breakOff();
  }

  onLocalData(chunk: Buffer): void {
    if (this.#isOver) return;
    // Before it is written: a data socket masks bytes in place.
    this.#recording?.toVisitor(chunk.length);
    if (this.#stream?.write(chunk) === false) this.#local?.pause();
  }

  onLocalDrain(): void {
    if (this.#isOver) return;
    this.#context.deadlines.delete(this);
    this.#stream?.resume();
  }

  onLocalEnd(): void {
    this.#serviceEnded = true;
    if (this.#isOver) return;
    if (this.#visitorEnded) this.#finish();
    else this.#stream?.end();
  }

  onLocalClose(): void {
    if (!this.#isOver) {
      this.#over('service-reset');
      this.#stream?.close(CloseCode.internalError);
    }
    this.#context.deadlines.delete(this);
    this.#end();
  }

  /** The service has had no room for a long time, or has not ended its side. */
  expire(): void {
    if (this.#isOver) return this.#local?.destroy(true);
    this.#context.deadlines.add(this, LOCAL_BLOCKED_LOOK_MS);
    this.#stream?.lookForEnd();
  }

  /** Both ends exist: bytes pass from now on. */
  #join(): void {
    const [local, stream] = [this.#local, this.#stream];
    if (local === undefined || stream === undefined) return;
    if (!local.isOpen) {
      this.onLocalClose();
      return local.destroy(true);
    }
    local.attach(this);
    const held = this.#held;
    this.#held = [];
    const rooms = held.map((piece) => local.write(piece));
    if (this.#visitorEnded) local.end();
    if (rooms.includes(false)) this.#context.deadlines.add(this, LOCAL_BLOCKED_MS);
    else if (held.length > 0) stream.resume();
  }

  /** Both directions have ended. */
  #finish(): void {
    this.#over('done');
    this.#stream?.close(CloseCode.normal);
    if (this.#local !== undefined) this.#linger(this.#local);
  }

  #linger(local: LocalConnection): void {
    local.end();
    // Discards what the service still sends; unread data would hide the end of the connection.
    local.resume();
    this.#context.deadlines.add(this, RAW_LINGER_MS);
  }

  /** There is no local service. The visitor's connection is reset. */
  #breakOff(): void {
    this.#stream?.close(CloseCode.internalError);
    this.#end();
  }

  #over(how: RawEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#recording?.ended(how);
  }

  #end(): void {
    this.#context.onEnd(this);
  }
}
