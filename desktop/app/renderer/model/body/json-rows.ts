/** A JSON document as the rows of a tree: what is unfolded, and of long lists only the beginning. */
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import { t } from '../../../messages/translate.ts';
import { childrenOf, type JsonDocument, type JsonNode, sourceOf } from './json-document.ts';

/** Members of one object or array that are shown at a time; more on demand. */
export const PAGE = 100;
/** Characters of a string that are shown while it is folded. */
export const LONG_STRING = 300;
/** As many as are drawn at once: some more than are in view at a time. */
const PART_ROWS = 50;
/** Rows that are unfolded without being asked for. */
const FIRST_ROWS = 40;

/** Number of each node that is unfolded, with how many of its members are shown. */
export type Unfolded = ReadonlyMap<number, number>;

export interface JsonRow {
  /** number of the node; of what stands for more members: that of their object or array */
  readonly number: number;
  readonly isMore: boolean;
  /** from 1 */
  readonly level: number;
  /** among its siblings, from 1 */
  readonly position: number;
  readonly siblings: number;
}

/** What tells a row from the others. */
export type RowName = Pick<JsonRow, 'number' | 'isMore'>;

/** What is unfolded at first: level by level, as long as it stays easy to survey. */
export function firstUnfolded(document: JsonDocument): Unfolded {
  const unfolded = new Map<number, number>();
  let rows = 1;
  const waiting = [0];
  for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
    const count = document.nodes[number]?.count ?? 0;
    if (count === 0) continue;
    if (number > 0 && rows + count > FIRST_ROWS) break;
    rows += count;
    unfolded.set(number, PAGE);
    waiting.push(...childrenOf(document, number, PAGE));
  }
  return unfolded;
}

/** The rows, in order. */
export function jsonRows(document: JsonDocument, unfolded: Unfolded): readonly JsonRow[] {
  const rows: JsonRow[] = [];
  const waiting: JsonRow[] = [{ number: 0, isMore: false, level: 1, position: 1, siblings: 1 }];
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    rows.push(row);
    const { number, isMore } = row;
    const shown = unfolded.get(number);
    if (isMore || shown === undefined) continue;
    const siblings = document.nodes[number]?.count ?? 0;
    const level = row.level + 1;
    const below = childrenOf(document, number, shown).map((child, index) => ({
      number: child,
      isMore: false,
      level,
      position: index + 1,
      siblings,
    }));
    if (siblings > shown) below.push({ number, isMore: true, level, position: below.length + 1, siblings });
    waiting.push(...below.toReversed());
  }
  return rows;
}

/** The rows in parts, of which only those near to what is in view are drawn. */
export function rowParts(rows: readonly JsonRow[]): readonly (readonly JsonRow[])[] {
  const count = Math.ceil(rows.length / PART_ROWS);
  return Array.from({ length: count }, (_, n) => rows.slice(n * PART_ROWS, (n + 1) * PART_ROWS));
}

/** Names a row. */
export function rowId({ number, isMore }: RowName): string {
  return `${isMore ? 'more' : 'row'}-${number}`;
}

/** Whether there is more of it than its row shows while it is folded: members, or the rest of a long string. */
export function isFoldable(node: JsonNode): boolean {
  return node.count > 0 || (node.kind === 'string' && node.end - node.start > LONG_STRING);
}

/** With all that a node is in unfolded far enough to show it; the same if it is. */
export function revealed({ nodes }: JsonDocument, unfolded: Unfolded, number: number): Unfolded {
  const more = new Map<number, number>();
  for (let node = nodes[number]; node !== undefined && node.parent >= 0; node = nodes[node.parent]) {
    const needed = Math.ceil((node.index + 1) / PAGE) * PAGE;
    if ((unfolded.get(node.parent) ?? 0) < needed) more.set(node.parent, needed);
  }
  return more.size === 0 ? unfolded : new Map([...unfolded, ...more]);
}

