import type { MessageCounts, RequestSummary, SocketMessage } from './records.ts';

/** Addresses and fields in readable form. Recorded ones have one character per byte. */

/** Decodes a text of bytes as UTF-8. Unchanged if it is not UTF-8. */
export function utf8Text(text: string): string {
  if (!/[\u{80}-\u{ff}]/u.test(text) || /[^\0-\u{ff}]/u.test(text)) return text;
  try {
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return text;
  }
}

/**
 * The text of a body; `undefined` if it is not text.
 *
 * @param isCut whether its last character may be cut, which is left out then
 */
export function textIn(body: Uint8Array, isCut = false): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: isCut });
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The value with one character per byte that sends a text as UTF-8. */
export function writtenValue(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}

/** A request target with its percent codes decoded, except delimiters: `/caf%C3%A9%2F1` is `/café%2F1`. */
export function readableTarget(target: string): string {
  const text = utf8Text(target);
  return text.replace(/(?:%[\da-f]{2})+/gi, (codes) => {
    try {
      // A decoded percent sign would look like the beginning of another code.
      return decodeURI(codes.replaceAll('%25', '%2525'));
    } catch {
      return codes;
    }
  });
}

/** Whether an imported request has never been sent from here, and has no response. */
export function isUnsent({
  isImported,
  status,
  durationMs,
  isBroken,
}: Pick<RequestSummary, 'isImported' | 'status' | 'durationMs' | 'isBroken'>): boolean {
  return isImported && status === undefined && durationMs !== undefined && !isBroken;
}

/** What a line of the log shows instead of the method: `WS`, or `SSE` for a stream of events that was read with GET. */
export function methodText({ method, messages }: Pick<RequestSummary, 'method' | 'messages'>): string {
  if (messages === undefined || method !== 'GET') return method;
  return messages.kind === 'websocket' ? 'WS' : 'SSE';
}

/**
 * `↑ 12 ↓ 340`: the messages of the visitor, and of the service. Only the service sends events.
 *
 * @param numeral writes a number
 */
export function countsText(
  { kind, fromVisitor, fromService }: MessageCounts,
  numeral: (count: number) => string = String,
): string {
  const sent = `↓ ${numeral(fromService)}`;
  return kind === 'websocket' ? `↑ ${numeral(fromVisitor)} ${sent}` : sent;
}

/** The code and the reason in a Close frame of a WebSocket (RFC 6455 section 5.5.1); `''` without them. */
export function closeText(payload: Uint8Array): string {
  const [high, low] = payload;
  if (high === undefined || low === undefined) return '';
  return `${high * 256 + low} ${new TextDecoder().decode(payload.subarray(2))}`.trimEnd();
}

/** The messages that contain every word, in any case; `visitor` and `service` stand for their senders. */
export function matchingMessages(
  messages: readonly SocketMessage[],
  typed: string,
): readonly SocketMessage[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return messages;
  return messages.filter(({ isFromVisitor, kind, event, body }) => {
    const sender = isFromVisitor ? 'visitor' : 'service';
    const fields = `${event?.name ?? ''} ${event?.id ?? ''}`;
    const text = `${sender} ${kind} ${fields} ${utf8.decode(body)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const utf8 = new TextDecoder();

/** Formats JSON for reading. */

/**
 * Line starts by level. Deeper levels use the last: indentation of nested brackets would grow with the square of their
 * length.
 */
const LINES = Array.from({ length: 33 }, (_, level) => `\n${'  '.repeat(level)}`);
/** Limit of the formatted text. Nobody reads more. */
const LAID_OUT_MAX_CHARS = 4_000_000;
/** Takes a millisecond or two to format. */
const PIECE_CHARS = 32 * 1024;
/** White space in JSON is at most this, and no other character outside strings is. */
const LAST_BLANK = 0x20;
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
/** By character code: 1 for anything but white space and parts of numbers or words. */
const STRUCTURE = new Uint8Array(0x80);
for (const code of [COMMA, COLON, OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY]) STRUCTURE[code] = 1;

/**
 * The same JSON with one value per line. Values stay as written: numbers keep every digit, and repeated names stay.
 *
 * @returns `undefined` if it is not a JSON object or array, or too long
 */
export function indentJson(text: string): string | undefined {
  return /^\s*[[{]/.test(text) && isJson(text) ? inOneGo(laidOutInPieces(text)) : undefined;
}

/**
 * Formats a text that is known to be JSON, in pieces, so that other work can be done in between.
 *
 * @returns `undefined` if it is too long
 */
export function* laidOutInPieces(text: string): Generator<void, string | undefined> {
  let depth = 0;
  let pieceEnd = PIECE_CHARS;
  let laidOut = '';
  /** start of the text to be copied unchanged */
  let from = 0;
  let at = 0;
  const take = (): void => {
    if (at > from) laidOut += text.slice(from, at);
  };
  const newLine = (): string => LINES[Math.min(depth, LINES.length - 1)] ?? '';
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at);
      continue;
    }
    if (code > LAST_BLANK && STRUCTURE[code] !== 1) {
      at += 1;
      continue;
    }
    if (laidOut.length > LAID_OUT_MAX_CHARS) return undefined;
    if (at > pieceEnd) {
      yield;
      pieceEnd = at + PIECE_CHARS;
    }
    take();
    at += 1;
    if (code === COMMA) laidOut += `,${newLine()}`;
    else if (code === COLON) laidOut += ': ';
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth -= 1;
      laidOut += newLine() + text.charAt(at - 1);
    } else if (code > LAST_BLANK) {
      const next = afterBlanks(text, at);
      const close = text.charCodeAt(next);
      if (close === CLOSE_OBJECT || close === CLOSE_ARRAY) {
        laidOut += text.charAt(at - 1) + text.charAt(next);
        at = next + 1;
      } else {
        depth += 1;
        laidOut += text.charAt(at - 1) + newLine();
      }
    }
    from = at;
  }
  take();
  return laidOut;
}

/** Runs work in pieces to its end. */
export function inOneGo<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** The end of the string that starts there. */
function stringEnd(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at !== -1 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at === -1 ? text.length : at + 1;
}

/** Whether an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

function afterBlanks(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= LAST_BLANK) at += 1;
  return at;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const KIB = 1024;
const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'];

/**
 * `512 B`, `1.5 KiB`, `36.2 MiB`, `123 MiB`, `64 KiB`: three significant digits and units of 1024, as limits have them.
 *
 * @param decimal writes a number with that many decimals
 */
export function byteSize(
  bytes: number,
  decimal = (value: number, digits: number): string => value.toFixed(digits),
): string {
  if (bytes < KIB) return `${decimal(bytes, 0)} B`;
  let value = bytes / KIB;
  let unit = 0;
  while (value >= KIB && unit < UNITS.length - 1) {
    value /= KIB;
    unit += 1;
  }
  return `${decimal(value, value < 100 && !Number.isInteger(value) ? 1 : 0)} ${UNITS[unit]}`;
}
