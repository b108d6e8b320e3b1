import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppUpdater } from 'electron-updater';
import type { Clock, Timer } from '../../../client/clock.ts';

/** How long after startup the app first checks for an update, so that the check does not slow the start down. */
export const UPDATE_FIRST_MS = 60_000;
/** How often an update is looked for after that; releases are days apart. */
export const UPDATE_INTERVAL_MS = 4 * 3_600_000;
/** How often a downloaded update checks whether all tunnels are offline. */
const UPDATE_RETRY_MS = 60_000;

/** The part of electron-updater that the app uses. */
export type Updater = Pick<
  AppUpdater,
  | 'logger'
  | 'autoDownload'
  | 'autoInstallOnAppQuit'
  | 'allowDowngrade'
  | 'checkForUpdates'
  | 'quitAndInstall'
  | 'on'
>;

/** What an app does about a newer version: install it, announce it, or leave it to a package manager. */
export type UpdateWay = 'install' | 'tell' | 'leave';

interface UpdaterOptions {
  /** see {@link updateWay} */
  readonly way: UpdateWay;
  /** Called only if there is something to do. */
  readonly updater: () => Updater;
  readonly clock: Clock;
  /** see {@link UpdateGate} */
  readonly isInUse: () => boolean;
  /** The app is about to restart. */
  readonly onInstall: () => void;
  /** Called once for each newer version that this app does not install. */
  readonly onNewVersion: (version: string) => void;
  /** A newer version was downloaded. @param install restarts into it, now */
  readonly onReady: (version: string, install: () => void) => void;
}

/** Facts about how an app was installed. */
interface Installation {
  readonly isPackaged: boolean;
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  /** text of the app's `app-update.yml`; `''` if there is no such file */
  readonly updateConfig: string;
}

/** electron-builder writes the publisher of its signature; without one electron-updater verifies nothing. */
const PUBLISHER = /^publisherName:(?: +(?!null\b|~|\[)\S|\r?\n *- +\S)/m;

/**
 * An app replaces itself only if the system verifies that the new one has the same publisher: macOS always compares
 * signatures, on Windows electron-updater does so for a signed app. Otherwise anyone who controls the download server
 * could run code on every machine. On Linux, package managers update the app; an app in development has no newer
 * version.
 */
export function updateWay({ isPackaged, platform, env, updateConfig }: Installation): UpdateWay {
  if (!isPackaged) return 'leave';
  if (platform === 'linux') return env['APPIMAGE'] === undefined ? 'leave' : 'tell';
  return platform === 'darwin' || PUBLISHER.test(updateConfig) ? 'install' : 'tell';
}

/** Looks for new versions where electron-builder.yml publishes them, and acts according to {@link updateWay}. */
export function keepUpToDate(options: UpdaterOptions): void {
  const { way, clock, isInUse, onInstall, onNewVersion, onReady } = options;
  if (way === 'leave') return;
  const updater = options.updater();
  const gate = new UpdateGate({
    clock,
    isInUse,
    async check() {
      await updater.checkForUpdates();
    },
    install,
  });
  function install(): void {
    onInstall();
    // Silently, and with a restart.
    updater.quitAndInstall(true, true);
  }
  updater.logger = null;
  updater.autoDownload = way === 'install';
  updater.autoInstallOnAppQuit = way === 'install';
  // An old version with a known vulnerability is also signed.
  updater.allowDowngrade = false;
  if (way === 'install') {
    updater.on('update-downloaded', ({ version }) => {
      onReady(version, install);
      gate.downloaded();
    });
  } else {
    const told = new Set<string>();
    updater.on('update-available', ({ version }) => {
      if (told.has(version)) return;
      told.add(version);
      onNewVersion(version);
    });
  }
  // A failed check also rejects and is handled there; an unhandled `error` event would crash the app.
  updater.on('error', () => {});
}

interface UpdateGateOptions {
  readonly clock: Clock;
  /** Looks for a newer version and downloads it. @throws if that fails; the next check tries again */
  readonly check: () => Promise<void>;
  /** Restarts into the version that was downloaded. */
  readonly install: () => void;
  /** Whether a restart would be noticed: a tunnel is live, or the window is visible. */
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
      // No network, or no published version: the next check finds it.
    }
  }
}

/**
 * @returns where electron-builder publishes newer versions, from the resources of a packaged app; `''` if it does not
 */
export function readUpdateConfig(directory: string): string {
  const path = join(directory, 'app-update.yml');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