/** What is shown as it was sent: without escapes, and without what could be unprintable. */
const PLAIN = /^[ !#-[\]-~]*$|^"[ !#-[\]-~]*"$/;

/** A value or name as it is shown: strings with their escapes read, and nothing in them that hides or turns around the rest. */
export function shownSource(source: string): string {
  if (PLAIN.test(source)) return source;
  const text = source.startsWith('"') ? JSON.stringify(JSON.parse(source)) : source;
  return escapeUnprintable(text);
}

/** What an object or array is: `{…} 3 members`. */
export function summaryOf(node: JsonNode): string {
  if (node.count === 0) return node.kind === 'object' ? '{}' : '[]';
  return node.kind === 'object'
    ? t('body.members', { braces: '{…}', count: node.count })
    : t('body.elements', { braces: '[…]', count: node.count });
}

/** What is copied of a value: of a string its characters, of anything else what was sent. */
export function copiedValue(document: JsonDocument, number: number): string {
  const node = document.nodes[number];
  if (node === undefined) return '';
  const source = sourceOf(document, node);
  return node.kind === 'string' ? (JSON.parse(source) as string) : source;
}

/* Where a value stands in a JSON document (JSONPath, RFC 9535). */

/** A name that needs no quotes (RFC 9535 section 2.5.1.1). */
const SHORTHAND = /^[A-Za-z_\u{80}-\u{D7FF}\u{E000}-\u{10FFFF}][\w\u{80}-\u{D7FF}\u{E000}-\u{10FFFF}]*$/u;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["'", "\\'"],
  ['\\', '\\\\'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** `$.a[0]['b c']`. A name that an object has several times names all of them. */
export function jsonPath({ nodes }: JsonDocument, number: number): string {
  const steps: string[] = [];
  for (let node = nodes[number]; node !== undefined && node.parent >= 0; node = nodes[node.parent])
    steps.push(node.name === undefined ? `[${node.index}]` : member(JSON.parse(node.name) as string));
  return `$${steps.toReversed().join('')}`;
}

function member(name: string): string {
  if (SHORTHAND.test(name)) return `.${name}`;
  const quoted = name.replace(
    /['\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => ESCAPES.get(character) ?? escapeUnits(character),
  );
  return `['${quoted}']`;
}

/** `\u200b`, twice for a character that takes two code units. */
function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/*
 * What keys do in a tree (WAI-ARIA Authoring Practices, tree view pattern). JSON is written from left to right in every
 * language, and so is its tree: the right arrow unfolds.
 */

export type TreeMove =
  /** to the row with that place */
  | { readonly kind: 'go'; readonly to: number }
  /** folds or unfolds the row, or shows more */
  | { readonly kind: 'act' }
  | { readonly kind: 'unfold'; readonly more: Unfolded };

/**
 * @param key as in `KeyboardEvent.key`
 * @param at place of the row that has the focus
 * @returns `undefined` for a key that means nothing here
 */
export function treeMove(
  key: string,
  { nodes }: JsonDocument,
  rows: readonly JsonRow[],
  at: number,
  unfolded: Unfolded,
): TreeMove | undefined {
  const row = rows[at];
  const node = nodes[row?.number ?? -1];
  if (row === undefined || node === undefined) return undefined;
  const canFold = !row.isMore && isFoldable(node);
  const isOpen = canFold && unfolded.has(row.number);
  const go = (to: number): TreeMove => ({ kind: 'go', to: Math.max(0, Math.min(to, rows.length - 1)) });
  switch (key) {
    case 'ArrowDown':
      return go(at + 1);
    case 'ArrowUp':
      return go(at - 1);
    case 'Home':
      return go(0);
    case 'End':
      return go(rows.length - 1);
    case 'ArrowRight':
      if (canFold && !isOpen) return { kind: 'act' };
      return isOpen && node.count > 0 ? go(at + 1) : go(at);
    case 'ArrowLeft': {
      if (isOpen) return { kind: 'act' };
      const parent = row.isMore ? row.number : node.parent;
      return go(rows.findIndex(({ number, isMore }) => number === parent && !isMore));
    }
    case 'Enter':
    case ' ':
      return row.isMore || canFold ? { kind: 'act' } : go(at);
    case '*': {
      const siblings = rows.filter(({ number, isMore }) => !isMore && nodes[number]?.parent === node.parent);
      const folded = siblings.filter(
        ({ number }) => (nodes[number]?.count ?? 0) > 0 && !unfolded.has(number),
      );
      return { kind: 'unfold', more: new Map(folded.map(({ number }) => [number, PAGE])) };
    }
    default: {
      const to = placeOfName(key, nodes, rows, at);
      return to === undefined ? undefined : go(to);
    }
  }
}

/** The next row, from the top again after the last one, of a member whose name, or an element whose place, begins with a character. */
function placeOfName(
  key: string,
  nodes: JsonDocument['nodes'],
  rows: readonly JsonRow[],
  at: number,
): number | undefined {
  if (key.length !== 1) return undefined;
  const typed = key.toLowerCase();
  for (let step = 1; step <= rows.length; step += 1) {
    const place = (at + step) % rows.length;
    const row = rows[place];
    if (row !== undefined && !row.isMore && nameOf(nodes[row.number]).startsWith(typed)) return place;
  }
  return undefined;
}

function nameOf(node: JsonNode | undefined): string {
  if (node === undefined || node.parent < 0) return '';
  return (node.name?.slice(1) ?? String(node.index)).toLowerCase();
}
