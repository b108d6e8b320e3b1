/** Decides how the body of a recorded message is shown, and reads the body of a form. */
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import { inOneGo, laidOutInPieces, textIn, utf8Text } from '../../../../client/inspector/readable.ts';
import type { RecordedMessage } from '../../../../client/inspector/records.ts';
import type { MessageView } from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { bytesText } from '../numbers.ts';
import type { MessageKind } from '../request.ts';
import { type JsonDocument, jsonFault, readJson } from './json-document.ts';

/** What a body belongs to: a message of HTTP, or of a WebSocket. */
export type BodyKind = MessageKind | 'message';

export interface BodyView {
  /** the content to show, without content codings if they could be removed */
  readonly bytes: Uint8Array;
  /** notes about the body, apart from its size */
  readonly notes: readonly string[];
  /** as it was sent, for {@link plainText} and {@link prettyText}; `undefined` if it is not text */
  readonly text: string | undefined;
  readonly json: JsonDocument | undefined;
  readonly form: Form | undefined;
  readonly image: ImageType | undefined;
  /** a page to preview */
  readonly html: string | undefined;
}

/** The value of a field; the name may be in any case. */
function fieldOf(message: RecordedMessage, name: string): string | undefined {
  return message.fields.find(([field]) => field.toLowerCase() === name)?.[1];
}

/** Decides how a body can be shown; `undefined` without a body. */
export function bodyView(message: MessageView): BodyView | undefined {
  if (message.body.length === 0) return undefined;
  const bytes = message.decoded?.bytes ?? message.body;
  const isCut = isBeginning(message);
  const raw = (message.decoded?.codings.length ?? 0) > 0 ? undefined : textIn(bytes, isCut);
  const isPacked = raw === undefined && (message.decoded?.codings.length ?? 0) > 0;
  const type = fieldOf(message, 'content-type') ?? '';
  const image = isPacked ? undefined : imageType(bytes);
  const json = raw === undefined ? undefined : readJson(raw, isCut);
  const notes = notesOf(message, raw !== undefined || image !== undefined);
  if (raw !== undefined && json === undefined && !isCut && isJson(type)) notes.push(...faultOf(raw));
  return {
    bytes,
    notes,
    text: raw,
    json,
    form: isPacked ? undefined : readForm(bytes, type),
    image: raw !== undefined && isSvgImage(type, raw) ? SVG : image,
    html: raw !== undefined && /^(?:text\/html|application\/xhtml\+xml)\b/i.test(type) ? raw : undefined,
  };
}

/** Whether the body is longer than what is shown of it. */
function isBeginning({ decoded, isTruncated, wholeBytes }: MessageView): boolean {
  return isTruncated || wholeBytes !== undefined || decoded?.isCut === true;
}

/** RFC 8259, and RFC 6839, section 3.1. */
function isJson(type: string): boolean {
  return /^[^;]*[/+]json\s*(?:;|$)/i.test(type);
}

/** Explains why a text is not JSON; empty if it is. */
function faultOf(text: string): string[] {
  const fault = jsonFault(text);
  if (fault === undefined) return [];
  const { line, column, found } = fault;
  if (found === '') return [t('body.jsonEnds', { line })];
  return [t('body.jsonFault', { line, column, found: escapeUnprintable(found) })];
}

const SVG: ImageType = { name: 'SVG', type: 'image/svg+xml' };

function notesOf(message: MessageView, isText: boolean): string[] {
  const { decoded, isTruncated, wholeBytes } = message;
  const notes: string[] = [];
  if (wholeBytes !== undefined && !isTruncated)
    notes.push(t('body.shortened', { bytes: bytesText(wholeBytes) }));
  else if (isBeginning(message)) notes.push(t('body.beginning'));
  if (decoded !== undefined && decoded.removed.length > 0)
    notes.push(t('body.unpacked', { codings: codingList(decoded.removed) }));
  if (decoded?.problem !== undefined)
    notes.push(t(`body.packed.${decoded.problem}`, { codings: codingList(decoded.codings) }));
  else if (!isText) notes.push(t('body.notText'));
  return notes;
}

/** The first few of the names in a field. */
function codingList(codings: readonly string[]): string {
  return codings
    .slice(0, 5)
    .map((coding) => escapeUnprintable(coding.slice(0, 40)))
    .join(', ');
}

