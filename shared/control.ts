/** The control channel: its messages, timing and close codes (docs/protocol.md sections 5 and 7). */

/** Announces a pending inbound connection; `id` opens its data WebSocket within {@link PENDING_TIMEOUT_MS}. */
export interface ConnectionMessage {
  readonly type: 'connection';
  readonly id: string;
}

/**
 * The relay is shutting down, and other relays accept the tunnel's client: it should open another control WebSocket, and
 * keep this one, which works as before, until the other is open. Sent only on a socket that was opened with `events=1`
 * (docs/protocol.md section 5.1).
 */
export interface DrainMessage {
  readonly type: 'drain';
}

export type ControlMessage = ConnectionMessage | DrainMessage;

/** ms a client has from the `connection` message to its data WebSocket. */
export const PENDING_TIMEOUT_MS = 10_000;
/** ms between two WebSocket pings of the relay. */
export const PING_INTERVAL_MS = 30_000;
/** ms after a ping without a pong after which a control connection is dead. */
export const PONG_TIMEOUT_MS = 60_000;
/** Bytes of the largest message on a control socket, in either direction. */
export const CONTROL_MESSAGE_MAX_BYTES = 4096;
/**
 * Frames of one message on a control socket, in either direction: nobody needs more than one, and each is kept until the
 * last one comes.
 */
export const CONTROL_FRAGMENTS_MAX = 64;
/** Pieces in which one frame may arrive on a control socket, for the same reason. A ping byte by byte has 131. */
export const CONTROL_PIECES_MAX = 256;

/** WebSocket close codes of the relay: RFC 6455 section 7.4.1 below 4000, Culvert's own from there. */
export const CloseCode = {
  normal: 1000,
  /** The relay is shutting down or the endpoint goes away: reconnect at once, with jitter. */
  goingAway: 1001,
  protocolError: 1002,
  unsupportedData: 1003,
  /** A Close frame without a code, as the receiver reports it; never sent. */
  noStatus: 1005,
  /** The connection ended without a Close frame; never sent. */
  abnormal: 1006,
  /** More pings, or smaller pieces, than anybody needs. */
  policyViolation: 1008,
  tooBig: 1009,
  internalError: 1011,
  replaced: 4000,
  tunnelClosed: 4001,
  tunnelExpired: 4002,
  keyRevoked: 4003,
} as const;

/** Whether a Close frame may carry the code (RFC 6455 section 7.4). */
export function isSendableCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code <= 4999);
}

/** Writes a `connection` message. */
export function connectionMessage(id: string): string {
  return JSON.stringify({ type: 'connection', id } satisfies ConnectionMessage);
}

/** Writes a `drain` message. */
export function drainMessage(): string {
  return JSON.stringify({ type: 'drain' } satisfies DrainMessage);
}

/**
 * Reads a message of the relay.
 *
 * @returns the message, or `undefined` for a type this client does not know, which it must ignore
 * @throws SyntaxError when the text is not JSON
 */
export function parseControlMessage(text: string): ControlMessage | undefined {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, id } = value as Partial<Record<string, unknown>>;
  if (type === 'drain') return { type };
  return type === 'connection' && typeof id === 'string' ? { type, id } : undefined;
}
