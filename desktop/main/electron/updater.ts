import electronUpdater from 'electron-updater';
import type { Clock } from '../../engine/clock.ts';
import { UpdateGate } from '../system/update-gate.ts';

export interface UpdaterOptions {
  /** An app in development has nothing to be replaced by. */
  readonly isPackaged: boolean;
  readonly clock: Clock;
  /** see {@link UpdateGate} */
  readonly isInUse: () => boolean;
  /** The app is about to restart. */
  readonly onInstall: () => void;
}

/** Looks for new versions where electron-builder.yml publishes them, downloads them, and installs them when that is fine. */
export function keepUpToDate({ isPackaged, clock, isInUse, onInstall }: UpdaterOptions): void {
  if (!isPackaged) return;
  const { autoUpdater } = electronUpdater;
  const gate = new UpdateGate({
    clock,
    isInUse,
    async check() {
      await autoUpdater.checkForUpdates();
    },
    install() {
      onInstall();
      // Silently, and started again, as it was before.
      autoUpdater.quitAndInstall(true, true);
    },
  });
  autoUpdater.logger = null;
  autoUpdater.autoDownload = true;
  autoUpdater.autoInstallOnAppQuit = true;
  autoUpdater.on('update-downloaded', () => gate.downloaded());
  // A failed check rejects too, where it is answered; an `error` that nobody listens to would end the app.
  autoUpdater.on('error', () => {});
}
