/** Where a text occurs in a body, in any case. */
import { t } from '../../../i18n/translate.ts';
import type { JsonDocument } from './json-document.ts';
import { sourceOf } from './json-document.ts';
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
