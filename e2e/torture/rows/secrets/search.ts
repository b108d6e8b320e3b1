/** Looks for keys where there must not be any. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Faults } from '../../tools/faults.ts';

/** Characters of a key that are enough to recognize it; commands show the first 8 on purpose. */
const PART = 12;

export class KeySearch {
  /** bytes searched so far */
  bytes = 0;
  readonly #keys: readonly string[];
  readonly #faults: Faults;

  constructor(keys: readonly string[], faults: Faults) {
    this.#keys = keys;
    this.#faults = faults;
  }

  /** @param figure counts what is found; `where` says where, in words */
  look(figure: string, where: string, text: string): void {
    this.bytes += text.length;
    for (const key of this.#keys) {
      const parts = [key.slice(0, PART), key.slice(PART, 2 * PART), key.slice(-PART)];
      const found = parts.find((part) => text.includes(part));
      if (found !== undefined) this.#faults.add(figure, `${where}: ${excerpt(text, found)}`);
    }
  }

  /** Searches all files of a folder. */
  lookInFolder(figure: string, folder: string): void {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      this.look(figure, entry.name, readFileSync(path, 'latin1'));
    }
  }
}

function excerpt(text: string, found: string): string {
  const at = text.indexOf(found);
  return JSON.stringify(text.slice(Math.max(0, at - 100), at + 100));
}
