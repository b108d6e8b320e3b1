import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Dialog } from 'electron';
import { VERSION } from '../../../../shared/version.ts';
import type { About } from '../../ipc/ipc.ts';
import type { Settings } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import { QUIT_TIMEOUT_MS } from '../limits.ts';
import type { Platform } from '../platform.ts';
import { projectLinks, type ProjectLinks } from '../system/deep-link.ts';
import { closeWithin, Quit, type QuitChoice } from '../system/quit.ts';

/** @param directory of the built main process, in which the build lists what is in it (desktop/build) */
export function readAbout(directory: string, { electron, chrome, node }: NodeJS.ProcessVersions): About {
  const licences = JSON.parse(readFileSync(join(directory, 'licences.json'), 'utf8')) as About['licences'];
  return {
    version: VERSION,
    versions: [
      { name: 'Electron', version: electron ?? '' },
      { name: 'Chromium', version: chrome ?? '' },
      { name: 'Node.js', version: node },
    ],
    licences,
  };
}

/** @param directory of the built main process, in which the build says where the project's home is */
export function readLinks(directory: string): ProjectLinks {
  const { homepage } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    homepage: string;
  };
  return projectLinks(homepage, VERSION);
}

/** @param directory of what the app was packaged with, in which electron-builder says where newer versions are; `''` without */
export function readUpdateConfig(directory: string): string {
  const path = join(directory, 'app-update.yml');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

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
