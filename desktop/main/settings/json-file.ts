/** A small JSON file that is either old or new, never half-written. */
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface JsonFileOptions<T> {
  readonly path: string;
  /** counts up when the shape changes in a way that an older Culvert cannot read */
  readonly version: number;
  /** @throws for a value of another shape */
  readonly read: (value: unknown) => T;
  readonly initial: T;
}

/** What {@link JsonFile.load} found. */
export interface Loaded<T> {
  readonly value: T;
  /** where a file that could not be read was put aside */
  readonly asideAt: string | undefined;
}

/** The file is for its owner only (0600), for it may hold names of customers. */
export class JsonFile<T> {
  readonly #options: JsonFileOptions<T>;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: JsonFileOptions<T>) {
    this.#options = options;
  }

  /** @throws where the file is there but cannot be opened or moved */
  async load(): Promise<Loaded<T>> {
    const { path, version, read, initial } = this.#options;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { value: initial, asideAt: undefined };
      throw error;
    }
    try {
      const file: unknown = JSON.parse(text);
      if (typeof file !== 'object' || file === null || !('version' in file) || file.version !== version) {
        throw new Error('another version');
      }
      return { value: read('data' in file ? file.data : undefined), asideAt: undefined };
    } catch {
      const asideAt = `${path}.bad-${Date.now()}`;
      await rename(path, asideAt);
      return { value: initial, asideAt };
    }
  }

  /** Resolves when the value is on disk. Saves follow one another in the order of the calls. */
  async save(value: T): Promise<void> {
    const text = `${JSON.stringify({ version: this.#options.version, data: value }, undefined, 2)}\n`;
    const before = this.#writing;
    const turn = (async () => {
      await before;
      await this.#write(text);
    })();
    // The next one writes the whole value anyway.
    this.#writing = turn.catch(() => {});
    await turn;
  }

  async remove(): Promise<void> {
    await this.#writing;
    await rm(this.#options.path, { force: true });
  }

  async #write(text: string): Promise<void> {
    const { path } = this.#options;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const draft = `${path}.new`;
    const file = await open(draft, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    // A draft that a crash left behind keeps the mode it had.
    await chmod(draft, 0o600);
    await rename(draft, path);
  }
}
