/** Messages between two relays: one JSON object a line, over a connection on this machine. */
import type { Socket } from 'node:net';
import type { TrafficDelta } from '../store/queries/tunnel-changes.ts';
import type { EndReason } from '../tunnels/lifecycle.ts';

/** How long two relays wait for each other at each step of a handoff. */
export const HANDOFF_STEP_MS = 10_000;
/**
 * How long the new relay may take to load its data during a handoff while the old one is still serving: the
 * database may be large.
 * @limit operator: Time for a new relay to load its data during an upgrade | the old relay continues to serve
 */
export const HANDOFF_READY_MS = 60_000;
/** Maximum size of a message between the two relays in a handoff: the clients of 100,000 tunnels. */
export const HANDOFF_LINE_MAX_BYTES = 16 * 1024 * 1024;
/** Maximum number of unread messages between the two relays in a handoff. */
export const SUCCESSION_WAITING_MAX = 64;

const LINE_FEED = 10;

/** Messages of one kind are sent, those of another are received. */
export class Conversation<Sent, Received> {
  readonly #socket: Socket;
  readonly #readMessage: (value: unknown) => Received | undefined;
  readonly #received: Received[] = [];
  #awaiting: ((message: Received | undefined) => void) | undefined;
  #listener: ((message: Received) => void) | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isOver = false;
  readonly #over = Promise.withResolvers<void>();

  /**
   * @param socket whose next unread byte begins a message
   * @param read validates received JSON; `undefined` for anything but a message, which ends the conversation
   */
  constructor(socket: Socket, read: (value: unknown) => Received | undefined) {
    this.#socket = socket;
    this.#readMessage = read;
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#end());
    socket.resume();
  }

  /** Fulfilled when it is over, ended by either side. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  send(message: Sent): void {
    if (!this.#isOver) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /**
   * The next message.
   *
   * @param ms how long to wait for it
   * @returns `undefined` if the other side has closed without one
   * @throws TimeoutError
   */
  async next(ms: number): Promise<Received | undefined> {
    const first = this.#received.shift();
    if (first !== undefined || this.#isOver) return first;
    const { promise, resolve, reject } = Promise.withResolvers<Received | undefined>();
    this.#awaiting = resolve;
    const timer = setTimeout(() => reject(new TimeoutError(ms)), ms);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#awaiting = undefined;
    }
  }

