/** Standard output and standard error of a program: a write that fails is remembered, and never ends the program. */

/** How much output of a program is kept while its disk is full. */
const UNWRITTEN_MAX_BYTES = 65_536;

/** `process.stdout` or `process.stderr`. */
interface Stream {
  readonly fd: number;
  readonly isTTY?: boolean;
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** What is needed of `node:fs`. */
interface Files {
  fstatSync(fd: number): { isFile(): boolean; isCharacterDevice(): boolean };
  writeSync(fd: number, bytes: Uint8Array): number;
}

export class StandardOutput {
  readonly #stream: Stream;
  readonly #files: Files;
  readonly #isFile: boolean;
  readonly #onFailure: (error: Error) => void;
  /** of a file: what it did not take yet */
  #pending = new Uint8Array();
  #failure: Error | undefined;
  #written: Promise<void> = Promise.resolve();

  /**
   * @param onFailure called for the first write that fails, and again after one that succeeded
   */
  constructor(stream: Stream, files: Files, onFailure: (error: Error) => void = () => {}) {
    this.#stream = stream;
    this.#files = files;
    const stat = files.fstatSync(stream.fd);
    this.#isFile = stat.isFile() || (stat.isCharacterDevice() && stream.isTTY !== true);
    this.#onFailure = onFailure;
    // The callbacks of the writes report the errors.
    stream.on('error', () => {});
  }

  write(text: string): void {
    // Node's stream loses what a disk does not take that becomes full.
    if (this.#isFile) return this.#toFile(new TextEncoder().encode(text));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#written = promise;
    this.#stream.write(text, (error) => {
      this.#settle(error ?? undefined);
      resolve();
    });
  }

  /** @returns why the last write failed, once it is over; `undefined` if it succeeded */
  async flush(): Promise<Error | undefined> {
    await this.#written;
    return this.#failure;
  }

  /** The space may have been freed since the last write, so that is written first. */
  #toFile(bytes: Uint8Array): void {
    const room = Math.max(0, UNWRITTEN_MAX_BYTES - this.#pending.length);
    // The beginning is kept: it has the address of the tunnel, and what is shown once.
    const more = this.#pending.length === 0 ? bytes : bytes.subarray(0, room);
    let left = new Uint8Array(this.#pending.length + more.length);
    left.set(this.#pending);
    left.set(more, this.#pending.length);
    try {
      while (left.length > 0) left = left.subarray(this.#files.writeSync(this.#stream.fd, left));
      this.#pending = left;
      this.#settle(undefined);
    } catch (error) {
      this.#pending = left.slice(0, UNWRITTEN_MAX_BYTES);
      this.#settle(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #settle(error: Error | undefined): void {
    const isNew = this.#failure === undefined;
    this.#failure = error;
    if (error !== undefined && isNew) this.#onFailure(error);
  }
}

/** Whether the reader of a pipe has gone. That is no failure of a command such as `list`. */
export function isReaderGone(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE';
}
