/** What of rung 5 can be proven without Electron's program: where it is looked for, and what it is started with. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadBundle } from '../../../desktop/testing/electron/load-bundle.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import { testScope } from '../../support/scope.ts';
import { buildEntry } from './electron-driver.ts';
import { DIRECTORY_VARIABLE, type EntryGlobals } from './electron-entry-names.ts';
import { findElectron } from './electron-program.ts';
import { notRun } from './fixture.ts';

describe('findElectron', () => {
  const scope = testScope();

  function place(name: string): { directory: string; program: string } {
    const directory = temporaryDirectory(scope);
    const program = join(directory, name);
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, '');
    return { directory, program };
  }

  const programs: [NodeJS.Platform, string][] = [
    ['linux', 'electron'],
    ['win32', 'electron.exe'],
    ['darwin', 'Electron.app/Contents/MacOS/Electron'],
  ];
  for (const [platform, name] of programs) {
    it(`finds the program in the package of ${platform}`, () => {
      const { directory, program } = place(name);
      assert.equal(findElectron({ env: {}, platform, installed: directory }), program);
    });
  }

  it('prefers the directory that ELECTRON_OVERRIDE_DIST_PATH names', () => {
    const { directory, program } = place('electron');
    const env = { ELECTRON_OVERRIDE_DIST_PATH: directory };
    const installed = place('electron').directory;
    assert.equal(findElectron({ env, platform: 'linux', installed }), program);
  });

  it('finds none where nothing is installed', () => {
    const env = { ELECTRON_OVERRIDE_DIST_PATH: '' };
    assert.equal(findElectron({ env, platform: 'linux', installed: '/nowhere' }), undefined);
  });

  it('says it where ELECTRON_OVERRIDE_DIST_PATH names a directory without it', () => {
    const env = { ELECTRON_OVERRIDE_DIST_PATH: '/nowhere' };
    assert.throws(
      () => findElectron({ env, platform: 'linux', installed: place('electron').directory }),
      /ELECTRON_OVERRIDE_DIST_PATH names a directory without Electron: there is no \/nowhere\/electron/,
    );
  });
});

describe('what Electron is started with', () => {
  const scope = testScope();

  it('keeps the app away from what belongs to the user, and then runs it', async () => {
    const directory = temporaryDirectory(scope);
    const entry = join(directory, 'entry.cjs');
    const main = join(directory, 'main.cjs');
    const seen: string[] = [];
    const globals = globalThis as unknown as EntryGlobals & { seenByMain?: string[] };
    globals.seenByMain = seen;
    process.env[DIRECTORY_VARIABLE] = '/the/directory';
    scope.defer(() => {
      delete globals.seenByMain;
      delete process.env[DIRECTORY_VARIABLE];
      Reflect.deleteProperty(globals, 'culvertOutside');
    });
    writeFileSync(main, "globalThis.seenByMain.push('main');");
    await buildEntry(entry, main);
    const touched = (what: string) => () => void seen.push(`touched ${what}`);
    const electron = {
      app: {
        setPath: (name: string, path: string) => void seen.push(`${name} ${path}`),
        setAsDefaultProtocolClient: touched('links'),
      },
      clipboard: { writeText: touched('clipboard') },
      dialog: { showMessageBox: touched('dialog') },
      safeStorage: { encryptStringAsync: (_text: string) => touched('key store')() },
      shell: { openExternal: touched('browser') },
    } satisfies Record<string, Record<string, (...given: string[]) => unknown>>;
    loadBundle(entry, electron);
    electron.app.setAsDefaultProtocolClient();
    electron.clipboard.writeText();
    electron.dialog.showMessageBox();
    electron.safeStorage.encryptStringAsync('key');
    electron.shell.openExternal();
    assert.deepEqual(seen, ['userData /the/directory', 'main']);
    const { copied, opened } = globals.culvertOutside;
    assert.deepEqual([copied.length, opened.length], [1, 1]);
  });
});

describe('scenarios that rung 5 does not run', () => {
  it('are named', () => {
    assert.equal(
      notRun('settings', 'start the app at login'),
      "not run here, Electron's binary is missing: settings: start the app at login",
    );
  });
});
