/** The draft of an edited request, and the comparison of its response with the previous one. */
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { RequestEdit } from '../../../client/inspector/edit.ts';
import { indentJson, utf8Text, writtenValue } from '../../../client/inspector/readable.ts';
import type { MessageView } from '../../../client/inspector/records.ts';
import type { EditProblemView } from '../../../client/methods/peer.ts';
import type { EditView } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';
import { bodyView, prettyText } from './body/body-view.ts';
import { bytesText } from './numbers.ts';

export interface EditDraft {
  readonly method: string;
  readonly target: string;
  /** one `Name: value` per line */
  readonly headers: string;
  /** `undefined` keeps the recorded one */
  readonly body: string | undefined;
  /** whether to sign it again, if possible */
  readonly signs: boolean;
}

export function draftOf({ method, target, fields, signer }: EditView): EditDraft {
  const headers = fields.map(([name, value]) => `${name}: ${value}`).join('\n');
  // The recorded signature is invalid for another body or another day.
  return { method, target, headers, body: undefined, signs: signer !== undefined };
}

/** The body as it is shown before anything is typed: JSON is laid out. */
export function shownBody({ body = '' }: EditView): string {
  return indentJson(body) ?? body;
}

/** The lines of a draft's headers that are not empty, with their numbers, counted from 1. */
function headerLines(headers: string): readonly (readonly [line: number, text: string])[] {
  return headers
    .split('\n')
    .map((text, index) => [index + 1, text] as const)
    .filter(([, text]) => text.trim() !== '');
}

/** `['X-A', '1']` for `X-A: 1`. */
function fieldOf(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon < 0) return [line.trim(), ''];
  return [line.slice(0, colon).trim(), writtenValue(line.slice(colon + 1).trim())];
}

/** The problems of a draft's headers, each with its line; `undefined` without any. */
export function headerProblem(
  { headers }: EditDraft,
  problems: readonly EditProblemView[],
): string | undefined {
  const lines = headerLines(headers);
  const texts = problems.flatMap(({ part, text }) => {
    if (part === 'fields') return [text];
    const [, index] = /^fields\.(\d+)\./.exec(part) ?? [];
    if (index === undefined) return [];
    return [t('bench.lineProblem', { line: lines[Number(index)]?.[0] ?? 1, problem: text })];
  });
  return texts.length === 0 ? undefined : texts.join(' ');
}

/** The request to send. Text fields only contain line feeds: lines that ended with CR and LF get them back. */
export function editOf({ method, target, headers, body, signs }: EditDraft, view: EditView) {
  const hadCrlf = view.body !== undefined && /\r\n/.test(view.body) && !/[^\r]\n/.test(view.body);
  const text = hadCrlf ? body?.replaceAll(/\r?\n/g, '\r\n') : body;
  const edit: RequestEdit = {
    method: method.trim(),
    target: target.trim(),
    fields: headerLines(headers).map(([, line]) => fieldOf(line)),
    body: text === undefined ? undefined : new TextEncoder().encode(text),
  };
  return { edit, signs: signs && view.signer !== undefined };
}

