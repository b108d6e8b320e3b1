/**
 * The seam between visitors and tunnel clients: the edge asks for a byte stream to a tunnel and knows nothing of
 * sockets; the link offers streams and knows nothing of HTTP.
 */
import type { VisitorErrorCode } from '../../shared/errors.ts';
import type { LiveTunnel } from './live-tunnel.ts';

export interface StreamHandler {
  /** It only keeps the stream for later; nothing is under way on it. */
  readonly rests?: true;
  onBytes(piece: Buffer): void;
  /** After a `write` that returned `false`: there is room again. */
  onRoom(): void;
  /** The other side ended the stream, once. `clean`: it had sent everything. `lost`: it broke off without a word. */
  onEnded(clean: boolean, lost?: boolean): void;
  /** The stream must serve nothing more than it does now. Called at once for a handler that comes later. */
  onRetired?(): void;
}

/** A byte stream to whatever serves one inbound connection. */
export interface ByteStream {
  /** Starts the flow, or hands it to another handler. */
  attach(handler: StreamHandler): void;
  /** Takes bytes, which belong to the stream from then on; `false`: wait for `onRoom`. */
  write(chunk: Buffer): boolean;
  pause(): void;
  resume(): void;
  /** Ends the stream after what was written. The handler is not called any more. */
  finish(): void;
  /** Ends the stream because the visitor is gone or broke its request. The handler is not called any more. */
  abort(): void;
}

/** Why there is no stream to a tunnel; each is an entry of `VISITOR_ERRORS`. */
export type DialFault = Extract<
  VisitorErrorCode,
  'tunnel-unknown' | 'tunnel-busy' | 'plan-limit' | 'tunnel-offline' | 'domain-offline' | 'client-timeout'
>;

export interface DialHandler {
  /** @param wasWarm it was open before it was needed, and may have been lost without anybody noticing yet */
  opened(stream: ByteStream, wasWarm?: boolean): void;
  /** @param text says more than the catalogue's text */
  failed(fault: DialFault, text?: string): void;
}

/** A stream on its way. After `cancel` the handler is not called any more. */
export interface Dial {
  cancel(): void;
}

/** Opens streams to tunnels. The handler is never called before `dial` has returned. */
export interface Dialer {
  dial(tunnel: LiveTunnel, handler: DialHandler): Dial;
}
