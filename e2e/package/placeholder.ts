/** Directories that look like an unpacked Electron to electron-builder, but cannot run anything. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { windowsProgram } from './windows-program.ts';

export type System = 'linux' | 'win' | 'mac';

/** What @electron/fuses looks for in the program; version 1 and the number of fuses follow, then one byte for each. */
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

/** There, Electron's program is a library, and there is a program for each kind of process. */
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
