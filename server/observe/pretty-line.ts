/** A line of the log as people read it on a terminal. */

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
 * @returns `12:00:00.000 INFO  tunnel created tunnel=… slug=…`; values that could be mistaken for something else, such as
 * those with spaces or control characters, in quotes; the stack of an error on lines of its own
 */
export function prettyLine(json: string): string {
  const { time, level, msg, stack, ...fields } = JSON.parse(json) as LoggedLine;
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${shownValue(value)}`);
  const trace = stack === undefined ? '' : `${printable(stack)}\n`;
  return `${time.slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${msg}${shown.join('')}\n${trace}`;
}

function shownValue(value: unknown): string {
  return typeof value === 'string' && !PLAIN.test(value) ? printable(JSON.stringify(value)) : String(value);
}

/** The result must not control the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, '?');
}
