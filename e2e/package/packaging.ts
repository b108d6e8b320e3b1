/** Packages the app as for a release, around a placeholder for Electron. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses';
import { BUILDER, builderArguments, builderEnvironment } from '../../desktop/build/build.ts';
import { ROOT } from '../../release/repository.ts';

/** The fuses that electron-builder.yml leaves on, on every system. */
export const FUSES_ON = [
  'EnableCookieEncryption',
  'EnableEmbeddedAsarIntegrityValidation',
  'OnlyLoadAppFromAsar',
];

/** electron-builder takes several seconds. */
const PACKAGING_TIMEOUT_MS = 110_000;
/** The byte for an enabled fuse in @electron/fuses. */
const ENABLED = '1'.charCodeAt(0);

/**
 * @param work directory to work in
 * @returns the directory of the app, as it is installed
 */
export async function packageApp(system: System, work: string): Promise<string> {
  return join(await build(system, work, ['--dir']), system === 'mac' ? 'mac' : `${system}-unpacked`);
}

/**
 * Builds the packages for Debian and Fedora without the tool that writes them: only its arguments are recorded.
 *
 * @param fpm program that replaces it
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
    // Nothing may be downloaded, and nothing signed with the keys of this machine.
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

/** The parts of `resedit` that are used. It is a dependency of electron-builder, not of ours. */
interface ResEdit {
  readonly NtExecutable: { createEmpty(): { generate(): ArrayBuffer } };
  readonly NtExecutableResource: {
    from(program: object): { entries: object[]; outputResource(program: object): void };
  };
  readonly Resource: {
    readonly VersionInfo: {
      createEmpty(): {
        setStringValues(language: object, values: object): void;
        outputToResourceEntries(entries: object[]): void;
      };
    };
  };
}

const { resolve } = createRequire(import.meta.url);
const { NtExecutable, NtExecutableResource, Resource } = createRequire(resolve('app-builder-lib'))(
  'resedit',
) as ResEdit;
const ENGLISH = { lang: 1033, codepage: 1200 };

/** @param data appended to it */
export function windowsProgram(data: Buffer): Buffer {
  const program = NtExecutable.createEmpty();
  const resources = NtExecutableResource.from(program);
  const version = Resource.VersionInfo.createEmpty();
  version.setStringValues(ENGLISH, { ProductName: 'Electron' });
  version.outputToResourceEntries(resources.entries);
  resources.outputResource(program);
  return Buffer.concat([Buffer.from(program.generate()), data]);
}

export type System = 'linux' | 'win' | 'mac';

/**
 * The marker that @electron/fuses looks for in the program. The version 1 and the number of fuses follow, then one byte
 * for each.
 */
const FUSE_SENTINEL = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';
const FUSES = '10110011';
const WIRE = Buffer.concat([
  Buffer.alloc(64),
  Buffer.from(FUSE_SENTINEL),
  Buffer.from([1, FUSES.length]),
  Buffer.from(FUSES),
  Buffer.alloc(64),
]);

const PLIST = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>CFBundleExecutable</key><string>Electron</string></dict></plist>
`;

type Files = Readonly<Record<string, string | Buffer>>;

const EVERYWHERE = { LICENSE: '', 'LICENSES.chromium.html': '', version: '' };
const FILES: Readonly<Record<System, Files>> = {
  linux: { ...EVERYWHERE, electron: WIRE, 'chrome-sandbox': '', 'locales/en-US.pak': '' },
  win: { ...EVERYWHERE, 'electron.exe': windowsProgram(WIRE), 'locales/en-US.pak': '' },
  mac: { ...EVERYWHERE, ...macApp() },
};

/** On macOS, Electron's program is a library, and there is a program for each kind of process. */
function macApp(): Files {
  const contents = 'Electron.app/Contents';
  const helpers = ['', ' (Renderer)', ' (GPU)', ' (Plugin)'].flatMap((kind) => {
    const helper = `Electron Helper${kind}`;
    const folder = `${contents}/Frameworks/${helper}.app/Contents`;
    return [[`${folder}/Info.plist`, PLIST] as const, [`${folder}/MacOS/${helper}`, ''] as const];
  });
  return {
    [`${contents}/Info.plist`]: PLIST,
    [`${contents}/MacOS/Electron`]: '',
    [`${contents}/Resources/version`]: '',
    [`${contents}/Frameworks/Electron Framework.framework/Electron Framework`]: WIRE,
    ...Object.fromEntries(helpers),
  };
}

export async function makePlaceholderElectron(directory: string, system: System): Promise<void> {
  await mkdir(join(directory, 'resources'), { recursive: true });
  await Promise.all(
    Object.entries(FILES[system]).map(async ([name, content]) => {
      const file = join(directory, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content, { mode: 0o755 });
    }),
  );
}
