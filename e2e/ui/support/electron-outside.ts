/** The app's environment outside its window in tests. Bundled into Electron's start file, so it has no imports. */

/** The environment variable that names the directory of the app's own files. */
export const DIRECTORY_VARIABLE = 'CULVERT_UI_DIRECTORY';

/** What the app did outside its window. */
export interface ElectronOutside {
  readonly copied: string[];
  readonly opened: string[];
  /** the folder that the user chooses next */
  folder: string | undefined;
}

/** Globals of the main process. */
export interface EntryGlobals {
  culvertOutside: ElectronOutside;
}

/**
 * A fake key store of the system that only shows that something was encrypted: every letter is shifted by half the
 * alphabet.
 */
export const FAKE_KEY_STORE = {
  isAsyncEncryptionAvailable: () => Promise.resolve(true),
  getSelectedStorageBackend: () => 'gnome_libsecret',
  encryptStringAsync: (text: string) => Promise.resolve(Buffer.from(rot(text))),
  decryptStringAsync: (bytes: Buffer) =>
    Promise.resolve({ result: rot(bytes.toString()), shouldReEncrypt: false }),
};

function rot(text: string): string {
  return text.replace(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 84) % 26) + 97));
}
