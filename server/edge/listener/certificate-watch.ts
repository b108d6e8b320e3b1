/** Picks up a renewed certificate without a restart. */
import type { Clock, Timer } from '../../clock.ts';
import { TLS_RELOAD_MS } from '../../limits.ts';
import { describeError, type Log } from '../../log.ts';
import { type KeyPair, readKeyPair, type TlsFiles } from './tls-files.ts';

/**
 * Reads the files every {@link TLS_RELOAD_MS}, because the system's notifications miss files that are replaced by a rename
 * or behind a symbolic link. If a pair is broken, or only half renewed, the previous one stays in use.
 */
export class CertificateWatch {
  readonly #files: TlsFiles;
  readonly #use: (pair: KeyPair) => void;
  readonly #clock: Clock;
  readonly #log: Log;
  #current: KeyPair;
  /** what was wrong with the files when they were last read */
  #problem = '';
  #timer: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();

  /**
   * @param current the pair in use
   * @param use told of each new pair
   */
  constructor(files: TlsFiles, current: KeyPair, use: (pair: KeyPair) => void, clock: Clock, log: Log) {
    this.#files = files;
    this.#current = current;
    this.#use = use;
    this.#clock = clock;
    this.#log = log;
  }

  start(): void {
    this.#timer = this.#clock.setTimeout(() => void this.#lookAndGoOn(), TLS_RELOAD_MS);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Reads the files now. Never rejects. */
  reload(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  async #lookAndGoOn(): Promise<void> {
    await this.reload();
    if (this.#timer !== undefined) this.start();
  }

  async #look(): Promise<void> {
    try {
      const pair = await readKeyPair(this.#files);
      this.#problem = '';
      if (pair.cert.equals(this.#current.cert) && pair.key.equals(this.#current.key)) return;
      this.#use(pair);
      this.#current = pair;
      this.#log('certificate loaded', { valid_to: pair.validTo });
    } catch (error) {
      const problem = describeError(error);
      if (problem !== this.#problem) this.#log('certificate refused', { reason: problem });
      this.#problem = problem;
    }
  }
}
