/**
 * The interface between visitors and tunnel clients: the edge requests a byte stream to a tunnel and knows nothing of
 * sockets; the hub provides streams and knows nothing of HTTP.
 */
import type { VisitorErrorCode } from '../../shared/errors.ts';
import type { LiveTunnel } from './live-tunnel.ts';

/**
 * The close code of a stream that was lost with another relay on its way to the client, not with the client (RFC 6455
 * names 1014 a bad gateway).
 */
export const LOST_BEYOND = 1014;

export interface StreamHandler {
  /** The stream is only kept for later; nothing is in progress on it. */
  readonly rests?: true;
  onBytes(piece: Buffer): void;
  /** After a `write` that returned `false`: more bytes are accepted again. */
  onRoom(): void;
  /** The other side has sent everything, and still accepts bytes. For connections to TLS and TCP tunnels. */
  onSentAll?(): void;
  /**
   * The other side ended the stream, once. `clean`: it had sent everything. `lost`: it broke off without notice. `code`: of
   * its close, for a handler that passes it on.
   */
  onEnded(clean: boolean, lost?: boolean, code?: number): void;
  /** The stream must serve nothing after its current use. Called immediately for a handler that is attached later. */
  onRetired?(): void;
}

/** A byte stream to the upstream of one inbound connection. */
export interface ByteStream {
  /** Starts the flow, or hands it to another handler. */
  attach(handler: StreamHandler): void;
  /** Sends bytes, which belong to the stream from then on; `false`: wait for `onRoom`. */
  write(chunk: Buffer): boolean;
  pause(): void;
  resume(): void;
  /** Tells the other side, if it can be told, that no bytes follow. Only streams to tunnels have it. */
  end?(): void;
  /** Ends the stream after what was written. The handler is no longer called. */
  finish(): void;
  /**
   * Ends the stream because the visitor is gone or its request is malformed. The handler is no longer called.
   *
   * @param code why its relay ended it, for the client, if that is another relay
   */
  abort(code?: number): void;
}

/** Why there is no stream to a tunnel; each is an entry of `VISITOR_ERRORS`. */
export type DialFault = Extract<
  VisitorErrorCode,
  'tunnel-unknown' | 'tunnel-busy' | 'plan-limit' | 'tunnel-offline' | 'domain-offline' | 'client-timeout'
>;

export interface DialHandler {
  /** @param wasWarm it was opened in advance, and may have been lost unnoticed */
  opened(stream: ByteStream, wasWarm?: boolean): void;
  /** @param text replaces the catalogue's text */
  failed(fault: DialFault, text?: string): void;
}

/** A stream that is being opened. After `cancel` the handler is no longer called. */
export interface Dial {
  cancel(): void;
}

/** Opens streams to tunnels. The handler is never called before `dial` has returned. */
export interface Dialer {
  /**
   * @param peers of a connection to a TLS or TCP tunnel: the visitor's address and the one it has connected to, divided by a
   *   space
   */
  dial(tunnel: LiveTunnel, handler: DialHandler, peers?: string): Dial;
  /** Whether the tunnel has no client, here or at another relay; never rejects. */
  isAway(tunnel: LiveTunnel): boolean | Promise<boolean>;
}
