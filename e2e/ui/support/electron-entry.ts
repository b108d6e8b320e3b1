/**
 * Runs in Electron's main process before the app's main file: it isolates the app from the user who runs the tests
 * (files, key store, clipboard, browser, links), and answers every dialog immediately.
 */
import { join } from 'node:path';
import type * as Electron from 'electron';
import { app, clipboard, dialog, safeStorage, shell } from 'electron';
import {
  DIRECTORY_VARIABLE,
  type ElectronOutside,
  type EntryGlobals,
  FAKE_KEY_STORE,
} from './electron-outside.ts';

const LEAVE_AND_QUIT = 1;
const outside: ElectronOutside = { copied: [], opened: [], folder: undefined };

Object.assign(globalThis, { culvertOutside: outside } satisfies EntryGlobals);
app.setPath('userData', process.env[DIRECTORY_VARIABLE] ?? '');
app.setPath('downloads', process.env[DIRECTORY_VARIABLE] ?? '');
Object.assign(app, { setAsDefaultProtocolClient: () => true });
Object.assign(safeStorage, FAKE_KEY_STORE);
Object.assign(clipboard, { writeText: (text: string) => Promise.resolve(void outside.copied.push(text)) });
Object.assign(shell, { openExternal: (url: string) => Promise.resolve(void outside.opened.push(url)) });
Object.assign(dialog, {
  showMessageBox: () => Promise.resolve({ response: LEAVE_AND_QUIT, checkboxChecked: false }),
  showSaveDialog: ({ defaultPath }: Electron.SaveDialogOptions) =>
    Promise.resolve({ canceled: false, filePath: defaultPath }),
  showOpenDialog({ defaultPath = '', properties = [] }: Electron.OpenDialogOptions) {
    const chosen = properties.includes('openDirectory') ? outside.folder : join(defaultPath, 'import.har');
    return Promise.resolve({
      canceled: chosen === undefined,
      filePaths: chosen === undefined ? [] : [chosen],
    });
  },
});
