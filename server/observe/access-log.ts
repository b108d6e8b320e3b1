/** The access log (docs/operating/monitoring.md): a line of JSON for each request, for operators who enable it. */
import { closeSync, open, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { pino } from 'pino';
import type { VisitorErrorCode } from '../../shared/errors.ts';
import type { Clock } from '../clock.ts';
import { LOG_BUFFER_MAX_BYTES, LOG_REPEAT_MS } from '../limits.ts';
import { describeError, type Log } from '../log.ts';
import { accessLines, type RequestCounts } from './counters.ts';
import { finishLog, type LineStream, type LogStream, withoutKeys } from './logger.ts';

/** One request that has ended. Nothing in it grants access: no query, no field except `Host`, no body. */
export interface AccessEntry {
  /** of the visitor, as reported by trusted proxies */
  readonly address: string;
  /** `undefined`, like `host` and `path`, if the head could not be read */
  readonly method?: string | undefined;
  /** as sent, latin1 */
  readonly host?: string | undefined;
  /** as sent, latin1, without its query */
  readonly path?: string | undefined;
  /** `undefined` if no response was begun */
  readonly status?: number | undefined;
  readonly outcome: keyof RequestCounts;
  /** the `Culvert-Error` code, if the relay itself responded */
  readonly error?: VisitorErrorCode | undefined;
  /** of the request, its head included */
  readonly bytes_in: number;
  /** of the response, its head included */
  readonly bytes_out: number;
  /** from the end of the request's head to the end of the response */
  readonly ms: number;
  /** id, `undefined` if the request went to none */
  readonly tunnel?: string | undefined;
  readonly slug?: string | undefined;
  /** id of the tunnel's account */
  readonly account?: string | undefined;
}

export type AccessLog = (entry: AccessEntry) => void;

/** Characters that JSON does not escape and a terminal may obey, and bytes of a target in an unknown encoding. */
const UNSAFE = /[\u007f-\uffff]/g;

export function createAccessLog(stream: LineStream, clock: Clock): AccessLog {
  return (entry) => {
    const line = JSON.stringify({ time: new Date(clock.now()).toISOString(), ...entry });
    stream.write(`${withoutKeys(line).replaceAll(UNSAFE, escape)}\n`);
  };
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/* The file of the access log: reopened after it was moved away, and never waited for. */

/** Its user reads and writes it, its group may read it: visits are private. */
const MODE = 0o640;

export class AccessFile implements LineStream {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #stream: LogStream;
  #opening: Promise<void> = Promise.resolve();
  #isClosed = false;
  #lastReport = -Infinity;

  /**
   * Creates the file if it does not exist; its content is kept.
   *
   * @param log called if lines cannot be written, or not fast enough
   * @throws the system's error if it cannot be opened
   */
  constructor(path: string, clock: Clock, log: Log) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
    this.#stream = this.#streamTo(openSync(path, 'a', MODE));
  }

  /**
   * Accepts a line immediately. If more than {@link LOG_BUFFER_MAX_BYTES} wait for the disk, it is dropped and
   * counted.
   */
  write(line: string): void {
    this.#stream.write(line);
  }

  /** Continues in a new file of the same name, after the previous one was moved away. Never rejects. */
  reopen(): Promise<void> {
    this.#opening = this.#opening.then(() => this.#reopen());
    return this.#opening;
  }

  /** Writes pending lines, like {@link finishLog}. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await finishLog(this.#stream, this.#clock);
  }

  async #reopen(): Promise<void> {
    try {
      const fd = await promisify(open)(this.#path, 'a', MODE);
      // The log was closed in the meantime, so nothing would ever close this file.
      if (this.#isClosed) return closeSync(fd);
      const before = this.#stream;
      this.#stream = this.#streamTo(fd);
      await finishLog(before, this.#clock);
    } catch (error) {
      this.#report(error);
    }
  }

  #streamTo(dest: number): LogStream {
    const stream = pino.destination({ dest, sync: false, maxLength: LOG_BUFFER_MAX_BYTES });
    stream.on('error', (error) => this.#report(error));
    stream.on('drop', () => {
      accessLines.dropped += 1;
      this.#report(undefined);
    });
    return stream;
  }

  #report(error: unknown): void {
    const now = this.#clock.monotonic();
    if (now - this.#lastReport < LOG_REPEAT_MS) return;
    this.#lastReport = now;
    const { dropped } = accessLines;
    this.#log('access log failing', {
      error: error === undefined ? undefined : describeError(error),
      dropped,
    });
  }
}
