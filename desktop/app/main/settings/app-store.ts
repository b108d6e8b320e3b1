import { readFile, rename } from 'node:fs/promises';
import { DurableFile, isMissing } from '../../../client/config/durable-file.ts';
import type { AppData } from './app-data.ts';

/** What the app remembers, in memory and on disk. */
export class AppStore {
  readonly #file: Pick<JsonFile<AppData>, 'save'>;
  #data: AppData;

  constructor(file: Pick<JsonFile<AppData>, 'save'>, data: AppData) {
    this.#file = file;
    this.#data = data;
  }

  get data(): AppData {
    return this.#data;
  }

  /** Takes effect immediately; resolves when it is on disk. */
  async change(part: Partial<AppData>): Promise<void> {
    this.#data = { ...this.#data, ...part };
    await this.#file.save(this.#data);
  }
}

/* What the app remembers in a file of its own, as JSON with the version of its shape. */

export interface JsonFileOptions<T> {
  readonly path: string;
  /** incremented when the shape changes in a way that an older Culvert cannot read */
  readonly version: number;
  /** @throws for a value of another shape */
  readonly read: (value: unknown) => T;
  readonly initial: T;
}

/** What {@link JsonFile.load} found. */
export interface Loaded<T> {
  readonly value: T;
  /** where a file that could not be read was put */
  readonly asideAt: string | undefined;
}

/** Where a value is stored: a file, or memory for a window that must not write what the app may be writing. */
export type ValueFile<T> = Pick<JsonFile<T>, 'load' | 'save' | 'remove' | 'setAside'>;

/** Forgets its value with the process. */
export class MemoryFile<T> implements ValueFile<T> {
  readonly #initial: T;
  #value: T;

  constructor(initial: T) {
    this.#initial = initial;
    this.#value = initial;
  }

  load(): Promise<Loaded<T>> {
    return Promise.resolve({ value: this.#value, asideAt: undefined });
  }

  save(value: T): Promise<void> {
    this.#value = value;
    return Promise.resolve();
  }

  remove(): Promise<void> {
    return this.save(this.#initial);
  }

  setAside(): Promise<string> {
    this.#value = this.#initial;
    return Promise.resolve('');
  }
}

export class JsonFile<T> {
  readonly #options: JsonFileOptions<T>;
  readonly #file: DurableFile;

  constructor(options: JsonFileOptions<T>) {
    this.#options = options;
    this.#file = new DurableFile(options.path);
  }

  /** @throws if the file exists but cannot be opened or moved */
  async load(): Promise<Loaded<T>> {
    const { path, version, read, initial } = this.#options;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return { value: initial, asideAt: undefined };
      throw error;
    }
    try {
      const file: unknown = JSON.parse(text);
      if (typeof file !== 'object' || file === null || !('version' in file) || file.version !== version) {
        throw new Error('another version');
      }
      return { value: read('data' in file ? file.data : undefined), asideAt: undefined };
    } catch {
      return { value: initial, asideAt: await this.setAside() };
    }
  }

  /** Moves the file to a path that nothing overwrites. @returns that path */
  async setAside(): Promise<string> {
    const { path } = this.#options;
    const asideAt = `${path}.bad-${Date.now()}`;
    await rename(path, asideAt);
    return asideAt;
  }

  /** Resolves when the value is on disk. Saves follow one another in the order of the calls. */
  async save(value: T): Promise<void> {
    await this.#file.write(
      `${JSON.stringify({ version: this.#options.version, data: value }, undefined, 2)}\n`,
    );
  }

  async remove(): Promise<void> {
    await this.#file.remove();
  }
}
