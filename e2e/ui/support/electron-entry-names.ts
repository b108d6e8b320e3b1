/** What the driver of Electron and the file with which it starts the app both know. */

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
