/** Cuts a visitor that takes no bytes while some are waiting for it (docs/protocol.md section 4.5). */
import type { Socket } from 'node:net';
import { STALL_TIMEOUT_MS } from '../../limits.ts';

/** How often a stalled socket is checked before it is cut. */
const LOOKS = 6;
const LOOK_MS = STALL_TIMEOUT_MS / LOOKS;

/**
 * A socket's own timeout sees progress inside one write, which nothing else does: it skips an interval in which some bytes
 * were taken. But it also skips the first one, so a single timeout of the whole length would come after twice the time. So
 * there are several short ones, counted as long as none is skipped.
 */
export class StallGuard {
  readonly #socket: Socket;
  #looks = 0;
  #lastLook = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('timeout', this.#onTimeout);
  }

  /** Bytes wait for the visitor. */
  watch(): void {
    this.#looks = 0;
    this.#socket.setTimeout(LOOK_MS);
  }

  /** No bytes wait any more. */
  relax(): void {
    this.#socket.setTimeout(0);
  }

  /** Somebody else looks after the socket. */
  release(): void {
    this.relax();
    this.#socket.off('timeout', this.#onTimeout);
  }

  readonly #onTimeout = (): void => {
    const now = performance.now();
    const isConsecutive = now - this.#lastLook < 1.5 * LOOK_MS;
    this.#looks = isConsecutive ? this.#looks + 1 : 1;
    this.#lastLook = now;
    // A reset, because otherwise the system would hold the data for as long as the visitor does not take it.
    if (this.#looks >= LOOKS) this.#socket.resetAndDestroy();
    else this.#socket.setTimeout(LOOK_MS);
  };
}
