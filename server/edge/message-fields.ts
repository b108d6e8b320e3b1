/** The fields of a response that is handed over as a message instead of as the bytes of HTTP/1.1. */
import type { Field } from '../../shared/http1/fields.ts';
import { CONNECTION_FIELDS } from '../../shared/http1/hop-by-hop.ts';

/** One character per byte. */
export interface MessageField {
  /** in lower case */
  readonly name: string;
  /** without blanks at its ends */
  readonly value: string;
}

const BLANKS = /^[ \t]+|[ \t]+$/g;

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
      if (end > 0) this.#add(line.slice(0, end).toLowerCase(), line.slice(end + 1).replaceAll(BLANKS, ''));
    }
  }

  #add(name: string, value: string): void {
    if (!CONNECTION_FIELDS.has(name) && !MEANINGLESS.has(name)) this.list.push({ name, value });
  }
}
