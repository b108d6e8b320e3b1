/** Hears of changed files in a folder of sources, and in the folders in it. */
import { type Dirent, type FSWatcher, watch } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { WATCHED_ENTRIES_MAX, WATCHED_FOLDERS_MAX } from '../limits.ts';
import { isSource } from './is-source.ts';

export interface FolderWatch {
  close(): void;
}

/** What is asked of the system. */
export interface FolderSystem {
  readonly watch: typeof watch;
  readonly opendir: (path: string) => Promise<AsyncIterable<Pick<Dirent, 'name' | 'isDirectory'>>>;
  /** whether it hears of a whole tree by one watcher; on Linux Node would watch each file of it, wanted or not */
  readonly watchesTrees: boolean;
}

const SYSTEM: FolderSystem = { watch, opendir, watchesTrees: process.platform !== 'linux' };

/**
 * @param onChange called for each file or folder that is written, made or removed, often more than once
 * @returns what ends it, once all folders are watched, or {@link WATCHED_FOLDERS_MAX} of them, those higher up first
 */
export async function watchFolder(
  folder: string,
  onChange: () => void,
  system = SYSTEM,
): Promise<FolderWatch> {
  const folders = new WatchedFolders(onChange, system);
  await folders.add(folder);
  return folders;
}

/** One watcher for each folder, or for all where the system {@link FolderSystem.watchesTrees}. */
class WatchedFolders implements FolderWatch {
  readonly #onChange: () => void;
  readonly #system: FolderSystem;
  /** by path */
  readonly #watchers = new Map<string, FSWatcher>();
  #entriesLeft = WATCHED_ENTRIES_MAX;
  #isClosed = false;

  constructor(onChange: () => void, system: FolderSystem) {
    this.#onChange = onChange;
    this.#system = system;
  }

  /** Watches a folder and those in it. */
  async add(folder: string): Promise<void> {
    if (this.#system.watchesTrees) {
      this.#watch(folder);
      return;
    }
    const left = [folder];
    for (let path = left.shift(); path !== undefined; path = left.shift()) {
      if (this.#isClosed || this.#watchers.size >= WATCHED_FOLDERS_MAX) return;
      if (this.#watch(path)) left.push(...(await this.#foldersIn(path)));
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** @returns whether it was possible: a folder may be gone, and systems have limits of their own */
  #watch(folder: string): boolean {
    try {
      const watcher = this.#system.watch(folder, { recursive: this.#system.watchesTrees }, (event, name) =>
        this.#heard(folder, event, name),
      );
      watcher.on('error', () => this.#drop(folder));
      this.#watchers.set(folder, watcher);
      return true;
    } catch {
      return false;
    }
  }

  #heard(folder: string, event: string, name: string | null): void {
    if (this.#isClosed || (name !== null && !name.split(/[/\\]/).every(isSource))) return;
    this.#onChange();
    // A folder may be new, or gone.
    if (event === 'rename' && name !== null && !this.#system.watchesTrees)
      void this.#look(join(folder, name));
  }

  async #look(path: string): Promise<void> {
    this.#drop(path);
    const isFolder = await lstat(path).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (isFolder) await this.add(path);
  }

  #drop(folder: string): void {
    for (const [path, watcher] of this.#watchers) {
      if (path !== folder && !path.startsWith(`${folder}${sep}`)) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
  }

  async #foldersIn(folder: string): Promise<string[]> {
    const found: string[] = [];
    try {
      for await (const entry of await this.#system.opendir(folder)) {
        this.#entriesLeft -= 1;
        if (this.#entriesLeft < 0) break;
        if (entry.isDirectory() && isSource(entry.name)) found.push(join(folder, entry.name));
      }
    } catch {
      // It is gone, or not to be read.
    }
    return found;
  }
}
