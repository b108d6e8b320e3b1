/** Packages the app as for a release, around a placeholder for Electron. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses';
import { BUILDER, builderArguments, builderEnvironment } from '../../desktop/build/builder.ts';
import { ROOT } from '../../release/repository.ts';
import { makePlaceholderElectron, type System } from './placeholder.ts';

/** The fuses that electron-builder.yml leaves on, on every system. */
export const FUSES_ON = [
  'EnableCookieEncryption',
  'EnableEmbeddedAsarIntegrityValidation',
  'OnlyLoadAppFromAsar',
];

/** electron-builder takes some seconds. */
const PACKAGING_TIMEOUT_MS = 110_000;
/** How @electron/fuses writes a fuse that is on. */
const ENABLED = '1'.charCodeAt(0);

/**
 * @param work directory to work in
 * @returns the directory of the app, as it is installed
 */
export async function packageApp(system: System, work: string): Promise<string> {
  return join(await build(system, work, ['--dir']), system === 'mac' ? 'mac' : `${system}-unpacked`);
}

/**
 * Makes the packages for Debian and Fedora without the tool that writes them: what the tool is asked for is recorded.
 *
 * @param fpm program that takes its place
 * @returns the directory of the packages
 */
export function packageForLinux(work: string, fpm: string): Promise<string> {
  return build('linux', work, ['deb', 'rpm'], { CUSTOM_FPM_PATH: fpm });
}

async function build(
  system: System,
  work: string,
  targets: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<string> {
  const electron = join(work, `electron-${system}`);
  const output = join(work, `out-${system}`);
  await makePlaceholderElectron(electron, system);
  const settings = [`-c.electronDist=${electron}`, `-c.directories.output=${output}`];
  // Only macOS has the program that signs.
  if (system === 'mac') settings.push('-c.electronFuses.resetAdHocDarwinSignature=false');
  const args = builderArguments([`--${system}`, ...targets, '--x64', ...settings]);
  await promisify(execFile)(process.execPath, [BUILDER, ...args], {
    cwd: ROOT,
    timeout: PACKAGING_TIMEOUT_MS,
    // Nothing must be downloaded, and nothing signed with the keys of this machine.
    env: {
      ...builderEnvironment(process.env),
      npm_config_offline: 'true',
      CSC_IDENTITY_AUTO_DISCOVERY: 'false',
      ...variables,
    },
  });
  return output;
}

/**
 * @param program of the app, or its directory on macOS
 * @returns the names of the fuses that are on
 */
export async function enabledFuses(program: string): Promise<string[]> {
  const wire = await getCurrentFuseWire(program);
  const names = Object.entries(FuseV1Options).filter(([, option]) => typeof option === 'number');
  return names
    .filter(([, option]) => Number(wire[option as FuseV1Options]) === ENABLED)
    .map(([name]) => name)
    .sort();
}
