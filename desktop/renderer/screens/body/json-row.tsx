import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { t } from '../../../i18n/translate.ts';
import { type JsonDocument, type JsonNode, sourceOf } from '../../model/body/json-document.ts';
import {
  isFoldable,
  type JsonRow,
  type RowName,
  LONG_STRING,
  PAGE,
  shownSource,
  summaryOf,
} from '../../model/body/json-rows.ts';
import { countText } from '../../model/numbers.ts';

/** Deeper levels begin there, too. */
const MOST_STEPS = 16;

/** One value of a JSON tree, or what stands for more of them. Few of many rows change at a time. */
export const JsonRowView = memo(function JsonRowView({
  id,
  document,
  isUnfolded,
  isChosen,
  isFound,
  isTarget,
  act,
  ...row
}: JsonRow & {
  id: string;
  document: JsonDocument;
  isUnfolded: boolean;
  /** whether the keys act on it */
  isChosen: boolean;
  isFound: boolean;
  /** whether it is what is looked at of what was found */
  isTarget: boolean;
  /** folds or unfolds it, or shows more */
  act: (row: RowName) => void;
}): JSX.Element | null {
  const node = document.nodes[row.number];
  if (node === undefined) return null;
  const canFold = !row.isMore && isFoldable(node);
  return (
    <div
      id={id}
      role="treeitem"
      class={`tree-row ${isFound ? 'tree-found' : ''} ${isTarget ? 'tree-target' : ''}`}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={canFold ? isUnfolded : undefined}
      aria-selected={isChosen}
      tabIndex={isChosen ? 0 : -1}
      style={{ paddingInlineStart: `${Math.min(row.level - 1, MOST_STEPS) * 1.1}rem` }}
      onClick={() => act(row)}
    >
      <span class="tree-fold" aria-hidden="true">
        {canFold ? (isUnfolded ? '▾' : '▸') : ''}
      </span>
      {row.isMore ? (
        <span class="dim">
          {t('body.showMoreOf', {
            count: countText(Math.min(PAGE, row.siblings - row.position + 1)),
            count2: countText(row.siblings),
          })}
        </span>
      ) : (
        <span class="tree-text">
          <Name document={document} node={node} />
          <Value document={document} node={node} isWhole={isUnfolded} />
        </span>
      )}
    </div>
  );
});

/** What a value is called: its name in an object, its place in an array. */
function Name({ document, node }: { document: JsonDocument; node: JsonNode }): JSX.Element | null {
  const parent = document.nodes[node.parent];
  if (parent === undefined) return null;
  if (parent.kind === 'array') return <span class="dim">{node.index}: </span>;
  return (
    <>
      <span class="tree-name" dir="ltr">
        {shownSource(node.name ?? '')}
      </span>
      {': '}
    </>
  );
}

function Value({
  document,
  node,
  isWhole,
}: {
  document: JsonDocument;
  node: JsonNode;
  /** whether all of a long string is shown */
  isWhole: boolean;
}): JSX.Element {
  if (node.kind === 'object' || node.kind === 'array') return <span class="dim">{summaryOf(node)}</span>;
  const text = shownSource(sourceOf(document, node));
  if (isWhole || !isFoldable(node))
    return (
      <span class={`tree-${node.kind}`} dir="ltr">
        {text}
      </span>
    );
  return (
    <span class={`tree-${node.kind}`}>
      {text.slice(0, LONG_STRING)}…
      <span class="dim">{t('body.showAllInline', { count: countText(text.length) })}</span>
    </span>
  );
}
