/** The control channel: its messages, timing and close codes (protocol.md sections 5 and 7). */
import { hasUnprintable } from './unprintable.ts';

/** Announces a pending inbound connection; `id` opens its data socket within {@link PENDING_TIMEOUT_MS}. */
export interface ConnectionMessage {
  readonly type: 'connection';
  readonly id: string;
  /** of a raw connection: the visitor's address and the one it has connected to, divided by a space */
  readonly peers?: string | undefined;
}

/**
 * The relay is shutting down, and other relays accept the tunnel's client. The client should open another control
 * WebSocket, and keep this one, which still works, until the other is open. Sent only on a socket that was opened with
 * `events=1` (protocol.md section 5.1).
 */
interface DrainMessage {
  readonly type: 'drain';
}

/**
 * A visitor requests approval, and waits for the owner's answer (protocol.md section 11). Sent only on a socket
 * that was opened with `events=1`.
 */
export interface KnockMessage {
  readonly type: 'knock';
  readonly id: string;
  /** the visitor's IP address */
  readonly address: string;
  /** the visitor's `User-Agent`; `''` without one */
  readonly agent: string;
  /** RFC 3339, UTC, milliseconds */
  readonly at: string;
  /** the agent that the visitor asks for, if it is for one */
  readonly client?: KnockClient | undefined;
}

/** The client of an agent that a visitor asks for. */
export interface KnockClient {
  /** what it calls itself */
  readonly name: string;
  /** of its id, or, for a client that registered, of where it returns to */
  readonly host: string;
  /** host that the browser returns to, or the scheme of an app */
  readonly returns_to: string;
}

/** Problems of a tunnel that the relay notices and its client does not. */
const RELAY_PROBLEMS = ['local-malformed', 'path-cookie'] as const;

type RelayProblemCode = (typeof RELAY_PROBLEMS)[number];

/** A visitor could not be served as the local service intended. Sent only on a socket that was opened with `events=1`. */
export interface ProblemMessage {
  readonly type: 'problem';
  readonly code: RelayProblemCode;
  /** for `local-malformed` the line that was refused, for `path-cookie` the name of the cookie; printable ASCII */
  readonly detail: string;
}

export type RelayProblem = Omit<ProblemMessage, 'type'>;

type ControlMessage = ConnectionMessage | DrainMessage | KnockMessage | ProblemMessage;

/** How long a tunnel's client, and then its owner, are not told about another problem of the same kind. */
export const PROBLEM_INTERVAL_MS = 1000;
/** Maximum length of the `detail` of a `problem` message; the rest is cut off. */
export const PROBLEM_DETAIL_MAX_LENGTH = 80;
/** Maximum length of the visitor's `User-Agent` in a `knock` message; the rest is cut off. */
export const KNOCK_AGENT_MAX_LENGTH = 256;

/**
 * How long a client has to open a data socket after the `connection` message.
 * @limit visitor: Wait for the client to accept a connection | 504 `client-timeout`
 */
export const PENDING_TIMEOUT_MS = 10_000;
/** Milliseconds between two WebSocket pings of the relay. */
export const PING_INTERVAL_MS = 30_000;
/** How long a ping may stay unanswered before the control socket is considered dead. */
export const PONG_TIMEOUT_MS = 60_000;
/** Maximum size of a message on the control socket, in either direction. */
export const CONTROL_MESSAGE_MAX_BYTES = 4096;
/** Maximum number of frames in one message of a client on its control socket. One is enough. */
export const CONTROL_FRAGMENTS_MAX = 64;
/** WebSocket close codes of the relay: RFC 6455 section 7.4.1 below 4000, Culvert's own from there. */
export const CloseCode = {
  normal: 1000,
  /** The relay is shutting down or the endpoint is going away: reconnect immediately, with jitter. */
  goingAway: 1001,
  protocolError: 1002,
  unsupportedData: 1003,
  /** The receiver got a Close frame without a code; never sent. */
  noStatus: 1005,
  /** The connection ended without a Close frame; never sent. */
  abnormal: 1006,
  /** More pings or fragments than any valid use needs. */
  policyViolation: 1008,
  tooBig: 1009,
  internalError: 1011,
  replaced: 4000,
  tunnelClosed: 4001,
  tunnelExpired: 4002,
  keyRevoked: 4003,
  /** The tunnel's domain no longer belongs to its account. */
  domainGone: 4004,
  /** The account is suspended; the reason of the Close frame is that of the suspension. */
  accountSuspended: 4005,
} as const;

/** Why a key is no longer valid: the reason of a Close frame with {@link CloseCode.keyRevoked}. */
export const KEY_ENDS = {
  revoked: 'key revoked',
  expired: 'key expired',
  removed: 'account removed',
} as const;

export type KeyEnd = keyof typeof KEY_ENDS;

/** Bytes of the longest reason of a Close frame (RFC 6455 section 5.5). */
const CLOSE_REASON_MAX_BYTES = 123;