/** The text with characters made visible that hide or reverse text. */
export function plainText({ text = '' }: Pick<BodyView, 'text'>): string {
  return escapeUnprintable(text, '\n\r\t');
}

/** The formatted text, if it can be formatted. Takes time for long texts, so it runs on demand. */
export function prettyText(view: Pick<BodyView, 'text' | 'json'>): string {
  return inOneGo(prettyInPieces(view));
}

/** The same in pieces, between which the window draws. */
export function* prettyInPieces({
  text = '',
  json,
}: Pick<BodyView, 'text' | 'json'>): Generator<void, string> {
  const isWhole = json !== undefined && !json.isCut;
  const laidOut = isWhole ? yield* laidOutInPieces(text) : undefined;
  yield;
  return plainText({ text: laidOut ?? text });
}

/** Images that the window shows, recognised by their first bytes, because the media type may be wrong. */

export interface ImageType {
  readonly name: string;
  /** media type */
  readonly type: string;
}

const SIGNATURES: readonly (readonly [ImageType, at: number, bytes: string])[] = [
  [{ name: 'PNG', type: 'image/png' }, 0, '\x89PNG\r\n\x1a\n'],
  [{ name: 'JPEG', type: 'image/jpeg' }, 0, '\xff\xd8\xff'],
  [{ name: 'GIF', type: 'image/gif' }, 0, 'GIF87a'],
  [{ name: 'GIF', type: 'image/gif' }, 0, 'GIF89a'],
  [{ name: 'WebP', type: 'image/webp' }, 8, 'WEBP'],
  [{ name: 'AVIF', type: 'image/avif' }, 4, 'ftypavif'],
  [{ name: 'AVIF', type: 'image/avif' }, 4, 'ftypavis'],
];

/** The largest number of pixels shown: decoded, an image needs four bytes for each. */
export const MOST_PIXELS = 40_000_000;

/** The type of an image; `undefined` for anything else. SVG is text, see {@link isSvgImage}. */
export function imageType(body: Uint8Array): ImageType | undefined {
  const found = SIGNATURES.find(([, at, bytes]) =>
    Array.from(bytes, (byte) => byte.charCodeAt(0)).every((byte, index) => body[at + index] === byte),
  );
  return found?.[0];
}

/** Whether a text is an SVG image that is also declared as one. */
export function isSvgImage(contentType: string, text: string): boolean {
  return /^image\/svg\+xml\b/i.test(contentType) && /<svg[\s/>]/i.test(text);
}

/** The image as a data URL. */
export function dataUrl(type: string, body: Uint8Array): string {
  let bytes = '';
  for (let at = 0; at < body.length; at += CHUNK)
    bytes += String.fromCharCode(...body.subarray(at, at + CHUNK));
  return `data:${type};base64,${btoa(bytes)}`;
}

/** The number of arguments of a function is limited. */
const CHUNK = 8192;

/** Maximum lines of a hex dump; 64 KiB. */
const MOST_LINES = 4096;
const BYTES_PER_LINE = 16;

/** A hex dump: offset, bytes, printable characters. */
export function hexDump(body: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < body.length && lines.length < MOST_LINES; at += BYTES_PER_LINE) {
    const bytes = [...body.subarray(at, at + BYTES_PER_LINE)];
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const printable = bytes
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'))
      .join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(BYTES_PER_LINE * 3 - 1)}  ${printable}`);
  }
  return lines.join('\n');
}

/* The views of a body. */

export type Way = 'json' | 'form' | 'image' | 'pretty' | 'text' | 'html' | 'hex';

/** The suitable views, the best first. A page or drawing from the network is only shown on demand. */
export function shownWays(view: BodyView): readonly Way[] {
  const isSvg = view.image?.type === 'image/svg+xml';
  const order: readonly Way[] = isSvg
    ? ['text', 'image', 'hex']
    : ['json', 'form', 'image', 'pretty', 'text', 'html', 'hex'];
  return order.filter(
    (way) => way === 'hex' || (way === 'pretty' ? waysIsWhole(view) : view[way] !== undefined),
  );
}

/** Only a complete body can be formatted. */
function waysIsWhole({ json }: BodyView): boolean {
  return json !== undefined && !json.isCut;
}

/** Nobody reads more as a table. */
const MOST_PARTS = 200;
/** Characters shown of one value. */
const MOST_CHARACTERS = 2000;

interface FormPart {
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
