/** Searches everything that is shown of recorded requests: their lines, headers and bodies. */
import { setImmediate as otherWork } from 'node:timers/promises';
import { decodeBody } from './decode-body.ts';
import { utf8Text } from './readable.ts';
import { fieldValues, LOG_START, type LogPoint, type RecordedMessage, SEARCH_MAX_CHARS } from './records.ts';
import type { RequestLog } from './request-log.ts';

/**
 * Maximum number of decompressed bytes in one pass of a search through recorded requests: about a second of work
 * in slices.
 */
export const SEARCHED_DECODED_MAX_BYTES = 64 * 1024 * 1024;
/** Number of searches of one request log that are continued when it changes. */
export const SEARCHES_MAX = 4;

/** What a search has found. */
export interface Found {
  /** numbers of requests that contain every word, in no particular order */
  readonly ids: readonly number[];
  /** whether some compressed bodies were left out, because decompressing them all would take too long */
  readonly isPartial: boolean;
}

/** ms of work between which visitors are served. */
const SLICE_MS = 4;
/** Content with such a byte near its beginning is not text. */
const BINARY_BYTES = 1024;
/** Of a large body; takes a millisecond or two. */
const PIECE_BYTES = 256 * 1024;
/** By which pieces overlap, so that each contains a whole word: a character has at most three bytes per UTF-16 unit. */
const OVERLAP_BYTES = 3 * SEARCH_MAX_CHARS;
const NOTHING = Buffer.alloc(0);

/** The words of a search, in lower case. */
function wordsOf(typed: string): readonly string[] {
  return typed.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Searches of one log. Looks at a request again only when it has changed. */
export class LogSearch {
  readonly #log: RequestLog;
  /** by their words, the one used last at the end */
  readonly #runs = new Map<string, SearchRun>();

  constructor(log: RequestLog) {
    this.#log = log;
  }

  /**
   * Finds requests that contain every word, in any case. Values of secrets are never found, because they are not shown.
   * The work is done in slices, between visitors' requests.
   *
   * @param typed words separated by spaces; without any, nothing is found
   */
  find(typed: string): Promise<Found> {
    const words = wordsOf(typed);
    const key = words.join(' ');
    const run = this.#runs.get(key) ?? new SearchRun(this.#log, words);
    this.#runs.delete(key);
    this.#runs.set(key, run);
    for (const [oldest, old] of this.#runs) {
      if (this.#runs.size <= SEARCHES_MAX) break;
      old.stop();
      this.#runs.delete(oldest);
    }
    return run.update();
  }
}

/** One search of a log, and what it has found so far. */
class SearchRun {
  readonly #log: RequestLog;
  readonly #words: readonly string[];
  readonly #found = new Set<number>();
  #point: LogPoint = LOG_START;
  #isPartial = false;
  #isStopped = false;
  #running: Promise<Found> | undefined;

  constructor(log: RequestLog, words: readonly string[]) {
    this.#log = log;
    this.#words = words;
  }

  /** Looks at what has changed since the last time. */
  update(): Promise<Found> {
    this.#running ??= this.#look().finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Looks at nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  async #look(): Promise<Found> {
    if (this.#words.length > 0) await this.#lookAtChanged();
    for (const id of this.#found) if (this.#log.find(id) === undefined) this.#found.delete(id);
    return { ids: [...this.#found], isPartial: this.#isPartial };
  }

  async #lookAtChanged(): Promise<void> {
    const { point } = this.#log;
    const { changed, isWhole } = this.#log.changedSince(this.#point);
    if (isWhole) this.#found.clear();
    const budget = { left: SEARCHED_DECODED_MAX_BYTES };
    let end = performance.now() + SLICE_MS;
    for (const { id } of changed) {
      const work = this.#has(id, budget);
      let step = work.next();
      for (; step.done !== true; step = work.next()) {
        if (performance.now() > end) {
          await otherWork();
          end = performance.now() + SLICE_MS;
        }
        if (this.#isStopped) return;
      }
      if (step.value) this.#found.add(id);
      else this.#found.delete(id);
    }
    this.#point = point;
  }

  /** Yields before each piece of work. */
  *#has(id: number, budget: { left: number }): Generator<void, boolean> {
    yield;
    const detail = this.#log.detail(id);
    if (detail === undefined) return false;
    const { method, target, status, visitor, webhook, connection, request, response } = detail;
    const messages = response === undefined ? [request] : [request, response];
    const heads = messages.flatMap(({ startLine, fields }) => [
      startLine,
      ...fields.map(([name, value]) => `${name}: ${utf8Text(value)}`),
    ]);
    let left = without(
      this.#words,
      [method, target, status, visitor, webhook, connection, ...heads].join('\n'),
    );
    for (const message of messages) {
      const bytes = left.length === 0 ? NOTHING : this.#textOf(message, budget);
      for (let at = 0; at < bytes.length && left.length > 0; at += PIECE_BYTES) {
        left = without(left, bytes.toString('utf8', at, at + PIECE_BYTES + OVERLAP_BYTES));
        yield;
      }
    }
    return left.length === 0;
  }

  /** The bytes of a body that is text. */
  #textOf(message: RecordedMessage, budget: { left: number }): Buffer {
    const isPacked = fieldValues(message, 'content-encoding').length > 0;
    if (isPacked && budget.left <= 0) {
      this.#isPartial = true;
      return NOTHING;
    }
    const bytes = isPacked ? decodeBody(message).bytes : message.body;
    if (isPacked) budget.left -= bytes.length;
    const isBinary = bytes.subarray(0, BINARY_BYTES).includes(0);
    return isBinary ? NOTHING : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}

/** The words that are not in the text. */
function without(words: readonly string[], text: string): readonly string[] {
  const lower = text.toLowerCase();
  return words.filter((word) => !lower.includes(word));
}
