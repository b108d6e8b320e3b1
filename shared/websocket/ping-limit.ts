/** ms for which the pings of a peer are counted together. */
const WINDOW_MS = 1000;
/**
 * @limit Pings a peer may send in a second: more than arrive at once when a client that pings every second was held up for a
 * minute.
 */
export const PINGS_MAX = 100;

/** Whether a peer sends more pings than anybody needs: each costs about as much as a message, and needs an answer as well. */
export class PingLimit {
  #count = 0;

  /** Counts one more. @returns whether the peer has sent no more than {@link PINGS_MAX} within a second */
  admits(): boolean {
    if (this.#count === 0) setTimeout(() => (this.#count = 0), WINDOW_MS).unref();
    this.#count += 1;
    return this.#count <= PINGS_MAX;
  }
}

/** The text that a server appends to the client's key to prove that it speaks WebSocket (RFC 6455 section 1.3). */
export const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
