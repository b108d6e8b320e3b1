/**
 * A visitor's connection to a TLS or TCP tunnel (protocol.md section 17): bytes pass unread in both directions, and so do
 * half-closes. Silence ends nothing, and neither does a visitor who reads nothing: nothing more is then read from the client.
 * Only bytes that nobody takes do not wait indefinitely once the service has ended.
 */
import type { Socket } from 'node:net';
import type { VisitorErrorCode } from '../../shared/errors.ts';
import { joined } from '../../shared/http1/fields.ts';
import { ScheduledReads } from '../../shared/scheduler/fair-reads.ts';
import { refusals, type RequestCounts, requests } from '../observe/counters.ts';
import type { AccessLog } from '../observe/logger.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream, Dial, Dialer, DialFault, DialHandler, StreamHandler } from '../tunnels/stream.ts';
import { type Onward, passOn } from './onward.ts';
import type { Peer } from './request-head.ts';
import { SocketConnection } from './visitor-connection.ts';
import type { AddressCount, LimitedConnection, Slot, SlotHolder } from './connection-limiter.ts';
import { ENDED_STALL_MS, LINGER_TIMEOUT_MS, RESET_LOOK_MS } from './timeouts.ts';
import { BACKLOG_MAX_BYTES } from './visitor-socket.ts';

/** A fatal alert for a visitor of a TLS tunnel that is refused (RFC 8446 section 6), by its description. */
const ALERTS = { accessDenied: 49, internalError: 80 } as const;

const NOTHING = Buffer.alloc(0);

interface RawConnectionOptions {
  readonly tunnel: LiveTunnel;
  /** the visitor's IP address */
  readonly address: string;
  /** as in {@link Dialer.dial} */
  readonly peers: string;
  readonly dialer: Pick<Dialer, 'dial'>;
  /** called once, when the connection is closed */
  readonly gone: (connection: RawConnection) => void;
  /** monotonic ms */
  readonly now: () => number;
  readonly accessLog: AccessLog | undefined;
}

export class RawConnection implements SlotHolder, LimitedConnection, DialHandler, StreamHandler {
  /** No request follows, so it gives way to no other connection. */
  readonly isWaiting = false;
  readonly #socket: Socket;
  readonly #o: RawConnectionOptions;
  readonly #begunAt: number;
  readonly #reads: ScheduledReads;
  #slot: Slot | undefined;
  #count: AddressCount | undefined;
  #dial: Dial | undefined;
  #stream: ByteStream | undefined;
  /** bytes that wait for the stream */
  #input: Buffer | undefined;
  #inputEnded = false;
  #outputEnded = false;
  /** Whether bytes wait for the visitor. */
  #isFull = false;
  /** Whether nothing has passed on the stream, which may then be replaced if it was lost unnoticed. */
  #isUntouched = false;
  #redials = true;
  /** Whether another relay serves the visitor. */
  #isPassed = false;
  #taken = 0;
  /** when a reset is next looked for, monotonic ms */
  #lookAt: number;
  #outcome: keyof RequestCounts | undefined;
  #error: VisitorErrorCode | undefined;