/** One row: the old line beside the new one; `undefined` if there is none. */
interface DiffRow {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The displayed rows; a number stands for that many equal rows. */
export type ShownRow = DiffRow | number;

export interface AnswerDiff {
  readonly status: DiffRow;
  readonly headers: readonly ShownRow[];
  readonly body: readonly ShownRow[];
}

/** Equal rows shown around a different one. */
const AROUND = 3;
/** Maximum number of rows: nobody reads more, and drawing them is still quick. */
const ROWS_MAX = 1000;
/** Fields that always differ, without a meaning. */
const RESTLESS: ReadonlySet<string> = new Set(['date']);

/** @param before `undefined` if there was no response */
export function answerDiff(before: MessageView | undefined, after: MessageView | undefined): AnswerDiff {
  return {
    status: { before: before && statusOf(before), after: after && statusOf(after) },
    headers: folded(rows(headersOf(before), headersOf(after))),
    body: folded(rows(bodyOf(before), bodyOf(after))),
  };
}

/** Whether the two sides of a row are equal. */
export function isSame({ before, after }: DiffRow): boolean {
  return before === after;
}

function statusOf({ startLine }: MessageView): string {
  return escapeUnprintable(startLine.replace(/^HTTP\/\S+ /, ''));
}

function headersOf(message: MessageView | undefined): string[] {
  const fields = message?.fields.filter(([name]) => !RESTLESS.has(name.toLowerCase())) ?? [];
  return fields.map(([name, value]) => escapeUnprintable(`${name}: ${utf8Text(value)}`)).sort();
}

function bodyOf(message: MessageView | undefined): string[] {
  const view = message && bodyView(message);
  if (view === undefined) return [];
  const text = view.text === undefined ? undefined : prettyText(view);
  const cut = [
    ...(message?.isTruncated === true ? [t('bench.moreNotKept')] : []),
    ...(message?.wholeBytes !== undefined ? [t('body.notShown')] : []),
  ];
  if (text !== undefined) return [...text.split('\n'), ...cut];
  return [
    t('bench.notTextChecksum', { bytes: bytesText(view.bytes.length), checksum: checksum(view.bytes) }),
    ...cut,
  ];
}

/** A short checksum that lets people compare binary bodies (FNV-1a, 32 bits). */
function checksum(bytes: Uint8Array): string {
  let hash = 0x81_1c_9d_c5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01_00_01_93) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

/** Pairs removed lines with the lines that replaced them. */
function rows(before: readonly string[], after: readonly string[]): DiffRow[] {
  const found: DiffRow[] = [];
  let gone: string[] = [];
  let added: string[] = [];
  const flush = (): void => {
    for (let index = 0; index < Math.max(gone.length, added.length); index++)
      found.push({ before: gone[index], after: added[index] });
    gone = [];
    added = [];
  };
  for (const { kind, text } of lineDiff(before, after)) {
    if (kind === 'gone') gone.push(text);
    else if (kind === 'new') added.push(text);
    else {
      flush();
      found.push({ before: text, after: text });
    }
  }
  flush();
  return found;
}

/** Replaces long runs of equal rows by their number. */
function folded(all: readonly DiffRow[]): ShownRow[] {
  const isNear = all.map(() => false);
  for (const [index, row] of all.entries()) {
    if (isSame(row)) continue;
    isNear.fill(true, Math.max(0, index - AROUND), index + AROUND + 1);
  }
  const shown: ShownRow[] = [];
  for (const [index, row] of all.entries()) {
    const last = shown.at(-1);
    if (isNear[index] === true && shown.length < ROWS_MAX) shown.push(row);
    else if (typeof last === 'number') shown[shown.length - 1] = last + 1;
    else shown.push(1);
  }
  return shown;
}

/** Compares two texts by line: unchanged, removed and added lines. */

type DiffLine =
  { readonly kind: 'same'; readonly text: string } | { readonly kind: 'gone' | 'new'; readonly text: string };

/** Maximum cells of the table, which take about 10 ms. Larger differences are not matched. */
const CELLS_MAX = 1_000_000;

/** The fewest removed and added lines (longest common subsequence), removed lines first. */
export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const middle = between(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

function between(before: readonly string[], after: readonly string[]): DiffLine[] {
  const gone = before.map((text): DiffLine => ({ kind: 'gone', text }));
  const added = after.map((text): DiffLine => ({ kind: 'new', text }));
  if (before.length * after.length > CELLS_MAX) return [...gone, ...added];
  const width = after.length + 1;
  // The number of common lines from each position to the ends.
  const common = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--)
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < before.length && column < after.length) {
    const text = before[row] ?? '';
    if (text === after[column]) {
      lines.push(same(text));
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      lines.push({ kind: 'gone', text });
      row += 1;
    } else {
      lines.push({ kind: 'new', text: after[column] ?? '' });
      column += 1;
    }
  }
  return [...lines, ...gone.slice(row), ...added.slice(column)];
}

function same(text: string): DiffLine {
  return { kind: 'same', text };
}
