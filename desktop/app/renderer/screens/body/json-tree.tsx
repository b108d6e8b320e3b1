import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { t } from '../../../messages/translate.ts';
import type { Found } from '../../model/body/find.ts';
import { type JsonDocument, type JsonNode, sourceOf } from '../../model/body/json-document.ts';
import {
  copiedValue,
  firstUnfolded,
  isFoldable,
  jsonPath,
  type JsonRow,
  jsonRows,
  LONG_STRING,
  PAGE,
  revealed,
  rowId,
  type RowName,
  rowParts,
  shownSource,
  summaryOf,
  treeMove,
  type Unfolded,
} from '../../model/body/json-rows.ts';
import { countText } from '../../model/numbers.ts';
import { CopyButton } from '../../view/controls.tsx';

/** A longer path is shown by its end. */
const PATH_CHARACTERS = 120;

/**
 * A JSON document as a foldable tree (WAI-ARIA Authoring Practices, tree view), with buttons to copy value and path.
 */
export function JsonTree({
  label,
  document,
  found,
  current,
}: {
  label: string;
  document: JsonDocument;
  found: Found;
  /** index of the current match */
  current: number;
}): JSX.Element {
  const base = useId();
  const [unfolded, setUnfolded] = useState<Unfolded>(() => firstUnfolded(document));
  const [chosen, setChosen] = useState<RowName>({ number: 0, isMore: false });
  // What can be copied of a row is shown once somebody has been at one.
  const [isUsed, setUsed] = useState(false);
  const tree = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => jsonRows(document, unfolded), [document, unfolded]);
  const place = rows.findIndex(({ number, isMore }) => number === chosen.number && isMore === chosen.isMore);
  // The chosen row may be gone, for example one for more members once all are shown.
  const lastPlace = useRef(0);
  const at = place >= 0 ? place : Math.min(lastPlace.current, rows.length - 1);
  lastPlace.current = at;
  const foundNodes = useMemo(() => new Set(found.at), [found]);
  const target = found.at[current];
  // A layout effect, so that the next move starts at the new row.
  useLayoutEffect(() => {
    if (target === undefined) return;
    setUnfolded((before) => revealed(document, before, target));
    setChosen({ number: target, isMore: false });
  }, [document, target]);
  useEffect(() => {
    if (target === undefined) return;
    elementOf(base, { number: target, isMore: false })?.scrollIntoView({ block: 'nearest' });
  }, [base, target, rows]);
  // Read before the redraw, which may remove the part with the focused element.
  const hasFocus = tree.current?.contains(window.document.activeElement) === true;
  useLayoutEffect(() => {
    if (hasFocus) elementOf(base, chosen)?.focus();
  }, [base, chosen]);
  useLayoutEffect(() => {
    const isLost = hasFocus && window.document.activeElement === window.document.body;
    if (isLost) elementOf(base, rows[at] ?? chosen)?.focus();
  });

  const act = useCallback((row: RowName): void => {
    const { number, isMore } = row;
    setChosen(row);
    setUnfolded((before) => {
      const shown = before.get(number);
      const next = new Map(before);
      if (shown !== undefined && !isMore) next.delete(number);
      else next.set(number, (shown ?? 0) + PAGE);
      return next;
    });
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey !== (event.key === '*')) return;
    const move = treeMove(event.key, document, rows, at, unfolded);
    if (move === undefined) return;
    event.preventDefault();
    const row = rows[move.kind === 'go' ? move.to : at];
    if (move.kind === 'unfold') setUnfolded((before) => new Map([...before, ...move.more]));
    else if (row === undefined) return;
    else if (move.kind === 'act') act(row);
    else setChosen(row);
  };

  const number = rows[at]?.number ?? 0;
  const path = useMemo(() => jsonPath(document, number), [document, number]);
  return (
    <>
      <div class="body mono" role="region" aria-label={label}>
        <div
          ref={tree}
          role="tree"
          aria-label={t('body.asTree', { label })}
          onKeyDown={onKeyDown}
          onFocusIn={() => setUsed(true)}
        >
          {rowParts(rows).map((part, index) => (
            <JsonPart
              key={index}
              rows={part}
              isNeeded={index === 0 || part.some((row) => row === rows[at])}
              draw={(row) => (
                <JsonRowView
                  key={rowId(row)}
                  {...row}
                  id={`${base}-${rowId(row)}`}
                  document={document}
                  isUnfolded={unfolded.has(row.number)}
                  isChosen={row === rows[at]}
                  isFound={!row.isMore && foundNodes.has(row.number)}
                  isTarget={!row.isMore && row.number === target}
                  act={act}
                />
              )}
            />
          ))}
        </div>
      </div>
      {document.isCut && <p class="hint">{t('body.notShown')}</p>}
      {(isUsed || target !== undefined) && (
        <div class="tree-bar line split">
          <code class="grow mono" title={t('body.jsonPath')}>
            {path.length > PATH_CHARACTERS ? `…${path.slice(-PATH_CHARACTERS)}` : path}
          </code>
          <span>
            <CopyButton
              what={{ kind: 'jsonValue', name: '' }}
              label={t('body.copyValue')}
              text={() => copiedValue(document, number)}
            />
            <CopyButton what={{ kind: 'jsonPath', name: '' }} label={t('body.copyPath')} text={() => path} />
          </span>
        </div>
      )}
    </>
  );
}

/** @param base prefix of the row's id */
function elementOf(base: string, row: RowName): HTMLElement | null {
  return window.document.getElementById(`${base}-${rowId(row)}`);
}

/** Indentation limit; deeper levels start at the same position. */
const MOST_STEPS = 16;

/** One value of a JSON tree, or a placeholder for more members. Memoized, because few of many rows change at a time. */
const JsonRowView = memo(function JsonRowView({
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
  /** whether keys apply to it */
  isChosen: boolean;
  isFound: boolean;
  /** whether it is the current match */
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

/** The label of a value: its name in an object, or its index in an array. */
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
  /** whether a long string is shown completely */
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

/** px of an unwrapped row, which estimates the height of undrawn parts. */
const ROW_PX = 24;

/** Rows of a tree that are drawn only near the visible area. */
function JsonPart({
  rows,
  isNeeded,
  draw,
}: {
  rows: readonly JsonRow[];
  /** whether they are always drawn */
  isNeeded: boolean;
  draw: (row: JsonRow) => JSX.Element;
}): JSX.Element {
  const part = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  useLayoutEffect(() => {
    const element = part.current;
    const onChange = (event: Event): void =>
      setNear(!(event as ContentVisibilityAutoStateChangeEvent).skipped);
    element?.addEventListener('contentvisibilityautostatechange', onChange);
    return () => element?.removeEventListener('contentvisibilityautostatechange', onChange);
  }, []);
  const height = `${rows.length * ROW_PX}px`;
  return (
    <div ref={part} class="tree-part" role="none" style={{ containIntrinsicHeight: `auto ${height}` }}>
      {isNear || isNeeded ? rows.map(draw) : <div style={{ height }} />}
    </div>
  );
}
