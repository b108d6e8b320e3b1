/** The window is wanted from anywhere: once for the newest address, twice to copy it. */

/** Two presses that belong together. */
const TWICE_MS = 1000;

export interface SummonOptions {
  /** the newest tunnel that is not ended */
  readonly newest: () => string | undefined;
  /** ms, from any point in time */
  readonly now: () => number;
  readonly showWindow: () => void;
  /** Shows the address of a tunnel in the window, and copies it if that is asked for. */
  readonly showAddress: (address: { key: string; copies: boolean }) => void;
}

export class Summon {
  readonly #options: SummonOptions;
  #pressedAt = -Infinity;

  constructor(options: SummonOptions) {
    this.#options = options;
  }

  /** The shortcut was pressed. */
  press(): void {
    const { newest, now, showWindow, showAddress } = this.#options;
    const copies = now() - this.#pressedAt < TWICE_MS;
    // A third press begins again.
    this.#pressedAt = copies ? -Infinity : now();
    const key = newest();
    if (key === undefined) showWindow();
    else showAddress({ key, copies });
  }
}
