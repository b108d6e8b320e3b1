/** Quitting, and the user's choice about live tunnels. */
import type { Dialog } from 'electron';
import type { Clock, Timer } from '../../../client/clock.ts';
import type { Settings } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import { QUIT_TIMEOUT_MS } from '../limits.ts';
import type { Platform } from '../platform.ts';

export type QuitChoice = 'close' | 'leave' | 'stay';

export interface QuitOptions {
  readonly liveCount: () => number;
  readonly onQuit: () => Settings['onQuit'];
  /** Asks the user. */
  readonly ask: (liveCount: number) => Promise<QuitChoice>;
  /** Closes every tunnel, or gives up after a while. */
  readonly closeAll: () => Promise<void>;
  /** Completes what could still be undone, or gives up after a while. */
  readonly settle: () => Promise<void>;
  /** Ends the app, now. */
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

const CHOICES: readonly QuitChoice[] = ['close', 'leave', 'stay'];

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

export interface CreateQuitOptions {
  readonly core: {
    readonly tunnelList: Pick<Core['tunnelList'], 'liveCount' | 'closeAll'>;
    readonly undos: Pick<Core['undos'], 'commitAll'>;
    readonly store: { readonly data: { readonly settings: Pick<Settings, 'onQuit'> } };
  };
  readonly platform: Pick<Platform, 'clock' | 'report'>;
  readonly dialog: Pick<Dialog, 'showMessageBox'>;
  readonly exit: () => void;
}

export function createQuit({ core, platform, dialog, exit }: CreateQuitOptions): Quit {
  const inTime = (work: Promise<void>): Promise<void> =>
    closeWithin(platform.clock, QUIT_TIMEOUT_MS, work, (error) => platform.report('closing tunnels', error));
  return new Quit({
    liveCount: () => core.tunnelList.liveCount,
    onQuit: () => core.store.data.settings.onQuit,
    ask: (liveCount) => askQuit(dialog, liveCount),
    closeAll: () => inTime(core.tunnelList.closeAll(t('ended.quit'))),
    settle: () => inTime(core.undos.commitAll()),
    exit,
  });
}
