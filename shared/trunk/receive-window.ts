/** How much one end of a stream lets the other send: what it has passed on, it lets the other send again. */
import { WINDOW_BYTES } from './frames.ts';

/** Bytes that are let go on at a time: so many that a frame is worth it, so few that a peer who has half a window left sends on. */
const GRANT_BYTES = WINDOW_BYTES / 2;

export class ReceiveWindow {
  /** bytes that the peer may still send */
  #open = WINDOW_BYTES;
  /** bytes that were passed on, and that the peer was not let send again */
  #passedOn = 0;

  /** @returns whether the peer was allowed to send so many bytes */
  received(bytes: number): boolean {
    this.#open -= bytes;
    return this.#open >= 0;
  }

  /**
   * Bytes that came were passed on.
   *
   * @returns whether the peer is to be let go on, by {@link grant}
   */
  passedOn(bytes: number): boolean {
    this.#passedOn += bytes;
    return this.#passedOn >= GRANT_BYTES;
  }

  /**
   * Lets the peer go on. To be called when it is told: what it sends before it could know is too much.
   *
   * @returns for how many more bytes
   */
  grant(): number {
    const grant = this.#passedOn;
    this.#passedOn = 0;
    this.#open += grant;
    return grant;
  }
}