  /** @param socket with half-open connections allowed */
  constructor(socket: Socket, options: RawConnectionOptions) {
    this.#socket = socket;
    this.#o = options;
    this.#begunAt = options.now();
    this.#lookAt = this.#begunAt + RESET_LOOK_MS;
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#closed());
    socket.on('timeout', () => this.#onStalled());
    this.#reads = new ScheduledReads(socket, () => options.tunnel, {
      onChunk: (chunk) => this.#onInput(chunk),
      onEnd: () => this.#onInputEnd(),
    });
    socket.resume();
  }

  /** Whether it has a stream to the client, or no longer needs one. */
  get isSettled(): boolean {
    return this.#dial === undefined;
  }

  /** Admits the visitor, or refuses it. */
  begin(slot: Slot, count: AddressCount): void {
    this.#slot = slot;
    this.#count = count;
    const { tunnel } = this.#o;
    const barred = this.#barredBy;
    if (barred !== undefined) return this.#refuse(barred);
    if (count.begin() !== undefined) return this.#refuse('too-many');
    if (slot.take(tunnel.account.id) !== undefined) return this.#refuse('relay-busy');
    this.#open();
  }

  /** Another relay serves now: a visitor who has no stream yet gets one there. */
  leave(onward: Onward, peer: Peer): void {
    if (this.#stream !== undefined || this.#outcome !== undefined || this.#isPassed) return;
    this.#dial?.cancel();
    this.#dial = undefined;
    this.#isPassed = true;
    this.#leave();
    this.#reads.stop();
    const rest = { bytes: this.#input ?? Buffer.alloc(0), hasEnded: this.#inputEnded };
    const { tunnel, peers } = this.#o;
    const raw = { tunnelId: tunnel.id, peers };
    void passOn({ socket: new SocketConnection(this.#socket), ...rest }, { ...peer, raw }, onward, () => {});
  }

  /** The access policy or a suspension has changed. */
  review(tunnel: LiveTunnel): void {
    if (tunnel !== this.#o.tunnel || this.#outcome === 'refused' || this.#barredBy === undefined) return;
    this.#outcome = 'broken';
    this.#socket.resetAndDestroy();
  }

  /**
   * Notices a visitor that is gone although nothing is read from it, because it has half-closed or the stream has no room:
   * only a write fails then, even one of nothing.
   */
  tick(now: number): void {
    if (now < this.#lookAt) return;
    this.#lookAt = now + RESET_LOOK_MS;
    const isRead = !this.#inputEnded && !this.#reads.isPaused;
    if (!isRead && !this.#isPassed && this.#socket.writable) this.#socket.write(NOTHING);
  }

  /** It is never idle. */
  giveWay(): void {}

  destroy(): void {
    this.#socket.destroy();
  }

  get #barredBy(): 'suspended' | 'access-address' | undefined {
    const { tunnel, address } = this.#o;
    if (tunnel.isSuspended) return 'suspended';
    return tunnel.access?.allows(address) === false ? 'access-address' : undefined;
  }

  #open(): void {
    const { dialer, tunnel, peers } = this.#o;
    this.#dial = dialer.dial(tunnel, this, peers);
  }

  // For its stream

  opened(stream: ByteStream, wasWarm = false): void {
    this.#dial = undefined;
    if (this.#redials) this.#o.tunnel.countRequest();
    this.#redials &&= wasWarm;
    this.#isUntouched = true;
    this.#stream = stream;
    stream.attach(this);
    if (this.#stream !== stream) return;
    const input = this.#input;
    this.#input = undefined;
    const hasRoom = input === undefined || this.#send(stream, input);
    if (this.#inputEnded) stream.end?.();
    else if (hasRoom) this.#reads.resume();
  }

  failed(fault: DialFault): void {
    this.#dial = undefined;
    this.#refuse(fault);
  }

  onBytes(piece: Buffer): void {
    this.#isUntouched = false;
    this.#socket.write(piece, this.#onSent);
    if (this.#socket.writableLength === 0) return;
    this.#isFull = true;
    this.#stream?.pause();
  }

  onRoom(): void {
    this.#reads.resume();
  }

  onSentAll(): void {
    this.#isUntouched = false;
    this.#end();
  }

  onEnded(clean: boolean, lost = false): void {
    this.#stream = undefined;
    if (lost && this.#redials && this.#isUntouched) {
      this.#redials = false;
      return this.#open();
    }
    this.#outcome ??= clean ? 'answered' : 'broken';
    // A reset, because a connection that merely ends looks complete.
    if (!clean) return void this.#socket.resetAndDestroy();
    this.#finish();
  }

  #send(stream: ByteStream, chunk: Buffer): boolean {
    this.#isUntouched = false;
    return stream.write(chunk);
  }

  // For its socket

  #onInput(chunk: Buffer): void {
    this.#taken += chunk.length;
    const stream = this.#stream;
    if (stream !== undefined) {
      if (!this.#send(stream, chunk)) this.#reads.pause();
    } else if (this.#outcome === undefined) {
      this.#input = this.#input === undefined ? chunk : joined(this.#input, chunk);
      if (this.#input.length >= BACKLOG_MAX_BYTES) this.#reads.pause();
    }
  }

  #onInputEnd(): void {
    this.#inputEnded = true;
    this.#stream?.end?.();
  }

  readonly #onSent = (): void => {
    if (!this.#isFull || this.#socket.writableLength > 0 || this.#socket.destroyed) return;
    this.#isFull = false;
    this.#stream?.resume();
  };

  #closed(): void {
    this.#reads.flush();
    this.#dial?.cancel();
    this.#dial = undefined;
    if (this.#isPassed) return this.#o.gone(this);
    const hasEnded = this.#inputEnded && this.#outputEnded && this.#socket.errored === null;
    this.#outcome ??= hasEnded ? 'answered' : 'abandoned';
    if (hasEnded) this.#stream?.finish();
    else this.#stream?.abort();
    this.#stream = undefined;
    this.#leave();
    this.#record();
    // A closed socket is garbage-collected late, and would keep alive everything that listens to it.
    this.#socket.removeAllListeners();
    this.#socket.on('error', ignoreError);
    this.#o.gone(this);
  }

  // Endings

  /** The visitor gets an alert, if it expects TLS, and an orderly end of its connection. */
  #refuse(code: VisitorErrorCode): void {
    this.#outcome = 'refused';
    this.#error = code;
    refusals[code] += 1;
    this.#slot?.stand();
    const alert = code === 'access-address' ? ALERTS.accessDenied : ALERTS.internalError;
    if (this.#o.tunnel.protocol === 'tls') this.#socket.write(Buffer.of(21, 3, 3, 0, 2, 2, alert));
    this.#finish();
  }

  /** Ends the connection after what was sent. What still arrives is thrown away: unread, it would reset the connection. */
  #finish(): void {
    const socket = this.#socket;
    this.#input = undefined;
    this.#end(() => setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref());
    this.#reads.resume();
  }

  /** Half-closes after what was sent. */
  #end(onFlushed?: () => void): void {
    this.#outputEnded = true;
    this.#socket.setTimeout(ENDED_STALL_MS);
    this.#socket.end(onFlushed);
  }

  /** Nothing has passed for long since the service ended. A visitor that is gone may not be seen: nothing is written or read. */
  #onStalled(): void {
    if (this.#socket.writableLength === 0 && !this.#reads.isPaused) return;
    this.#outcome = 'broken';
    this.#socket.resetAndDestroy();
  }

  #leave(): void {
    this.#slot?.leave();
    this.#count?.leave();
  }

  #record(): void {
    const { tunnel, address, accessLog, now } = this.#o;
    const outcome = this.#outcome ?? 'abandoned';
    requests.tunnel[outcome] += 1;
    accessLog?.({
      address,
      protocol: tunnel.protocol,
      outcome,
      error: this.#error,
      bytes_in: this.#taken,
      bytes_out: this.#socket.bytesWritten,
      ms: Math.round(now() - this.#begunAt),
      tunnel: tunnel.id,
      slug: tunnel.slug,
      account: tunnel.account.id,
    });
  }
}

function ignoreError(): void {}
