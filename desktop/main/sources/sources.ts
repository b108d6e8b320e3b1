import type { Clock, Timer } from '../../engine/clock.ts';
import type { WatchedFolder } from '../../shared/bench.ts';
import { folderName } from '../folder-name.ts';
import { OWN_CHANGES_MS, SOURCES_LINGER_MS, SOURCES_SETTLE_MS } from '../limits.ts';
import type { KeptForm } from '../../shared/ipc.ts';
import type { FolderWatch } from './folder-watch.ts';
import type { FindServerFolder } from './server-folder.ts';

export interface SourcesOptions {
  readonly clock: Clock;
  readonly serverFolder: FindServerFolder;
  readonly watch: (folder: string, onChange: () => void) => Promise<FolderWatch>;
}

interface Wait {
  heard(): void;
  end(isChanged: boolean): void;
}

/** Watches the files of one local server at a time, so that a request can be repeated once they have changed. */
export class Sources {
  readonly #options: SourcesOptions;
  #watch: FolderWatch | undefined;
  #wait: Wait | undefined;
  #linger: Timer | undefined;
  /** of what is watched; another one once it is to end */
  #turn = 0;

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  /**
   * Watches what a tunnel leads to, in place of what was watched before.
   *
   * @returns the folder; `undefined` if it is not known
   */
  async start({
    folder: shared,
    port,
  }: Pick<KeptForm, 'folder' | 'port'>): Promise<WatchedFolder | undefined> {
    this.stop();
    const turn = this.#turn;
    const { serverFolder, watch } = this.#options;
    const folder = shared ?? (await serverFolder(port));
    if (folder === undefined || turn !== this.#turn) return undefined;
    const started = await watch(folder, () => this.#wait?.heard());
    if (turn !== this.#turn) {
      started.close();
      return undefined;
    }
    this.#watch = started;
    this.#stay(0);
    return { name: folderName(folder), path: folder };
  }

  /**
   * Waits until files have changed and nothing more has for {@link SOURCES_SETTLE_MS}. What changed before is not counted, nor
   * what does within {@link OWN_CHANGES_MS}: that is the doing of the request that was just sent.
   *
   * @param ms for which it waits at most
   * @returns whether they have changed
   */
  async wait(ms: number): Promise<boolean> {
    const { clock } = this.#options;
    this.#wait?.end(false);
    this.#stay(ms);
    const begunMs = clock.monotonic();
    return await new Promise((resolve) => {
      let settling: Timer | undefined;
      const timer = clock.setTimeout(() => wait.end(false), ms);
      const wait: Wait = {
        heard() {
          if (clock.monotonic() - begunMs < OWN_CHANGES_MS) return;
          settling?.cancel();
          settling = clock.setTimeout(() => wait.end(true), SOURCES_SETTLE_MS);
        },
        end: (isChanged) => {
          timer.cancel();
          settling?.cancel();
          this.#wait = undefined;
          resolve(isChanged);
        },
      };
      this.#wait = wait;
    });
  }

  /** Watches nothing any more. */
  stop(): void {
    this.#turn += 1;
    this.#wait?.end(false);
    this.#linger?.cancel();
    this.#watch?.close();
    this.#watch = undefined;
  }

  /** A page that is gone does not say so: without another question, it ends. @param ms that a wait takes */
  #stay(ms: number): void {
    this.#linger?.cancel();
    this.#linger = this.#options.clock.setTimeout(() => this.stop(), ms + SOURCES_LINGER_MS);
  }
}
