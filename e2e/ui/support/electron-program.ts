import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Where Electron's own package keeps its program. */
const INSTALLED = join(dirname(createRequire(import.meta.url).resolve('electron/package.json')), 'dist');

export interface ElectronPlace {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  /** directory of an Electron that is installed with the project */
  readonly installed: string;
}

/**
 * Finds Electron's program: where `ELECTRON_OVERRIDE_DIST_PATH` says, or in Electron's package. Nothing is downloaded.
 *
 * @returns `undefined` where there is none
 * @throws Error when the variable names a directory without it
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

const HERE: ElectronPlace = { env: process.env, platform: process.platform, installed: INSTALLED };

function programName(platform: NodeJS.Platform): string {
  if (platform === 'darwin') return 'Electron.app/Contents/MacOS/Electron';
  return platform === 'win32' ? 'electron.exe' : 'electron';
}
