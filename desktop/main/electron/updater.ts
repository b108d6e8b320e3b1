import electronUpdater from 'electron-updater';
import type { Clock } from '../../engine/clock.ts';
import { UpdateGate } from '../system/update-gate.ts';

export interface UpdaterOptions {
  /** see {@link canReplaceItself} */
  readonly isReplaceable: boolean;
  readonly clock: Clock;
  /** see {@link UpdateGate} */
  readonly isInUse: () => boolean;
  /** The app is about to restart. */
  readonly onInstall: () => void;
}

/** What tells how an app was installed. */
export interface Installation {
  readonly isPackaged: boolean;
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * @returns whether an app may be replaced by a newer one. An app in development has nothing to be replaced by; what a package
 *   manager of Linux has installed would take the password of root, out of nowhere
 */
export function canReplaceItself({ isPackaged, platform, env }: Installation): boolean {
  return isPackaged && (platform !== 'linux' || env['APPIMAGE'] !== undefined);
}

/** Looks for new versions where electron-builder.yml publishes them, downloads them, and installs them when that is fine. */
export function keepUpToDate({ isReplaceable, clock, isInUse, onInstall }: UpdaterOptions): void {
  if (!isReplaceable) return;
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
