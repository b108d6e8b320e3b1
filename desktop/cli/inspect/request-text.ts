/** A request as a text that can be edited: its request line, its headers, an empty line, its body. */
import { editable, editableText } from '../../engine/inspector/editing/editable.ts';
import { shownValue, writtenValue } from '../../engine/inspector/editing/field-text.ts';
import type { RequestEdit } from '../../engine/inspector/editing/request-edit.ts';
import type { RequestDetail } from '../../engine/inspector/records.ts';
import { trimBlanks } from '../../engine/inspector/trim-blanks.ts';
import { byteSize } from '../format.ts';

/** A text that is not a request; the message says where, for people. */
export class RequestTextError extends Error {}

/** @param detail with or without its secrets: what is redacted is put back when it is sent */
export function requestText(detail: RequestDetail): string {
  const { method, target, fields } = editable(detail);
  const body = editableText(detail.request.body);
  const notes = [
    `Request ${detail.id}: save and close to send it to the local port, or empty the file to send nothing.`,
    'Lines like these are left out. Host, Content-Length and what concerns the connection are written by culvert.',
    ...(JSON.stringify([target, fields]).includes('[redacted]')
      ? ['[redacted] stands for the secret that was there; --reveal shows it.']
      : []),
    ...(body === undefined
      ? [
          `The body (${byteSize(detail.request.body.length)}) is not text. It is sent as it was, unless you write another.`,
        ]
      : []),
  ];
  const head = [`${method} ${target}`, ...fields.map(([name, value]) => `${name}: ${shownValue(value)}`)];
  return `${notes.map((note) => `# ${note}\n`).join('')}${head.map((line) => `${line}\n`).join('')}\n${body === undefined ? '' : `${body}\n`}`;
}

/**
 * Reads such a text.
 *
 * @param isText whether the body was in it
 * @returns `undefined` for an empty one, which is not to be sent
 * @throws RequestTextError
 */
export function parseRequestText(text: string, isText: boolean): RequestEdit | undefined {
  const request = text.replace(/^(?:#[^\n]*(?:\n|$)|\s*\n)*/, '');
  if (request.trim() === '') return undefined;
  const end = /\r?\n\r?\n|$/.exec(request);
  const [line = '', ...lines] = request
    .slice(0, end?.index)
    .replace(/\r?\n$/, '')
    .split(/\r?\n/);
  const { method, target } = readRequestLine(line);
  if (method === '' || target === '')
    throw new RequestTextError(`The first line is a method and a path, such as "GET /a?b=1", not "${line}".`);
  const body = request.slice((end?.index ?? 0) + (end?.[0].length ?? 0)).replace(/\n$/, '');
  return {
    method,
    target,
    fields: lines.map(readField),
    body: body === '' && !isText ? undefined : new TextEncoder().encode(body),
  };
}

/** Reads a method and a target; the version behind them may be left out, and makes no difference. */
function readRequestLine(line: string): { method: string; target: string } {
  const blank = line.indexOf(' ');
  if (blank < 1 || /\s/.test(line.slice(0, blank))) return { method: '', target: '' };
  const rest = line.slice(blank).trim();
  const version = /^HTTP\/\d(?:\.\d)?$/.exec(rest.slice(rest.lastIndexOf(' ') + 1));
  const target = version === null ? rest : rest.slice(0, version[0].length * -1).trimEnd();
  return { method: line.slice(0, blank), target: target === '' ? rest : target };
}

/** @param text `Name: value` */
export function readField(text: string): readonly [name: string, value: string] {
  const colon = text.indexOf(':');
  if (colon === -1) throw new RequestTextError(`A header is "Name: value", not "${text}".`);
  return [trimBlanks(text.slice(0, colon)), writtenValue(trimBlanks(text.slice(colon + 1)))];
}
