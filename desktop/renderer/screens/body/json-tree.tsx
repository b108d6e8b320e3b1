import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useId, useMemo, useState } from 'preact/hooks';
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
  type Unfolded,
} from '../../model/body/json-rows.ts';
import { treeMove } from '../../model/body/tree-keys.ts';
import { CopyButton } from '../../view/copy-button.tsx';
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
  const [chosen, setChosen] = useState(rowId(0, false));
  const rows = useMemo(() => jsonRows(document, unfolded), [document, unfolded]);
  // What was chosen may have been folded away since.
  const at = Math.max(
    0,
    rows.findIndex((row) => rowId(row.number, row.isMore) === chosen),
  );
  const foundNodes = useMemo(() => new Set(found.at), [found]);
  const target = found.at[current];
  // Before it shows: whoever moves on by then moves on from there.
  useLayoutEffect(() => {
    if (target === undefined) return;
    setUnfolded((before) => revealed(document, before, target));
    setChosen(rowId(target, false));
  }, [document, target]);
  useEffect(() => {
    if (target === undefined) return;
    const element = window.document.getElementById(`${base}-${rowId(target, false)}`);
    element?.scrollIntoView({ block: 'nearest' });
  }, [base, target, rows]);

  const act = (index: number): void => {
    const row = rows[index];
    if (row === undefined) return;
    const { number, isMore } = row;
    setChosen(rowId(number, isMore));
    setUnfolded((before) => {
      const shown = before.get(number);
      const next = new Map(before);
      if (shown !== undefined && !isMore) next.delete(number);
      else next.set(number, (shown ?? 0) + PAGE);
      return next;
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey !== (event.key === '*')) return;
    const move = treeMove(event.key, document, rows, at, unfolded);
    if (move === undefined) return;
    event.preventDefault();
    if (move.kind === 'act') act(at);
    else if (move.kind === 'unfold') setUnfolded((before) => new Map([...before, ...move.more]));
    else {
      const next = rows[move.to];
      if (next === undefined) return;
      const id = rowId(next.number, next.isMore);
      setChosen(id);
      window.document.getElementById(`${base}-${id}`)?.focus();
    }
  };

  const number = rows[at]?.number ?? 0;
  const path = useMemo(() => jsonPath(document, number), [document, number]);
  return (
    <>
      <div class="body mono" role="region" aria-label={label}>
        <div class="tree" role="tree" aria-label={t('body.asTree', { label })} onKeyDown={onKeyDown}>
          {rows.map((row, index) => {
            const id = rowId(row.number, row.isMore);
            return (
              <JsonRowView
                key={id}
                id={`${base}-${id}`}
                document={document}
                row={row}
                isUnfolded={unfolded.has(row.number)}
                isChosen={index === at}
                isFound={!row.isMore && foundNodes.has(row.number)}
                isTarget={!row.isMore && row.number === target}
                onClick={() => act(index)}
              />
            );
          })}
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
