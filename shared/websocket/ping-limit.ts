/** ms over which the pings of a peer are counted. */
const WINDOW_MS = 1000;
/**
 * @limit Pings a peer may send in a second: more than arrive together from a client that pings every second and was
 * held up for a minute.
 */
export const PINGS_MAX = 100;

/** Detects a peer that sends too many pings: each costs about as much as a message, and needs an answer as well. */
export class PingLimit {
  #count = 0;

  /** Counts a ping. @returns whether the peer has sent at most {@link PINGS_MAX} within a second */
  admits(): boolean {
    if (this.#count === 0) setTimeout(() => (this.#count = 0), WINDOW_MS).unref();
    this.#count += 1;
    return this.#count <= PINGS_MAX;
  }
}

/** The text that a server appends to the client's key to prove that it supports WebSocket (RFC 6455 section 1.3). */
export const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
