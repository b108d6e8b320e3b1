/** A small private file that is replaced atomically: after a crash it has its old or its new content, complete. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Turns } from '../turns.ts';

/** Maximum size of `culvert.yml` and of the stored login. A larger file must be a mistake: a tunnel needs about 150 bytes. */
export const CONFIG_FILE_MAX_BYTES = 64 * 1024;

/** The file may contain keys and names of customers. */
export const OWNER_ONLY = 0o600;
const FOLDER_OWNER_ONLY = 0o700;
/** Windows has no such modes, where the profile folder is private instead, and cannot open folders to sync them. */
export const hasModes = process.platform !== 'win32';

export class DurableFile {
  readonly path: string;
  readonly #turns = new Turns();

  /** @param path the file; its folder is created when something is written */
  constructor(path: string) {
    this.path = path;
  }

  /**
   * Resolves when the text is on disk and has replaced the previous content. Writes and removals happen in the order of the
   * calls.
   */
  write(text: string): Promise<void> {
    return this.#turns.take(() => this.#replace(text));
  }

  /** @returns whether the file existed */
  remove(): Promise<boolean> {
    return this.#turns.take(() => this.#remove());
  }

  async #remove(): Promise<boolean> {
    try {
      await rm(this.path);
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
    return true;
  }

  async #replace(text: string): Promise<void> {
    const folder = dirname(this.path);
    await mkdir(folder, { recursive: true, mode: FOLDER_OWNER_ONLY });
    // A new name each time: a draft left behind by a crash would keep its old mode.
    const draft = `${this.path}.${randomUUID()}`;
    try {
      await writeSynced(draft, text);
      await rename(draft, this.path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    if (hasModes) await syncFolder(folder);
  }
}

/** Whether a file does not exist. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', OWNER_ONLY);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a rename survive a power failure. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
