/** A JSON document as the rows of a tree: what is unfolded, and of long lists only the beginning. */
import { t } from '../../../i18n/translate.ts';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
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
