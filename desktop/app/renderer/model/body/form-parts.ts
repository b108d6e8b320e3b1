/**
 * Parses the body of a form into a table: `application/x-www-form-urlencoded` (WHATWG URL) and `multipart/form-data`
 * (RFC 7578).
 */
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import { utf8Text } from '../../../../client/inspector/readable.ts';

/** Nobody reads more as a table. */
const MOST_PARTS = 200;
/** Characters shown of one value. */
const MOST_CHARACTERS = 2000;

export interface FormPart {
  readonly name: string;
  /** `undefined` for a file */
  readonly value: string | undefined;
  readonly file: FormFile | undefined;
}

export interface FormFile {
  readonly name: string;
  /** media type; empty if not given */
  readonly type: string;
  readonly size: number;
  /** whether the body ends within this part */
  readonly isCut: boolean;
}

export interface Form {
  readonly parts: readonly FormPart[];
  /** whether there are more parts, or the body ends within one */
  readonly isCut: boolean;
}

/**
 * Parses a form.
 *
 * @param contentType value of the field
 * @returns `undefined` if it is not a form
 */
export function readForm(body: Uint8Array, contentType: string): Form | undefined {
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return readUrlencoded(body);
  const boundary = /^multipart\/form-data\b.*?;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(
    contentType,
  );
  return boundary === null ? undefined : readMultipart(latin1(body), boundary[1] ?? boundary[2] ?? '');
}

function readUrlencoded(body: Uint8Array): Form {
  const all = [...new URLSearchParams(utf8Text(latin1(body)))];
  return {
    parts: all
      .slice(0, MOST_PARTS)
      .map(([name, value]) => ({ name: shown(name), value: shown(value), file: undefined })),
    isCut: all.length > MOST_PARTS,
  };
}

/** @param body one character per byte */
function readMultipart(body: string, boundary: string): Form | undefined {
  const delimiter = `\r\n--${boundary}`;
  const parts: FormPart[] = [];
  // The first delimiter may have no line before it.
  let at = body.startsWith(delimiter.slice(2)) ? -2 : body.indexOf(delimiter);
  if (at === -1) return undefined;
  for (;;) {
    at += delimiter.length;
    if (body.startsWith('--', at)) return { parts, isCut: false };
    const headEnd = body.indexOf('\r\n\r\n', at);
    if (headEnd === -1 || parts.length === MOST_PARTS) return { parts, isCut: true };
    const next = body.indexOf(delimiter, headEnd + 2);
    const content = body.slice(headEnd + 4, next === -1 ? undefined : Math.max(next, headEnd + 4));
    parts.push(readPart(body.slice(at, headEnd), content, next === -1));
    if (next === -1) return { parts, isCut: true };
    at = next;
  }
}

function readPart(head: string, content: string, isCut: boolean): FormPart {
  const disposition = /^content-disposition:(.*)$/im.exec(head)?.[1] ?? '';
  const name = shown(parameter(disposition, 'name') ?? '');
  const fileName = parameter(disposition, 'filename');
  if (fileName === undefined) return { name, value: shown(utf8Text(content)), file: undefined };
  const type = /^content-type:\s*(.*)$/im.exec(head)?.[1] ?? '';
  const file = { name: shown(fileName), type: shown(utf8Text(type.trim())), size: content.length, isCut };
  return { name, value: undefined, file };
}

/** A parameter as browsers send it: UTF-8, with `%22` for a quotation mark (RFC 7578 section 2, WHATWG HTML). */
function parameter(disposition: string, name: string): string | undefined {
  const found = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^\\s;"]+))`, 'i').exec(disposition);
  return found === null ? undefined : utf8Text(found[1] ?? found[2] ?? '').replaceAll('%22', '"');
}

/** Makes characters visible that hide or reverse text. */
function shown(text: string): string {
  const whole = escapeUnprintable(text.slice(0, MOST_CHARACTERS), '\n\r\t');
  return text.length > MOST_CHARACTERS ? `${whole}…` : whole;
}

function latin1(body: Uint8Array): string {
  // Not the browsers' latin1, which is windows-1252, with other characters for some bytes.
  let text = '';
  for (const byte of body) text += String.fromCharCode(byte);
  return text;
}
