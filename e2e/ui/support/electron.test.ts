/** The parts of step 5 that can be tested without Electron's binary: its start file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadBundle } from '../../../desktop/testing/fake-electron.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import { testScope } from '../../support/scope.ts';
import { buildEntry } from './electron-driver.ts';
import { DIRECTORY_VARIABLE, type EntryGlobals } from './electron-outside.ts';
import { notRun } from './fixture.ts';

describe('the start file of Electron', () => {
  const scope = testScope();

  it("isolates the app from the user's data, and then runs it", async () => {
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
      dialog: {
        showMessageBox: touched('dialog'),
        showSaveDialog: (_where: string) => touched('dialog')(),
      },
      safeStorage: { encryptStringAsync: (_text: string) => touched('key store')() },
      shell: { openExternal: touched('browser') },
    } satisfies Record<string, Record<string, (...given: string[]) => unknown>>;
    loadBundle(entry, electron);
    electron.app.setAsDefaultProtocolClient();
    electron.clipboard.writeText();
    electron.dialog.showMessageBox();
    electron.dialog.showSaveDialog('here');
    electron.safeStorage.encryptStringAsync('key');
    electron.shell.openExternal();
    assert.deepEqual(seen, ['userData /the/directory', 'downloads /the/directory', 'main']);
    const { copied, opened } = globals.culvertOutside;
    assert.deepEqual([copied.length, opened.length], [1, 1]);
  });
});

describe('scenarios that step 5 does not run', () => {
  it('are listed by name', () => {
    assert.equal(
      notRun('settings', 'start the app at login'),
      "not run here, Electron's binary is missing: settings: start the app at login",
    );
  });
});
