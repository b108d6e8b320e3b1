import type { GlobalShortcutKeys } from '../ipc/tunnel-views.ts';
import { Signal } from '../../client/signal.ts';

/** Shortcuts of the system, as Electron gives them. */
interface SystemShortcuts {
  /** @returns whether the app gets it */
  register(shortcut: string, onPress: () => void): boolean;
  unregister(shortcut: string): void;
}

/** The one shortcut of the app that works while other programs are in front. */
export class GlobalShortcutKey {
  readonly pressed = new Signal();
  readonly #shortcuts: SystemShortcuts;
  #used: GlobalShortcutKeys = 'off';
  #isRefused = false;

  constructor(shortcuts: SystemShortcuts) {
    this.#shortcuts = shortcuts;
  }

  /** Whether the system refused the last shortcut, because another program has it or none is allowed. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Uses only this shortcut. @returns whether the app gets it */
  use(shortcut: GlobalShortcutKeys): boolean {
    if (this.#used !== 'off') this.#shortcuts.unregister(this.#used);
    const isGiven = shortcut === 'off' || this.#register(shortcut);
    this.#used = isGiven ? shortcut : 'off';
    this.#isRefused = !isGiven;
    return isGiven;
  }

  #register(shortcut: GlobalShortcutKeys): boolean {
    try {
      return this.#shortcuts.register(shortcut, () => this.pressed.emit());
    } catch {
      // Some desktops throw instead.
      return false;
    }
  }
}

/* One press shows the newest address, two copy it. */

/** Time between the two presses. */
const TWICE_MS = 1000;

interface GlobalShortcutOptions {
  /** the newest tunnel that is not ended */
  readonly newest: () => string | undefined;
  /** ms, from any point in time */
  readonly now: () => number;
  readonly showWindow: () => void;
  /** Shows the address of a tunnel in the window, and copies it if that is asked for. */
  readonly showAddress: (address: { key: string; copies: boolean }) => void;
}

export class GlobalShortcut {
  readonly #options: GlobalShortcutOptions;
  #pressedAt = -Infinity;

  constructor(options: GlobalShortcutOptions) {
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
