import type { AppData } from './app-data.ts';
import type { JsonFile } from './json-file.ts';

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

  /** Takes effect at once; resolves when it is on disk. */
  async change(part: Partial<AppData>): Promise<void> {
    this.#data = { ...this.#data, ...part };
    await this.#file.save(this.#data);
  }
}
