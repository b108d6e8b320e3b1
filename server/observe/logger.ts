/**
 * How a relay reports to its operator: the log as lines on a stream, written by pino, and the access log
 * (docs/operating/monitoring.md), a line of JSON for each request, for operators who enable it.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, open, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { API_ERRORS, ApiError, type VisitorErrorCode } from '../../shared/errors.ts';
import type { Protocol } from '../../shared/tunnel.ts';
import type { Clock } from '../clock.ts';
import {
  describeError,
  errorFields,
  type Log,
  LOG_EVENTS,
  type LogFields,
  type LogFormat,
  type LogLevel,
  REQUEST_ID_FIELD,
} from '../log.ts';
import type { PrimaryLink } from '../workers/primary-link.ts';
import { accessLines, type RequestCounts } from './counters.ts';

/** Maximum size of the log lines buffered for a slow reader; several thousand lines. */
export const LOG_BUFFER_MAX_BYTES = 1024 * 1024;
/**
 * Maximum time to write the last log lines when the relay exits: a stalled reader must not keep the program
 * running.
 */
export const LOG_CLOSE_TIMEOUT_MS = 1000;
/** Milliseconds between two log lines that report the same thing as slow. */
export const LOG_REPEAT_MS = 10_000;

interface LogOptions {
  readonly format: LogFormat;
  /** the lowest level that is written */
  readonly level: LogLevel;
}

/** Accepts whole lines. */
interface LineStream {
  write(line: string): unknown;
}

/** An API key, in case a text contains one despite all precautions. */
const KEY = /cvt_[0-9A-Za-z]+/g;

/** @returns a log that writes one line for each event: JSON, or text for people */
export function createLog({ format, level }: LogOptions, stream: LineStream): Log {
  const lines = format === 'json' ? stream : { write: (line: string) => stream.write(prettyLine(line)) };
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const logger = pino(options, lines);
  return (event, fields = {}) => logger[LOG_EVENTS[event].level](fieldsWithoutKeys(fields), event);
}

/** A stream of the log that can be finished. */
export type LogStream = ReturnType<typeof pino.destination>;

/**
 * Standard error (or another file descriptor), buffered: a reader that stalls must not delay visitors. Beyond {@link
 * LOG_BUFFER_MAX_BYTES}, lines that it does not read in time are dropped.
 */
export function stderrStream(dest = 2): LogStream {
  const stream = pino.destination({ dest, sync: false, maxLength: LOG_BUFFER_MAX_BYTES });
  // A full disk, for example: pending lines are written with the next one, once there is space.
  stream.on('error', () => {});
  return stream;
}

/**
 * Writes pending lines, or gives up after {@link LOG_CLOSE_TIMEOUT_MS}. A process that exits without calling it may
 * lose its last lines or write them in the wrong order.
 */
export function finishLog(stream: LogStream, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const giveUp = (): void => {
      timer.cancel();
      // Otherwise the process would try forever to write the rest when it exits, for example on a full disk.
      stream.destroy();
      resolve();
    };
    const timer = clock.setTimeout(giveUp, LOG_CLOSE_TIMEOUT_MS);
    stream.once('error', giveUp);
    stream.once('close', () => {
      timer.cancel();
      resolve();
    });
    stream.end();
    // A late line is dropped; the stream itself would throw, and crash the program.
    stream.write = () => true;
  });
}

/** A text without the API keys in it. */
function withoutKeys(text: string): string {
  return text.replaceAll(KEY, 'cvt_…');
}

function fieldsWithoutKeys(fields: LogFields): LogFields {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? withoutKeys(value) : value,
  ]);
  return Object.fromEntries(entries) as LogFields;
}

/** A line of the log for people at a terminal. */

interface LoggedLine {
  readonly time: string;
  readonly level: string;
  readonly msg: string;
  readonly stack?: string;
}

/** Values that need no quotes. */
const PLAIN = /^[\w.:/+@-]+$/;

/**
 * @param json a line of the log, as JSON
 * @returns `12:00:00.000 INFO  tunnel created tunnel=… slug=…`; ambiguous values, such as those with spaces or control
 *   characters, in quotes; the stack of an error on separate lines
 */
function prettyLine(json: string): string {
  const { time, level, msg, stack, ...fields } = JSON.parse(json) as LoggedLine;
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${shownValue(value)}`);
  const trace = stack === undefined ? '' : `${printable(stack)}\n`;
  return `${time.slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${msg}${shown.join('')}\n${trace}`;
}

function shownValue(value: unknown): string {
  return typeof value === 'string' && !PLAIN.test(value) ? printable(JSON.stringify(value)) : String(value);
}

/** Replaces characters that could control the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, '?');
}

/** One request, or one connection to a TLS or TCP tunnel, that has ended. Nothing in it grants access: no query, no field except `Host`, no body. */
export interface AccessEntry {
  /** of the visitor, as reported by trusted proxies */
  readonly address: string;
  /** `tls` or `tcp` for a connection to such a tunnel; missing for a request of HTTP */
  readonly protocol?: Protocol | undefined;
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

export interface Operator {
  readonly log: Log;
  /** called for each request, if the access log is enabled */
  readonly accessLog: AccessLog | undefined;
  /** Shows a person at a terminal text that must not be in a log: a key. `undefined` without a terminal. */
  readonly tell: ((line: string) => void) | undefined;
  /** listeners provided by the service manager, by name */
  readonly listeners: ReadonlyMap<string, object>;
  /** Notifies the service manager, if there is one, that this process serves; never rejects. */
  readonly announce: () => Promise<void>;
  /** To be awaited before anybody is served; it is never fulfilled if a signal has ended the start. */
  readonly commit: () => Promise<void>;
  /** Starts one more process of this relay, see {@link primary}. */
  readonly startWorker: () => ChildProcess;
  /** the first process of this relay, if this is one of several others */
  readonly primary: PrimaryLink | undefined;
}

/** Reports an unexpected error; the response to it names the line of the log. */
export type Unexpected = (error: unknown) => ApiError;

export function reportTo(log: Log): Unexpected {
  return (error) => {
    const request_id = randomUUID();
    log('internal error', { request_id, at: 'connection', ...errorFields(error) });
    return new ApiError(API_ERRORS.internal, { [REQUEST_ID_FIELD]: request_id });
  };
}
