/** A JSON document as the rows of a tree: only unfolded nodes, and only the beginning of long lists. */
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import { t } from '../../../messages/translate.ts';
import { childrenOf, type JsonDocument, type JsonNode, sourceOf } from './json-document.ts';

/** Members of one object or array that are shown at a time; more on demand. */
export const PAGE = 100;
/** Characters of a string that are shown while it is folded. */
export const LONG_STRING = 300;
/** Rows drawn together: a few more than are visible at a time. */
const PART_ROWS = 50;
/** Rows that are unfolded initially. */
const FIRST_ROWS = 40;

/** The unfolded nodes by number, each with the number of its visible members. */
export type Unfolded = ReadonlyMap<number, number>;

export interface JsonRow {
  /** number of the node; a row for more members has the number of their container */
  readonly number: number;
  readonly isMore: boolean;
  /** from 1 */
  readonly level: number;
  /** among its siblings, from 1 */
  readonly position: number;
  readonly siblings: number;
}

/** Identifies a row. */
export type RowName = Pick<JsonRow, 'number' | 'isMore'>;

/** The initially unfolded nodes: level by level, as long as the tree is easy to survey. */
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

/** The visible rows in order. */
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

/** The rows in parts, of which only those near the visible area are drawn. */
export function rowParts(rows: readonly JsonRow[]): readonly (readonly JsonRow[])[] {
  const count = Math.ceil(rows.length / PART_ROWS);
  return Array.from({ length: count }, (_, n) => rows.slice(n * PART_ROWS, (n + 1) * PART_ROWS));
}

/** The id of a row. */
export function rowId({ number, isMore }: RowName): string {
  return `${isMore ? 'more' : 'row'}-${number}`;
}

/** Whether a folded row hides something: members, or the rest of a long string. */
export function isFoldable(node: JsonNode): boolean {
  return node.count > 0 || (node.kind === 'string' && node.end - node.start > LONG_STRING);
}

/** Unfolds everything around a node far enough to show it; returns the same object if it is visible. */
export function revealed({ nodes }: JsonDocument, unfolded: Unfolded, number: number): Unfolded {
  const more = new Map<number, number>();
  for (let node = nodes[number]; node !== undefined && node.parent >= 0; node = nodes[node.parent]) {
    const needed = Math.ceil((node.index + 1) / PAGE) * PAGE;
    if ((unfolded.get(node.parent) ?? 0) < needed) more.set(node.parent, needed);
  }
  return more.size === 0 ? unfolded : new Map([...unfolded, ...more]);
}

/** Text that can be shown as sent: without escapes and unprintable characters. */
const PLAIN = /^[ !#-[\]-~]*$|^"[ !#-[\]-~]*"$/;

/**
 * The displayed form of a value or name: escapes are decoded, and characters made visible that hide or reverse text.
 */
export function shownSource(source: string): string {
  if (PLAIN.test(source)) return source;
  const text = source.startsWith('"') ? JSON.stringify(JSON.parse(source)) : source;
  return escapeUnprintable(text);
}

/** The summary of an object or array: `{…} 3 members`; `[…] first 518 elements` if the text ends within it. */
export function summaryOf(node: JsonNode): string {
  const { kind, count } = node;
  if (node.isCut === true)
    return kind === 'object'
      ? t('body.firstMembers', { braces: '{…}', count })
      : t('body.firstElements', { braces: '[…]', count });
  if (node.count === 0) return node.kind === 'object' ? '{}' : '[]';
  return node.kind === 'object'
    ? t('body.members', { braces: '{…}', count: node.count })
    : t('body.elements', { braces: '[…]', count: node.count });
}

/** The text to copy for a value: the characters of a string, or the source of any other value. */
export function copiedValue(document: JsonDocument, number: number): string {
  const node = document.nodes[number];
  if (node === undefined) return '';
  const source = sourceOf(document, node);
  return node.kind === 'string' ? (JSON.parse(source) as string) : source;
}

/* The path of a value in a JSON document (JSONPath, RFC 9535). */

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

/** `$.a[0]['b c']`. A name that occurs several times in an object means all its occurrences. */
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

/** `\u200b`, twice for a character of two code units. */
function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/*
 * The effect of keys in a tree (WAI-ARIA Authoring Practices, tree view pattern). JSON is written from left to right in
 * every language, and so is its tree: the right arrow unfolds.
 */

type TreeMove =
  /** moves to the row at that position */
  | { readonly kind: 'go'; readonly to: number }
  /** folds or unfolds the row, or shows more members */
  | { readonly kind: 'act' }
  | { readonly kind: 'unfold'; readonly more: Unfolded };

/**
 * @param key as in `KeyboardEvent.key`
 * @param at position of the row with the focus
 * @returns `undefined` for a key without an effect
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

/** The next row, wrapping around, of a member whose name, or an element whose index, begins with a character. */
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
