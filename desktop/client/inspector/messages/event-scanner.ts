import { COLON, CR, LF, SPACE } from '../../../../shared/http1/fields.ts';
import { Capture } from '../capture.ts';
import { RECORDED_BODY_MIN_BYTES } from '../records.ts';
import type { OnMessage, Scanner } from './frame-scanner.ts';

/** Longest part of an event's type and id that is kept. */
const EVENT_NAME_MAX_BYTES = 256;
/** A line end is looked for byte by byte up to here, because a search in native code costs more than a short line. */
const SHORT_LINE_BYTES = 128;
/** The names of fields, with their bytes as one number: most lines are short, and a text for each would cost the most. */
const [COMMENT, DATA, EVENT, ID, RETRY] = ['', 'data', 'event', 'id', 'retry'].map((name) =>
  Buffer.from(name).reduce(joinedByte, 0),
);
const FIELD_NAME_MAX = 5;
const BYTE_ORDER_MARK = Buffer.from('\u{feff}');
const RETRY_FIELD = Buffer.from('retry: ');
const LINE_BREAK = Buffer.from('\n');

/**
 * Reads the events of a response of type `text/event-stream` (HTML Standard, section 9.2.6). Work and memory for a piece are
 * proportional to its lines and its captured bytes. Fields without data make no event: comments and `retry` are told as
 * a comment, and an event that has not ended is not told.
 */
export class EventScanner implements Scanner {
  readonly isLost = false;
  readonly #onMessage: OnMessage;
  /** bytes of the mark at the start that have come; all of them once it is known whether there is one */
  #mark = 0;
  /** whether the last byte was a CR, which a LF belongs to */
  #isAfterCr = false;

  readonly #data = new Text();
  readonly #comment = new Text();
  readonly #name = new Text(EVENT_NAME_MAX_BYTES);
  readonly #id = new Text(EVENT_NAME_MAX_BYTES);
  readonly #texts = [this.#data, this.#comment, this.#name, this.#id];

  #part: 'name' | 'space' | 'value' = 'name';
  #fieldName = 0;
  #fieldNameLength = 0;
  /** of the current line */
  #value: Text | undefined;

  constructor(onMessage: OnMessage) {
    this.#onMessage = onMessage;
  }

  get memory(): number {
    return this.#data.memory + this.#comment.memory + this.#name.memory + this.#id.memory;
  }

  forget(): void {
    for (const text of this.#texts) text.forget();
  }

  push(piece: Buffer, start: number): void {
    let at = start;
    while (at < piece.length && this.#mark < BYTE_ORDER_MARK.length) {
      const held = this.#mark;
      if (piece[at] === BYTE_ORDER_MARK[held]) {
        this.#mark += 1;
        at += 1;
      } else {
        this.#mark = BYTE_ORDER_MARK.length;
        this.#read(BYTE_ORDER_MARK.subarray(0, held), 0);
      }
    }
    this.#read(piece, at);
  }

  #read(piece: Buffer, start: number): void {
    // Each is searched for once, however many lines end with the other.
    let cr = -1;
    let lf = -1;
    for (let at = start; at < piece.length; at += 1) {
      if (this.#isAfterCr) {
        this.#isAfterCr = false;
        if (piece[at] === LF) continue;
      }
      let end = shortLineEnd(piece, at);
      if (end === undefined) {
        if (cr < at) cr = positionOf(piece, CR, at);
        if (lf < at) lf = positionOf(piece, LF, at);
        end = Math.min(cr, lf, piece.length);
      }
      if (end > at) this.#readLine(piece, at, end);
      if (end === piece.length) return;
      this.#endLine();
      this.#isAfterCr = piece[end] === CR;
      at = end;
    }
  }

  #readLine(piece: Buffer, start: number, end: number): void {
    let at = start;
    while (this.#part === 'name' && at < end) {
      const byte = piece[at++] ?? 0;
      if (byte === COLON) this.#beginValue();
      // No field that is known: the rest of the line is of no interest.
      else if (this.#fieldNameLength === FIELD_NAME_MAX) this.#part = 'value';
      else {
        this.#fieldName = joinedByte(this.#fieldName, byte);
        this.#fieldNameLength += 1;
      }
    }
    if (this.#part === 'space' && at < end) {
      this.#part = 'value';
      if (piece[at] === SPACE) at += 1;
    }
    if (at < end) this.#value?.append(piece, at, end);
  }

  #beginValue(): void {
    this.#part = 'space';
    switch (this.#fieldName) {
      case DATA:
        return this.#addLine(this.#data);
      case COMMENT:
        return this.#addLine(this.#comment);
      case RETRY:
        this.#addLine(this.#comment);
        return this.#comment.append(RETRY_FIELD, 0, RETRY_FIELD.length);
      case EVENT:
        return this.#replace(this.#name);
      case ID:
        return this.#replace(this.#id);
    }
  }

  #addLine(text: Text): void {
    if (text.hasBegun) text.append(LINE_BREAK, 0, 1);
    text.hasBegun = true;
    this.#value = text;
  }

  #replace(text: Text): void {
    text.clear();
    text.hasBegun = true;
    this.#value = text;
  }

  #endLine(): void {
    if (this.#part === 'name') {
      if (this.#fieldNameLength === 0) this.#endEvent();
      // The whole line is the name of a field without a value, or of none.
      else this.#beginValue();
    }
    this.#part = 'name';
    this.#fieldName = 0;
    this.#fieldNameLength = 0;
    this.#value = undefined;
  }

  #endEvent(): void {
    const data = this.#data;
    const comment = this.#comment;
    if (data.hasBegun) {
      const event =
        this.#name.size + this.#id.size === 0 ? undefined : { name: this.#name.words, id: this.#id.words };
      this.#onMessage({ kind: 'event', event, content: data.capture, size: data.size, isCompressed: false });
    } else if (comment.hasBegun)
      this.#onMessage({
        kind: 'comment',
        content: comment.capture,
        size: comment.size,
        isCompressed: false,
      });
    for (const text of this.#texts) if (text.hasBegun) text.clear();
  }
}

function joinedByte(name: number, byte: number): number {
  return name * 256 + byte;
}

/** @returns where the line ends; `undefined` for a long line, or one that continues after the piece */
function shortLineEnd(piece: Buffer, start: number): number | undefined {
  const last = Math.min(piece.length, start + SHORT_LINE_BYTES);
  for (let at = start; at < last; at += 1) if (piece[at] === LF || piece[at] === CR) return at;
  return undefined;
}

function positionOf(piece: Buffer, byte: number, start: number): number {
  const at = piece.indexOf(byte, start);
  return at === -1 ? Infinity : at;
}

/** A part of an event: the beginning of it, and its size. */
class Text {
  /** whether a field of it has come, which may be empty */
  hasBegun = false;
  size = 0;
  #max: number;
  capture = new Capture();

  /** @param max number of bytes that are kept */
  constructor(max = RECORDED_BODY_MIN_BYTES) {
    this.#max = max;
  }

  get memory(): number {
    return this.capture.capacity;
  }

  /** Its text; `undefined` without one. */
  get words(): string | undefined {
    return this.size === 0 ? undefined : this.capture.bytes.toString();
  }

  append(piece: Buffer, start: number, end: number): void {
    this.size += end - start;
    this.capture.append(piece, start, end, this.#max);
  }

  clear(): void {
    this.hasBegun = false;
    this.size = 0;
    this.capture.clear();
  }

  forget(): void {
    this.#max = 0;
    this.capture = new Capture();
  }
}
