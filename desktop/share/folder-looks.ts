/** Looks at folders that may never answer, as on a server that is gone. */
import { type Clock, systemClock } from '../engine/clock.ts';
import { FOLDER_ANSWER_MS, SILENT_FOLDERS_MAX } from './limits.ts';

/** What was looked at has not answered in time. */
export class FolderSilent extends Error {}

export class FolderLooks {
  readonly #clock: Pick<Clock, 'setTimeout'>;
  /** looks that were given up and still keep a thread */
  #silent = 0;

  constructor(clock: Pick<Clock, 'setTimeout'> = systemClock) {
    this.#clock = clock;
  }

  /**
   * @param look asks the file system
   * @param release frees what a look gives that was given up
   * @returns what it gives
   * @throws FolderSilent if that takes more than {@link FOLDER_ANSWER_MS}, or {@link SILENT_FOLDERS_MAX} others still take longer; else
   *   what the look throws
   */
  async take<T>(look: () => Promise<T>, release: (late: T) => void = () => {}): Promise<T> {
    if (this.#silent >= SILENT_FOLDERS_MAX) throw new FolderSilent();
    const tooLate = Promise.withResolvers<never>();
    let isLate = false;
    const timer = this.#clock.setTimeout(() => {
      isLate = true;
      this.#silent += 1;
      tooLate.reject(new FolderSilent());
    }, FOLDER_ANSWER_MS);
    const looked = look().finally(() => {
      timer.cancel();
      if (isLate) this.#silent -= 1;
    });
    return Promise.race([
      looked.then((found) => {
        if (isLate) release(found);
        return found;
      }),
      tooLate.promise,
    ]);
  }
}

/** Those of this process, which has only so many threads. */
export const FOLDER_LOOKS = new FolderLooks();
