import type { SummonShortcut } from '../../shared/summon.ts';
import { Signal } from '../signal.ts';

/** Shortcuts of the system, as Electron gives them. */
export interface SystemShortcuts {
  /** @returns whether it is given */
  register(shortcut: string, onPress: () => void): boolean;
  unregister(shortcut: string): void;
}

/** The one shortcut of the app that works while other programs are in front. */
export class SummonKey {
  readonly pressed = new Signal();
  readonly #shortcuts: SystemShortcuts;
  #used: SummonShortcut = 'off';
  #isRefused = false;

  constructor(shortcuts: SystemShortcuts) {
    this.#shortcuts = shortcuts;
  }

  /** Whether the system has not given the shortcut that was asked for last: another program has it, or none may. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Uses this shortcut and no other. @returns whether the system gives it */
  use(shortcut: SummonShortcut): boolean {
    if (this.#used !== 'off') this.#shortcuts.unregister(this.#used);
    const isGiven = shortcut === 'off' || this.#register(shortcut);
    this.#used = isGiven ? shortcut : 'off';
    this.#isRefused = !isGiven;
    return isGiven;
  }

  #register(shortcut: SummonShortcut): boolean {
    try {
      return this.#shortcuts.register(shortcut, () => this.pressed.emit());
    } catch {
      // Some desktops throw instead.
      return false;
    }
  }
}
