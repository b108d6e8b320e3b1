/** Follows whether the desktop shows tray icons. Without one, a hidden window could not be found again. */
import { Signal } from '../../client/signal.ts';
import type { Platform } from './platform.ts';
import { Poller } from './signals.ts';

/** Pause between two looks while there is no tray: the user may be installing one, or is logging in. */
const MISSING_PAUSE_MS = 5000;
/** Pause between two looks while there is one: it may end with the desktop's shell. */
const THERE_PAUSE_MS = 60_000;

export class TrayWatch {
  readonly changed = new Signal();
  readonly #poller: Poller;
  readonly #isAskable: boolean;
  #isMissing = false;

  constructor({ clock, showsTrayIcons, report }: Pick<Platform, 'clock' | 'showsTrayIcons' | 'report'>) {
    this.#isAskable = showsTrayIcons !== undefined;
    this.#poller = new Poller({
      clock,
      work: async () => {
        const isMissing = (await showsTrayIcons?.()) === false;
        if (isMissing === this.#isMissing) return;
        this.#isMissing = isMissing;
        this.changed.emit();
      },
      pauseMs: () => (this.#isMissing ? MISSING_PAUSE_MS : THERE_PAUSE_MS),
      onError: (error) => report('looking for the tray', error),
    });
  }

  /** Whether the desktop is known to show no tray icons. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  start(): void {
    if (this.#isAskable) this.#poller.now();
  }
}
