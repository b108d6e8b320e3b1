import type { Clock, Timer } from '../../../client/clock.ts';
import type { Settings } from '../../ipc/snapshot.ts';

export type QuitChoice = 'close' | 'leave' | 'stay';

export interface QuitOptions {
  readonly liveCount: () => number;
  readonly onQuit: () => Settings['onQuit'];
  /** Asks the user. */
  readonly ask: (liveCount: number) => Promise<QuitChoice>;
  /** Closes every tunnel, or gives up after a while. */
  readonly closeAll: () => Promise<void>;
  /** Makes final what could still be undone, or gives up after a while. */
  readonly settle: () => Promise<void>;
  /** Ends the app, now. */
  readonly exit: () => void;
}

/** Ends the app. If tunnels are live, the user is asked once what should happen to them, unless the settings say it. */
export class Quit {
  readonly #options: QuitOptions;
  #isUnderWay = false;
  #isDone = false;

  constructor(options: QuitOptions) {
    this.#options = options;
  }

  /** Whether the app may end without asking. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** The system ends, or an update restarts the app: nothing must be asked. */
  allow(): void {
    this.#isDone = true;
  }

  /** A call while another one is under way does nothing. */
  async request(): Promise<void> {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    try {
      const choice = await this.#choose();
      if (choice === 'stay') return;
      const { closeAll, settle } = this.#options;
      await Promise.all([choice === 'close' ? closeAll() : undefined, settle()]);
      this.#isDone = true;
      this.#options.exit();
    } finally {
      this.#isUnderWay = false;
    }
  }

  async #choose(): Promise<QuitChoice> {
    const { liveCount, onQuit, ask } = this.#options;
    const count = liveCount();
    if (count === 0) return 'leave';
    const setting = onQuit();
    return setting === 'ask' ? ask(count) : setting;
  }
}

/**
 * Waits for work, but no longer than `ms`; what is not done by then is abandoned, and failures are reported.
 *
 * @param ms at most
 */
export async function closeWithin(
  clock: Pick<Clock, 'setTimeout'>,
  ms: number,
  work: Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  let timer: Timer | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = clock.setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, tooLate]);
  } catch (error) {
    onError(error);
  } finally {
    timer?.cancel();
  }
}
