/** Quitting, and the user's choice about live tunnels. */
import type { Dialog } from 'electron';
import type { Clock, Timer } from '../../../client/clock.ts';
import type { Settings } from '../../ipc/snapshot.ts';
import { toMessage } from '../../../client/messages.ts';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import type { Platform } from '../platform.ts';

/**
 * Maximum time to close all tunnels when the app quits: one REST call each, at the same time; after that the app
 * quits anyway.
 */
export const QUIT_TIMEOUT_MS = 5000;

type QuitChoice = 'close' | 'leave' | 'stay';

interface QuitOptions {
  readonly core: {
    readonly liveCount: Core['liveCount'];
    readonly closeAll: Core['closeAll'];
    readonly undos: Pick<Core['undos'], 'commitAll'>;
    readonly store: { readonly data: { readonly settings: Pick<Settings, 'onQuit'> } };
  };
  readonly platform: Pick<Platform, 'clock' | 'report'>;
  readonly dialog: Pick<Dialog, 'showMessageBox'>;
  readonly exit: () => void;
}

/** Ends the app. If tunnels are live, the user is asked once what should happen to them, unless the settings define it. */
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
      const { core, exit } = this.#options;
      await Promise.all([
        choice === 'close' ? this.#inTime(core.closeAll(toMessage('ended.quit'))) : undefined,
        this.#inTime(core.undos.commitAll()),
      ]);
      this.#isDone = true;
      exit();
    } finally {
      this.#isUnderWay = false;
    }
  }

  async #choose(): Promise<QuitChoice> {
    const { core, dialog } = this.#options;
    const { liveCount } = core;
    if (liveCount === 0) return 'leave';
    const { onQuit } = core.store.data.settings;
    return onQuit === 'ask' ? askQuit(dialog, liveCount) : onQuit;
  }

  #inTime(work: Promise<void>): Promise<void> {
    const { clock, report } = this.#options.platform;
    return closeWithin(clock, QUIT_TIMEOUT_MS, work, (error) => report('closing tunnels', error));
  }
}

/**
 * Waits for work, at most `ms`: then it is abandoned. Failures are reported.
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

export const CHOICES: readonly QuitChoice[] = ['close', 'leave', 'stay'];

/** Asks the user what should happen to live tunnels. */
export async function askQuit(
  dialog: Pick<Dialog, 'showMessageBox'>,
  liveCount: number,
): Promise<QuitChoice> {
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: t('quit.online', { count: liveCount }),
    detail: t('quit.explained'),
    buttons: [t('quit.close'), t('quit.leave'), t('quit.cancel')],
    defaultId: 0,
    cancelId: 2,
    noLink: true,
  });
  return CHOICES[response] ?? 'stay';
}
