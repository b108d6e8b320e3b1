import type { Clock, Timer } from '../../engine/clock.ts';
import { UPDATE_FIRST_MS, UPDATE_INTERVAL_MS, UPDATE_RETRY_MS } from '../limits.ts';

export interface UpdateGateOptions {
  readonly clock: Clock;
  /** Looks for a newer version and downloads it. @throws if that fails, which the next look makes up for */
  readonly check: () => Promise<void>;
  /** Restarts into the version that was downloaded. */
  readonly install: () => void;
  /** Whether somebody would notice a restart: a tunnel is live, or somebody looks at the window. */
  readonly isInUse: () => boolean;
}

/** Keeps the app up to date, and never restarts it while a tunnel could carry traffic. */
export class UpdateGate {
  readonly #options: UpdateGateOptions;
  #timer: Timer | undefined;

  constructor(options: UpdateGateOptions) {
    this.#options = options;
    this.#timer = options.clock.setTimeout(() => void this.#look(), UPDATE_FIRST_MS);
  }

  /** A newer version is ready; it is installed when the app quits in any case. */
  downloaded(): void {
    this.#timer?.cancel();
    if (!this.#options.isInUse()) {
      this.#options.install();
      return;
    }
    this.#timer = this.#options.clock.setTimeout(() => this.downloaded(), UPDATE_RETRY_MS);
  }

  async #look(): Promise<void> {
    this.#timer = this.#options.clock.setTimeout(() => void this.#look(), UPDATE_INTERVAL_MS);
    try {
      await this.#options.check();
    } catch {
      // No network, or no published version: the next look finds it.
    }
  }
}
