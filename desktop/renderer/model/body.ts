/** The body of a recorded message as it can be shown. */
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import type { RecordedMessage } from '../../engine/inspector/records.ts';

export type BodyView =
  | { readonly kind: 'empty' }
  /** readable; `pretty` if it could be laid out better */
  | { readonly kind: 'text'; readonly text: string; readonly pretty: string | undefined }
  | { readonly kind: 'binary'; readonly why: string };

/** Laying out more than this would cause a noticeable delay. */
const MOST_PRETTY = 1_000_000;
/** Lines of a hex dump; 64 KiB. */
const MOST_HEX_LINES = 4096;
const BYTES_PER_LINE = 16;

/** Value of a field, by its name in any case. */
export function fieldOf(message: RecordedMessage, name: string): string | undefined {
  return message.fields.find(([field]) => field.toLowerCase() === name)?.[1];
}

/** Decides how a body can be shown. */
export function bodyView(message: RecordedMessage): BodyView {
  if (message.body.length === 0) return { kind: 'empty' };
  const coding = fieldOf(message, 'content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    return { kind: 'binary', why: `Compressed (${coding}), shown as it was sent.` };
  }
  const text = decode(message.body, message.isTruncated);
  if (text === undefined) return { kind: 'binary', why: 'Not text, shown as bytes.' };
  const pretty = prettyOf(text, fieldOf(message, 'content-type') ?? '');
  return { kind: 'text', text: withoutTricks(text), pretty: pretty && withoutTricks(pretty) };
}

/** Makes visible what is hidden in a text, or reverses it. */
function withoutTricks(text: string): string {
  return escapeUnprintable(text, '\n\r\t');
}

/** A hex dump: offset, bytes, printable characters. */
export function hexDump(body: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < body.length && lines.length < MOST_HEX_LINES; at += BYTES_PER_LINE) {
    const bytes = [...body.subarray(at, at + BYTES_PER_LINE)];
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const shown = bytes
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'))
      .join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(BYTES_PER_LINE * 3 - 1)}  ${shown}`);
  }
  return lines.join('\n');
}

/** @returns `undefined` for what is not text; a character that is cut at the end of a truncated body is dropped */
function decode(body: Uint8Array, isTruncated: boolean): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: isTruncated });
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function prettyOf(text: string, type: string): string | undefined {
  if (text.length > MOST_PRETTY) return undefined;
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) {
    return [...new URLSearchParams(text)].map(([name, value]) => `${name} = ${value}`).join('\n');
  }
  const looksLikeJson = /[/+]json\b/i.test(type) || /^\s*[[{]/.test(text);
  if (!looksLikeJson) return undefined;
  try {
    return JSON.stringify(JSON.parse(text) as unknown, undefined, 2);
  } catch {
    return undefined;
  }
}
