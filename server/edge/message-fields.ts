/** The fields of a response that is handed over as a message instead of as the bytes of HTTP/1.1. */
import { type Field, isBlank } from '../../shared/http1/fields.ts';
import { CONNECTION_FIELDS } from '../../shared/http1/hop-by-hop.ts';

/** One character per byte. */
export interface MessageField {
  /** in lower case */
  readonly name: string;
  /** without blanks at its ends */
  readonly value: string;
}

/** RFC 9113 section 8.2.2, RFC 8441 section 5. */
const MEANINGLESS: ReadonlySet<string> = new Set(['te', 'sec-websocket-accept']);

/** Collects fields, without those about an HTTP/1.1 connection (RFC 9113 section 8.2.2). */
export class MessageFields {
  readonly list: MessageField[] = [];

  /** Adds a field as it is. */
  keepField(field: Field): void {
    this.#add(field.lower, field.value);
  }

  /** Adds fields that are written as lines of HTTP/1.1. */
  text(lines: string): void {
    for (const line of lines.split('\r\n')) {
      const end = line.indexOf(':');
      if (end > 0) this.#add(line.slice(0, end).toLowerCase(), withoutBlanks(line.slice(end + 1)));
    }
  }

  #add(name: string, value: string): void {
    if (!CONNECTION_FIELDS.has(name) && !MEANINGLESS.has(name)) this.list.push({ name, value });
  }
}

function withoutBlanks(value: string): string {
  let from = 0;
  let to = value.length;
  while (from < to && isBlank(value.charCodeAt(from))) from += 1;
  while (to > from && isBlank(value.charCodeAt(to - 1))) to -= 1;
  return value.slice(from, to);
}
