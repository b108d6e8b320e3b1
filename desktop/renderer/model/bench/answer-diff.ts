/** The response that came to an edited request, beside the one that came before. */
import { t } from '../../../i18n/translate.ts';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { MessageView } from '../../../shared/ipc.ts';
import { utf8Text } from '../../../shared/readable-target.ts';
import { bodyView, prettyText } from '../body/body-view.ts';
import { bytesText } from '../numbers.ts';
import { lineDiff } from './line-diff.ts';

/** One row: what was there before, beside what is there now; `undefined` where there is nothing. */
export interface DiffRow {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Rows as they are shown; a number stands for so many that are the same on both sides. */
export type ShownRow = DiffRow | number;

export interface AnswerDiff {
  readonly status: DiffRow;
  readonly headers: readonly ShownRow[];
  readonly body: readonly ShownRow[];
}

/** Rows that are shown around one that differs. */
const AROUND = 3;
/** Rows that are shown in all: nobody reads more, and a page of them is still quick. */
const ROWS_MAX = 1000;
/** Fields that differ each time, and say nothing. */
const RESTLESS: ReadonlySet<string> = new Set(['date']);

/** @param before `undefined` where no response came */
export function answerDiff(before: MessageView | undefined, after: MessageView | undefined): AnswerDiff {
  return {
    status: { before: before && statusOf(before), after: after && statusOf(after) },
    headers: folded(rows(headersOf(before), headersOf(after))),
    body: folded(rows(bodyOf(before), bodyOf(after))),
  };
}

/** Whether the two sides of a row are the same. */
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
  const cut = message?.isTruncated === true ? [t('bench.moreNotKept')] : [];
  if (text !== undefined) return [...text.split('\n'), ...cut];
  return [
    t('bench.notTextChecksum', { bytes: bytesText(view.bytes.length), checksum: checksum(view.bytes) }),
    ...cut,
  ];
}

/** Tells bytes apart for people (FNV-1a, 32 bits). */
function checksum(bytes: Uint8Array): string {
  let hash = 0x81_1c_9d_c5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01_00_01_93) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

/** Lines that went beside those that came in their place. */
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

/** Long runs of what is the same become their number. */
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
