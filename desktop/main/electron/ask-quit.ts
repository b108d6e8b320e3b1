import type { Dialog } from 'electron';
import { t } from '../../i18n/translate.ts';
import type { Settings } from '../../shared/snapshot.ts';
import type { Core } from '../core.ts';
import { QUIT_TIMEOUT_MS } from '../limits.ts';
import type { Platform } from '../platform.ts';
import { closeWithin } from '../system/close-within.ts';
import { Quit, type QuitChoice } from '../system/quit.ts';

const CHOICES: readonly QuitChoice[] = ['close', 'leave', 'stay'];

/** Asks what should happen to live tunnels. */
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
    readonly desk: Pick<Core['desk'], 'liveCount' | 'closeAll'>;
    readonly undos: Pick<Core['undos'], 'commitAll'>;
    readonly store: { readonly data: { readonly settings: Pick<Settings, 'onQuit'> } };
  };
  readonly platform: Pick<Platform, 'clock' | 'report'>;
  readonly dialog: Pick<Dialog, 'showMessageBox'>;
  readonly exit: () => void;
}

/** The way out of the app. */
export function createQuit({ core, platform, dialog, exit }: CreateQuitOptions): Quit {
  const inTime = (work: Promise<void>): Promise<void> =>
    closeWithin(platform.clock, QUIT_TIMEOUT_MS, work, (error) => platform.report('closing tunnels', error));
  return new Quit({
    liveCount: () => core.desk.liveCount,
    onQuit: () => core.store.data.settings.onQuit,
    ask: (liveCount) => askQuit(dialog, liveCount),
    closeAll: () => inTime(core.desk.closeAll(t('ended.quit'))),
    settle: () => inTime(core.undos.commitAll()),
    exit,
  });
}
