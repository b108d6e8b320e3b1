import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Electron's package, which does not include its program. */
const PACKAGE = dirname(createRequire(import.meta.url).resolve('electron/package.json'));

/** Enough to download about 120 MB. */
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

/** How to get Electron's program, for error messages. */
const HOW_TO_GET_ELECTRON = `npm run desktop downloads it from github.com once, as npx install-electron does. Where that cannot be reached:
- ELECTRON_MIRROR names another place to download it from, HTTPS_PROXY a proxy on the way
  (with it, set ELECTRON_GET_USE_PROXY=1);
- ELECTRON_OVERRIDE_DIST_PATH names the directory of an Electron that is unpacked already.`;

interface ElectronPlace {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  /** directory of the Electron that is installed with the project */
  readonly installed: string;
}

/**
 * Finds Electron's program in `ELECTRON_OVERRIDE_DIST_PATH` or in Electron's package, without a download.
 *
 * @returns `undefined` if it is not installed
 * @throws Error if the variable names a directory without the program
 */
export function findElectron({ env, platform, installed }: ElectronPlace = HERE): string | undefined {
  const override = env['ELECTRON_OVERRIDE_DIST_PATH'] ?? '';
  const program = join(override === '' ? installed : override, programName(platform));
  if (existsSync(program)) return program;
  if (override === '') return undefined;
  throw new Error(
    `ELECTRON_OVERRIDE_DIST_PATH names a directory without Electron: there is no ${program}. Give that of an unpacked Electron, or unset it.`,
  );
}

const HERE: ElectronPlace = {
  env: process.env,
  platform: process.platform,
  installed: join(PACKAGE, 'dist'),
};

/**
 * Finds Electron's program, and has its package download it if it is missing.
 *
 * @param download returns whether it worked; prints the error on stderr
 * @throws Error that says how to get it
 */
export function getElectron(place: ElectronPlace = HERE, download: () => boolean = downloadElectron): string {
  const program = findElectron(place) ?? (download() ? findElectron(place) : undefined);
  if (program !== undefined) return program;
  throw new Error(`Electron's program is not here, and could not be downloaded. ${HOW_TO_GET_ELECTRON}`);
}

function downloadElectron(): boolean {
  process.stderr.write('Downloading Electron …\n');
  const { status } = spawnSync(process.execPath, [join(PACKAGE, 'install.js')], {
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: DOWNLOAD_TIMEOUT_MS,
  });
  return status === 0;
}

function programName(platform: NodeJS.Platform): string {
  if (platform === 'darwin') return 'Electron.app/Contents/MacOS/Electron';
  return platform === 'win32' ? 'electron.exe' : 'electron';
}
