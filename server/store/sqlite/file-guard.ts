/** Notices that the files of an open database are not where they were. */
import { statSync } from 'node:fs';

/**
 * A database that is deleted or replaced while it is open continues as a file without a name: everything written to it is
 * gone with the process. What is acknowledged must not be lost like that.
 */
export class FileGuard {
  readonly #files: readonly { readonly path: string; readonly identity: string | undefined }[];

  /** @param path of a database that is open in WAL mode */
  constructor(path: string) {
    this.#files = [path, `${path}-wal`].map((file) => ({ path: file, identity: identityOf(file) }));
  }

  /** @throws Error with a text for the operator unless every file is the one it was */
  check(): void {
    for (const { path, identity } of this.#files) {
      const now = identityOf(path);
      if (now === identity) continue;
      const what = now === undefined ? 'is missing' : 'was replaced';
      throw new Error(
        `${path} ${what}; put the file back, or restart the relay to begin with what is there now`,
      );
    }
  }
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}