  /** From here on, all messages go to a listener. */
  listen(listener: (message: Received) => void): void {
    this.#listener = listener;
    for (const message of this.#received.splice(0)) listener(message);
  }

  /** Ends it after what was sent. */
  end(): void {
    this.#socket.end();
  }

  /** Ends it immediately. */
  destroy(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      const line = Buffer.concat([...this.#held, bytes.subarray(start, end)]);
      this.#held = [];
      this.#heldBytes = 0;
      start = end + 1;
      this.#hear(line.toString());
    }
    if (start === bytes.length) return;
    this.#held.push(bytes.subarray(start));
    this.#heldBytes += bytes.length - start;
    if (this.#heldBytes > HANDOFF_LINE_MAX_BYTES) this.#socket.destroy();
  }

  #hear(line: string): void {
    let message: Received | undefined;
    try {
      message = this.#readMessage(JSON.parse(line));
    } catch {
      // Treated like any invalid message.
    }
    // Few messages are unread at a time: each side sends one, and waits for the other.
    if (message === undefined || this.#received.length >= SUCCESSION_WAITING_MAX) {
      this.#socket.destroy();
      return;
    }
    const awaiting = this.#awaiting;
    this.#awaiting = undefined;
    if (this.#listener !== undefined) this.#listener(message);
    else if (awaiting !== undefined) awaiting(message);
    else this.#received.push(message);
  }

  #end(): void {
    this.#isOver = true;
    this.#awaiting?.(undefined);
    this.#over.resolve();
  }
}

/** The other side is connected but silent. */
export class TimeoutError extends Error {
  constructor(ms: number) {
    super(`it did not respond within ${ms / 1000} s`);
    this.name = 'TimeoutError';
  }
}

/* Messages between a relay and the one that replaces it (docs/decisions/0020-replacing-a-relay.md). */

/** Version of this conversation; a relay with another version is not replaced. */
export const SUCCESSION_VERSION = 1;

/** The first line of every connection to a relay's handoff socket: its purpose. */
export type Hello =
  /** A relay wants to replace this one. `address`: the listener's address in its settings. */
  | { readonly kind: 'replace'; readonly version: number; readonly address: string }
  /** The listeners of this relay shall be sent over this connection. */
  | { readonly kind: 'listeners' }
  /** A visitor of the previous relay: the bytes after the line are the visitor's. */
  | {
      readonly kind: 'visitor';
      readonly id: number;
      readonly address: string;
      readonly proto: 'http' | 'https';
      /** Whether its forwarded fields may be trusted, if the new relay trusts the address. */
      readonly trusted: boolean;
      /** of a connection to a TLS or TCP tunnel */
      readonly raw?: RawPlace;
    };

/** The tunnel of a connection that is passed on unread. */
export interface RawPlace {
  readonly tunnelId: string;
  /** the visitor's address and the one it has connected to, as clients learn them */
  readonly peers: string;
}

/** A tunnel whose client was recently connected. */
export interface MissedClient {
  readonly tunnelId: string;
  /** ms since it has left; 0 for one that is still connected to the previous relay */
  readonly awayMs: number;
}

/** Messages of the relay that is being replaced. */
export type PredecessorMessage =
  /** It agrees, and sends listeners with these names on request. */
  | { readonly kind: 'welcome'; readonly listeners: readonly string[] }
  /** It continues: the new relay must not serve. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Everything is stored, the database is unlocked, and no new requests are served until one of the two continues. */
  | { readonly kind: 'moved'; readonly clients: readonly MissedClient[] }
  /** The new relay may serve. */
  | { readonly kind: 'go' }
  /** It accepts no more connections. */
  | { readonly kind: 'left' }
  /** It has stored traffic of its remaining connections. */
  | { readonly kind: 'counted'; readonly deltas: readonly TrafficDelta[] };

/** Messages of the relay that replaces it. */
export type SuccessorMessage =
  /** Everything that could be loaded has been: the old relay shall release the database. */
  | { readonly kind: 'move' }
  /** It has the database and knows its tunnels. */
  | { readonly kind: 'ready' }
  /** It accepts connections, including those that the old relay passes on. */
  | { readonly kind: 'serving' }
  /** A tunnel has ended. */
  | { readonly kind: 'ended'; readonly tunnelId: string; readonly reason: EndReason }
  /** The access policy, links or approval requests of a tunnel have changed in the store. */
  | { readonly kind: 'access'; readonly tunnelId: string }
  /** A visitor that was passed on must be cut in a way that cannot be mistaken for a clean end. */
  | { readonly kind: 'reset'; readonly id: number };

/**
 * Reads the first line of a connection, as parsed JSON.
 *
 * @returns `undefined` for anything that a relay does not send
 */
export function readHello(value: unknown): Hello | undefined {
  const { kind, version, address, id, proto, trusted, raw } = fieldsOf(value);
  switch (kind) {
    case 'replace':
      return isWhole(version) && isText(address) ? { kind, version, address } : undefined;
    case 'listeners':
      return { kind };
    case 'visitor':
      return isWhole(id) && isText(address) && (proto === 'http' || proto === 'https')
        ? { kind, id, address, proto, trusted: trusted === true, ...readRawPlace(raw) }
        : undefined;
    default:
      return undefined;
  }
}

function readRawPlace(value: unknown): { raw?: RawPlace } {
  const { tunnelId, peers } = fieldsOf(value);
  return isText(tunnelId) && isText(peers) ? { raw: { tunnelId, peers } } : {};
}

/**
 * Reads a message of the relay that is being replaced.
 *
 * @returns `undefined` for anything that a relay does not send
 */
export function readPredecessorMessage(value: unknown): PredecessorMessage | undefined {
  const { kind, listeners, reason, clients, deltas } = fieldsOf(value);
  switch (kind) {
    case 'welcome':
      return isListOf(listeners, isText) ? { kind, listeners } : undefined;
    case 'refused':
      return isText(reason) ? { kind, reason } : undefined;
    case 'moved':
      return isListOf(clients, isMissedClient) ? { kind, clients } : undefined;
    case 'go':
    case 'left':
      return { kind };
    case 'counted':
      return isListOf(deltas, isDelta) ? { kind, deltas } : undefined;
    default:
      return undefined;
  }
}

/**
 * Reads a message of the relay that replaces another.
 *
 * @returns `undefined` for anything that a relay does not send
 */
export function readSuccessorMessage(value: unknown): SuccessorMessage | undefined {
  const { kind, tunnelId, reason, id } = fieldsOf(value);
  switch (kind) {
    case 'move':
    case 'ready':
    case 'serving':
      return { kind };
    case 'ended':
      return isText(tunnelId) && END_REASONS.has(reason)
        ? { kind, tunnelId, reason: reason as EndReason }
        : undefined;
    case 'access':
      return isText(tunnelId) ? { kind, tunnelId } : undefined;
    case 'reset':
      return isWhole(id) ? { kind, id } : undefined;
    default:
      return undefined;
  }
}

/** Characters of the longest text in a message: the reason of a failure. */
const TEXT_MAX_LENGTH = 8192;
const END_REASONS: ReadonlySet<unknown> = new Set<EndReason>(['closed', 'expired', 'removed', 'displaced']);

function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TEXT_MAX_LENGTH;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** JSON has numbers that are infinite: `1e999`. */
function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every((item) => is(item));
}

function isMissedClient(value: unknown): value is MissedClient {
  const { tunnelId, awayMs } = fieldsOf(value);
  return isText(tunnelId) && isAmount(awayMs);
}

function isDelta(value: unknown): value is TrafficDelta {
  const { id, bytesIn, bytesOut, requests, expiresAt, termsRevision } = fieldsOf(value);
  return isText(id) && [bytesIn, bytesOut, requests, expiresAt, termsRevision].every(isAmount);
}
