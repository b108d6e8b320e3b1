import type { JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { Found } from '../../model/body/find.ts';
import type { JsonDocument } from '../../model/body/json-document.ts';
import { jsonPath } from '../../model/body/json-path.ts';
import {
  copiedValue,
  firstUnfolded,
  jsonRows,
  PAGE,
  revealed,
  rowId,
  type RowName,
  rowParts,
  type Unfolded,
} from '../../model/body/json-rows.ts';
import { treeMove } from '../../model/body/tree-keys.ts';
import { CopyButton } from '../../view/copy-button.tsx';
import { JsonPart } from './json-part.tsx';
import { JsonRowView } from './json-row.tsx';

/** Of a long path its end is shown. */
const PATH_CHARACTERS = 120;

/** A JSON document as a tree that folds (WAI-ARIA Authoring Practices, tree view), with copies of value and path. */
export function JsonTree({
  label,
  document,
  found,
  current,
}: {
  label: string;
  document: JsonDocument;
  found: Found;
  /** which of what was found is looked at */
  current: number;
}): JSX.Element {
  const base = useId();
  const [unfolded, setUnfolded] = useState<Unfolded>(() => firstUnfolded(document));
  const [chosen, setChosen] = useState<RowName>({ number: 0, isMore: false });
  const tree = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => jsonRows(document, unfolded), [document, unfolded]);
  const place = rows.findIndex(({ number, isMore }) => number === chosen.number && isMore === chosen.isMore);
  // What was chosen may be gone since: what showed more of a list, once it shows all of it.
  const lastPlace = useRef(0);
  const at = place >= 0 ? place : Math.min(lastPlace.current, rows.length - 1);
  lastPlace.current = at;
  const foundNodes = useMemo(() => new Set(found.at), [found]);
  const target = found.at[current];
  // Before it shows: whoever moves on by then moves on from there.
  useLayoutEffect(() => {
    if (target === undefined) return;
    setUnfolded((before) => revealed(document, before, target));
    setChosen({ number: target, isMore: false });
  }, [document, target]);
  useEffect(() => {
    if (target === undefined) return;
    elementOf(base, { number: target, isMore: false })?.scrollIntoView({ block: 'nearest' });
  }, [base, target, rows]);
  // Read before the redraw: the element with the focus may go with its part.
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
          class="tree"
          role="tree"
          aria-label={t('body.asTree', { label })}
          onKeyDown={onKeyDown}
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
      {document.isCut && <p class="hint">{t('body.notKept')}</p>}
      <div class="tree-bar">
        <code class="mono" title={t('body.jsonPath')}>
          {path.length > PATH_CHARACTERS ? `…${path.slice(-PATH_CHARACTERS)}` : path}
        </code>
        <span class="ways">
          <CopyButton
            what={{ kind: 'jsonValue', name: '' }}
            label={t('body.copyValue')}
            text={() => copiedValue(document, number)}
          />
          <CopyButton what={{ kind: 'jsonPath', name: '' }} label={t('body.copyPath')} text={() => path} />
        </span>
      </div>
    </>
  );
}

/** @param base what its id begins with */
function elementOf(base: string, row: RowName): HTMLElement | null {
  return window.document.getElementById(`${base}-${rowId(row)}`);
}
