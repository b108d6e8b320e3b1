/**
 * What keys do in a tree (WAI-ARIA Authoring Practices, tree view pattern). JSON is written from left to right in every
 * language, and so is its tree: the right arrow unfolds.
 */
import type { JsonDocument, JsonNode } from './json-document.ts';
import { isFoldable, type JsonRow, PAGE, type Unfolded } from './json-rows.ts';

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
