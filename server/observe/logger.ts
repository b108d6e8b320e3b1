/** The log as lines on a stream, written by pino. */
import { pino } from 'pino';
import type { Clock } from '../clock.ts';
import { LOG_BUFFER_MAX_BYTES, LOG_CLOSE_TIMEOUT_MS } from '../limits.ts';
import { type Log, LOG_EVENTS, type LogFields, type LogFormat, type LogLevel } from '../log.ts';

interface LogOptions {
  readonly format: LogFormat;
  /** the lowest level that is written */
  readonly level: LogLevel;
}

/** Accepts whole lines. */
export interface LineStream {
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
export function withoutKeys(text: string): string {
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
