/** The client's programs that the relay hands out, from a folder that its operator fills (docs/reference/settings.md). */
import { open, readdir, readFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isSea } from 'node:sea';

/** The systems that programs are made for, as people call them. */
export const SYSTEMS = {
  'linux-x64': 'Linux (Intel and AMD)',
  'linux-arm64': 'Linux (ARM)',
  'macos-arm64': 'macOS (Apple silicon)',
  'macos-x64': 'macOS (Intel)',
  'windows-x64': 'Windows',
} as const;
export type System = keyof typeof SYSTEMS;

/** A program, compressed with gzip. */
export interface Download {
  readonly file: FileHandle;
  /** in bytes, compressed */
  readonly size: number;
}

/** The folder `downloads` beside a relay that is a single file, or in its package. */
export const OWN_DOWNLOADS = join(isSea() ? dirname(process.execPath) : import.meta.dirname, 'downloads');

export class Downloads {
  readonly #folder: string;

  /** @param folder has `culvert-<system>.gz` and `culvert-<system>.sha256` for each system; it may be missing */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @returns the systems that there is a program for */
  async systems(): Promise<System[]> {
    const files = new Set(await readdir(this.#folder).catch(() => []));
    const names = Object.keys(SYSTEMS) as System[];
    return names.filter((name) => files.has(`culvert-${name}.gz`) && files.has(`culvert-${name}.sha256`));
  }

  /**
   * @param name as it was asked for
   * @returns an open file, which the caller closes; `undefined` if there is no such program
   */
  async open(name: string): Promise<Download | undefined> {
    if (!Object.hasOwn(SYSTEMS, name)) return undefined;
    const file = await open(join(this.#folder, `culvert-${name}.gz`)).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      return { file, size: (await file.stat()).size };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** @returns SHA-256 of a program in hex; `undefined` if there is no such program */
  async digest(name: string): Promise<string | undefined> {
    if (!Object.hasOwn(SYSTEMS, name)) return undefined;
    const text = await readFile(join(this.#folder, `culvert-${name}.sha256`), 'latin1').catch(() => '');
    return /^[0-9a-f]{64}(?=\s|$)/.exec(text)?.[0];
  }
}
