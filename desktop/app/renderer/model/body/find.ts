/** Searches a body for a text in any case. */
import { t } from '../../../messages/translate.ts';
import { type JsonDocument, sourceOf } from './json-document.ts';
import { shownSource } from './json-rows.ts';

/** The search stops at this many. */
export const MOST_FOUND = 2000;

export interface Found {
  /** start of each occurrence: a position in a text, or the number of a node */
  readonly at: readonly number[];
  /** whether there are more */
  readonly isCut: boolean;
}

export const NOTHING_FOUND: Found = { at: [], isCut: false };

/** Finds occurrences in a text that do not overlap. */
export function findInText(text: string, query: string): Found {
  if (query === '') return NOTHING_FOUND;
  const at: number[] = [];
  for (const { index } of text.matchAll(patternOf(query, 'giu'))) {
    if (at.length === MOST_FOUND) return { at, isCut: true };
    at.push(index);
  }
  return { at, isCut: false };
}

/** Finds nodes with the text in their name or value. */
export function findInJson(document: JsonDocument, query: string): Found {
  if (query === '') return NOTHING_FOUND;
  const pattern = patternOf(query, 'iu');
  const at: number[] = [];
  for (const [number, node] of document.nodes.entries()) {
    const isLeaf = node.kind !== 'object' && node.kind !== 'array';
    const isFound =
      (node.name !== undefined && pattern.test(shownSource(node.name))) ||
      (isLeaf && pattern.test(shownSource(sourceOf(document, node))));
    if (!isFound) continue;
    if (at.length === MOST_FOUND) return { at, isCut: true };
    at.push(number);
  }
  return { at, isCut: false };
}

/** The number of occurrences, for people: `2 of 17`, `2 of more than 2,000`. */
export function foundText({ at, isCut }: Found, current: number): string {
  if (at.length === 0) return t('body.notFound');
  const values = { place: current + 1, count: at.length };
  return isCut ? t('body.foundOfMore', values) : t('body.foundOf', values);
}

function patternOf(query: string, flags: string): RegExp {
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`), flags);
}

/** Splits a long text into blocks that are laid out only when they come into view. */

/** More text would take too long to lay out at a time. */
export const BLOCK_CHARACTERS = 4000;

/** Whole lines, or one longer line. */
export interface TextBlock {
  /** one text, or a long line cut into several */
  readonly pieces: readonly string[];
  readonly lines: number;
  /** length of the longest line in characters */
  readonly columns: number;
}

/** The blocks of a text in order. Their pieces, joined, are the text. */
export function textBlocks(text: string): readonly TextBlock[] {
  const blocks: TextBlock[] = [];
  let start = 0;
  let lines = 0;
  let columns = 0;
  const end = (at: number): void => {
    if (at > start) blocks.push({ pieces: pieces(text.slice(start, at)), lines, columns });
    [start, lines, columns] = [at, 0, 0];
  };
  for (let at = 0; at < text.length;) {
    const next = text.indexOf('\n', at) + 1 || text.length;
    if (next - start > BLOCK_CHARACTERS) end(at);
    lines += 1;
    columns = Math.max(columns, next - at);
    at = next;
  }
  end(text.length);
  return blocks;
}

function pieces(text: string): readonly string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = start + BLOCK_CHARACTERS;
    // Keep surrogate pairs together.
    const cut = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
    found.push(text.slice(start, cut));
    start = cut;
  }
  return found;
}