/** @returns the start of a text that fits into a Close frame, in whole characters */
export function closeReason(text: string): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += new TextEncoder().encode(character).length;
    if (bytes > CLOSE_REASON_MAX_BYTES) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Whether a Close frame may carry the code (RFC 6455 section 7.4). */
export function isSendableCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code <= 4999);
}

/**
 * Writes a `connection` message.
 *
 * @param peers as in {@link ConnectionMessage}
 */
export function connectionMessage(id: string, peers?: string): string {
  return JSON.stringify({ type: 'connection', id, peers } satisfies ConnectionMessage);
}

/** Writes a `drain` message. */
export function drainMessage(): string {
  return JSON.stringify({ type: 'drain' } satisfies DrainMessage);
}

/** Writes a `knock` message. */
export function knockMessage({ id, address, agent, at, client }: Omit<KnockMessage, 'type'>): string {
  return JSON.stringify({ type: 'knock', id, address, agent, at, client } satisfies KnockMessage);
}

/** Writes a `problem` message. */
export function problemMessage({ code, detail }: RelayProblem): string {
  return JSON.stringify({ type: 'problem', code, detail } satisfies ProblemMessage);
}

/**
 * Text from a local service or a visitor, as the `detail` of a `problem` message.
 *
 * @param bytes its start is enough
 */
export function problemDetail(bytes: Buffer): string {
  let detail = '';
  for (const byte of bytes.subarray(0, PROBLEM_DETAIL_MAX_LENGTH)) {
    const isPrintable = byte >= 0x20 && byte < 0x7f;
    const next = isPrintable ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
    if (detail.length + next.length > PROBLEM_DETAIL_MAX_LENGTH) break;
    detail += next;
  }
  return detail;
}

/** The form of a tunnel's or pending connection's id (RFC 9562 section 4). */
export const UUID_PATTERN = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Parses a message of the relay. Every field of the result is validated according to protocol.md section 5,
 * because ids become parts of addresses.
 *
 * @returns the message, or `undefined` for one that this client must ignore: its type is unknown, or a field is
 *   malformed
 * @throws SyntaxError when the text is not JSON
 */
export function parseControlMessage(text: string): ControlMessage | undefined {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, id, ...rest } = value as Partial<Record<string, unknown>>;
  if (type === 'drain') return { type };
  if (type === 'problem') return readProblem(rest);
  if (typeof id !== 'string') return undefined;
  if (type === 'knock') return readKnock(id, rest);
  return type === 'connection' && UUID_PATTERN.test(id) ? { type, id, ...readPeers(rest) } : undefined;
}

/** What else it says of a raw connection is passed over if it is malformed: the connection can be served without. */
function readPeers({ peers }: Partial<Record<string, unknown>>): { readonly peers?: string } {
  return typeof peers === 'string' && peers.length <= PEERS_MAX_LENGTH ? { peers } : {};
}

/** Two IPv6 addresses with ports need 95 characters. */
export const PEERS_MAX_LENGTH = 128;

function readProblem({ code, detail }: Partial<Record<string, unknown>>): ProblemMessage | undefined {
  const known = RELAY_PROBLEMS.find((one) => one === code);
  if (known === undefined || typeof detail !== 'string' || !PROBLEM_DETAIL.test(detail)) return undefined;
  return { type: 'problem', code: known, detail };
}

const PROBLEM_DETAIL = /^[ -~]{0,80}$/;
const KNOCK_ID = /^[\w-]{1,64}$/;
const ADDRESS = /^[\da-f.:]{2,45}$/i;
/** RFC 3339 in UTC. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/;

/** Users see parts of it, and answer it with one key: a malformed message is ignored. */
function readKnock(
  id: string,
  { address, agent, at, client }: Partial<Record<string, unknown>>,
): KnockMessage | undefined {
  const isKnock = KNOCK_ID.test(id) && typeof address === 'string' && ADDRESS.test(address);
  if (!isKnock || typeof agent !== 'string' || typeof at !== 'string') return undefined;
  if (!TIME.test(at) || Number.isNaN(Date.parse(at))) return undefined;
  const said = agent.slice(0, KNOCK_AGENT_MAX_LENGTH).toWellFormed();
  const knock = { type: 'knock', id, address, agent: said, at } as const;
  if (client === undefined) return knock;
  const known = readClient(client);
  // Without its client, it would look like the knock of a person.
  return known && { ...knock, client: known };
}

/** Maximum length of each text of a knock's `client`. */
const CLIENT_TEXT_MAX_LENGTH = 255;

function readClient(given: unknown): KnockClient | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { name, host, returns_to } = given as Partial<Record<string, unknown>>;
  if (!isShown(name) || !isShown(host) || !isShown(returns_to)) return undefined;
  return host === '' || returns_to === '' ? undefined : { name, host, returns_to };
}

function isShown(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length <= CLIENT_TEXT_MAX_LENGTH &&
    text.isWellFormed() &&
    !hasUnprintable(text)
  );
}
