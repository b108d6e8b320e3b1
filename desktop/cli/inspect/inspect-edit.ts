/** `culvert inspect edit`: sends a request as it was changed. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { byteSize } from '../../client/inspector/readable.ts';
import { editable, editableText, type RequestEdit } from '../../client/inspector/edit.ts';
import { utf8Text, writtenValue } from '../../client/inspector/readable.ts';
import { type RequestDetail, trimBlanks } from '../../client/inspector/records.ts';
import { IMPORT_MAX_BYTES } from '../../client/inspector/import-text.ts';

/** What the command line changes of a request; `undefined` stays. */
export interface RequestChanges {
  readonly method: string | undefined;
  readonly path: string | undefined;
  /** `Name: value` replaces all headers of that name; without a value it removes them */
  readonly headers: readonly string[];
  /** `-`: standard input */
  readonly body: string | undefined;
}

/**
 * The request with what the command line changes.
 *
 * @param readBody of standard input
 */
export async function changed(
  detail: RequestDetail,
  { method, path, headers, body }: RequestChanges,
  readBody: () => Promise<Uint8Array>,
): Promise<RequestEdit> {
  const recorded = editable(detail);
  const given = headers.map(readField);
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  return {
    method: method ?? recorded.method,
    target: path ?? recorded.target,
    fields: [
      ...recorded.fields.filter(([name]) => !names.has(name.toLowerCase())),
      ...given.filter(([, value]) => value !== ''),
    ],
    body: body === undefined ? undefined : await (body === '-' ? readBody() : new TextEncoder().encode(body)),
  };
}

/**
 * The request as the editor returns it.
 *
 * @param edit shows the text, and brings it back
 * @param sendsUnchanged whether it is sent without a change, because it gets a new signature
 * @returns `undefined` if nothing is to be sent, because nothing was changed or everything was removed
 */
export async function editedByHand(
  detail: RequestDetail,
  edit: (text: string) => Promise<string>,
  sendsUnchanged = false,
): Promise<RequestEdit | undefined> {
  const text = requestText(detail);
  const answer = await edit(text);
  if (answer === text) return sendsUnchanged ? editable(detail) : undefined;
  const isText = editableText(detail.request.body) !== undefined;
  const edited = parseRequestText(answer, isText);
  // A body that was cut and stays as it is would be half a body.
  const isSame = isText && edited?.body !== undefined && Buffer.from(detail.request.body).equals(edited.body);
  return edited && { ...edited, body: isSame ? undefined : edited.body };
}

/** The editor could not be used; the message gives the reason. */
class EditorError extends Error {}

/**
 * Lets the user edit a text in the program that VISUAL or EDITOR names, as git does: they may have options.
 *
 * The text is in a file in a folder that only this user can enter, and removed afterwards: it may have secrets.
 *
 * @returns the text once the program has ended
 * @throws EditorError when it cannot be started, or fails
 */
export async function editText(text: string, env: NodeJS.ProcessEnv): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-edit-'));
  try {
    const file = join(folder, 'request.http');
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
    await runEditor(
      env['VISUAL'] || env['EDITOR'] || (process.platform === 'win32' ? 'notepad' : 'vi'),
      file,
    );
    if (statSync(file).size > IMPORT_MAX_BYTES)
      throw new EditorError('The saved file is too long for a request');
    return readFileSync(file, 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runEditor(editor: string, file: string): Promise<void> {
  const isWindows = process.platform === 'win32';
  // The shell splits what the user has set; the path is a word of its own.
  const child = isWindows
    ? spawn(`${editor} "${file}"`, { shell: true, stdio: 'inherit' })
    : spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.on('error', (error) =>
      reject(new EditorError(`"${editor}" could not be started: ${error.message}`)),
    );
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new EditorError(`"${editor}" failed, so nothing was sent`));
    });
  });
}

/* A request as a text that can be edited: its request line, its headers, an empty line, its body. */

/** A text that is not a request; the message points to the error, for people. */
export class RequestTextError extends Error {}

/** @param detail with or without its secrets: redacted parts are restored when it is sent */
export function requestText(detail: RequestDetail): string {
  const { method, target, fields } = editable(detail);
  const body = editableText(detail.request.body);
  const notes = [
    `Request ${detail.id}: save and close the file to send it to the local port, or empty the file to send nothing.`,
    'Lines that begin with # are ignored. Culvert sets Host, Content-Length and the headers that control the connection.',
    ...(JSON.stringify([target, fields]).includes('[redacted]')
      ? ['[redacted] stands for a hidden secret; --reveal shows it.']
      : []),
    ...(body === undefined
      ? [
          `The body (${byteSize(detail.request.body.length)}) is not text. It is sent unchanged unless you write a new body.`,
        ]
      : []),
  ];
  const head = [`${method} ${target}`, ...fields.map(([name, value]) => `${name}: ${utf8Text(value)}`)];
  return `${notes.map((note) => `# ${note}\n`).join('')}${head.map((line) => `${line}\n`).join('')}\n${body === undefined ? '' : `${body}\n`}`;
}

/**
 * Reads such a text.
 *
 * @param isText whether the body was in it
 * @returns `undefined` for an empty text, which is not sent
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
    throw new RequestTextError(
      `The first line must be a method and a path, such as "GET /a?b=1", but it is "${line}".`,
    );
  const body = request.slice((end?.index ?? 0) + (end?.[0].length ?? 0)).replace(/\n$/, '');
  return {
    method,
    target,
    fields: lines.map(readField),
    body: body === '' && !isText ? undefined : new TextEncoder().encode(body),
  };
}

/** Parses a method and a target; the version after them is optional and ignored. */
function readRequestLine(line: string): { method: string; target: string } {
  const blank = line.indexOf(' ');
  if (blank < 1 || /\s/.test(line.slice(0, blank))) return { method: '', target: '' };
  const rest = line.slice(blank).trim();
  const version = /^HTTP\/\d(?:\.\d)?$/.exec(rest.slice(rest.lastIndexOf(' ') + 1));
  const target = version === null ? rest : rest.slice(0, version[0].length * -1).trimEnd();
  return { method: line.slice(0, blank), target: target === '' ? rest : target };
}

/** @param text `Name: value` */
function readField(text: string): readonly [name: string, value: string] {
  const colon = text.indexOf(':');
  if (colon === -1)
    throw new RequestTextError(`A header must have the form "Name: value", but this line is "${text}".`);
  return [trimBlanks(text.slice(0, colon)), writtenValue(trimBlanks(text.slice(colon + 1)))];
}
