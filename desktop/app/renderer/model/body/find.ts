/** Where a text occurs in a body, in any case. */
import { t } from '../../../messages/translate.ts';
import { type JsonDocument, sourceOf } from './json-document.ts';
import { shownSource } from './json-rows.ts';

/** More are not looked for. */
export const MOST_FOUND = 2000;

export interface Found {
  /** where each begins: a place in a text, or the number of a node */
  readonly at: readonly number[];
  /** whether there are more */
  readonly isCut: boolean;
}

export const NOTHING_FOUND: Found = { at: [], isCut: false };

/** Occurrences in a text, which do not overlap. */
export function findInText(text: string, query: string): Found {
  if (query === '') return NOTHING_FOUND;
  const at: number[] = [];
  for (const { index } of text.matchAll(patternOf(query, 'giu'))) {
    if (at.length === MOST_FOUND) return { at, isCut: true };
    at.push(index);
  }
  return { at, isCut: false };
}

/** Nodes with the text in their name or value. */
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

/** How many were found, for people: `2 of 17`, `2 of more than 2,000`. */
export function foundText({ at, isCut }: Found, current: number): string {
  if (at.length === 0) return t('body.notFound');
  const values = { place: current + 1, count: at.length };
  return isCut ? t('body.foundOfMore', values) : t('body.foundOf', values);
}

function patternOf(query: string, flags: string): RegExp {
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`), flags);
}

/** A long text in blocks, each of which is laid out only once it comes into view. */

/** More of a text takes too long to be laid out at once. */
export const BLOCK_CHARACTERS = 4000;

/** Whole lines, or one line that is too long for that. */
export interface TextBlock {
  /** one text, or the line cut into several */
  readonly pieces: readonly string[];
  readonly lines: number;
  /** characters of the longest */
  readonly columns: number;
}

/** The blocks of a text, in order: all of their pieces together are the text. */
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
    // Both halves of a character stay together.
    const cut = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
    found.push(text.slice(start, cut));
    start = cut;
  }
  return found;
}
