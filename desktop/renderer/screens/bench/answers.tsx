import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { DetailView } from '../../../shared/ipc.ts';
import { answerDiff, isSame, type ShownRow } from '../../model/bench/answer-diff.ts';
import { plural } from '../../model/numbers.ts';
import { useShell } from '../../view/context.ts';
import { DiffRows } from './diff-rows.tsx';

/** The response to an edited request, beside the one that the request before it had. */
export function Answers({
  tunnelKey,
  before,
  after,
}: {
  tunnelKey: string;
  /** numbers of the two requests */
  before: number;
  after: number;
}): JSX.Element | null {
  const { go } = useShell();
  const [old, now] = [useRequest(tunnelKey, before), useRequest(tunnelKey, after)];
  const diff = useMemo(() => now && answerDiff(old?.response, now.response), [old, now]);
  if (diff === undefined) return null;
  const { status, headers, body } = diff;
  return (
    <section class="responses" aria-label="Responses">
      <h2>Responses</h2>
      <p class="response-status">
        <span class="unseen">Before: </span>
        <span class="mono">{status.before ?? 'none'}</span>
        <span aria-hidden="true">→</span>
        <span class="unseen">Now: </span>
        <b class="mono">{status.after ?? 'none'}</b>
        <button
          type="button"
          id={`sent-${after}`}
          class="link"
          onClick={() => go({ screen: 'request', key: tunnelKey, id: after })}
        >
          Show request {after}
        </button>
      </p>
      <Part title="Headers" rows={headers} />
      <Part title="Body" rows={body} />
    </section>
  );
}

function Part({ title, rows }: { title: string; rows: readonly ShownRow[] }): JSX.Element {
  const differing = rows.filter((row) => typeof row !== 'number' && !isSame(row)).length;
  return (
    <section aria-label={`${title}, compared`}>
      <h3>{title}</h3>
      {rows.length === 0 ? (
        <p class="hint">None, neither before nor now.</p>
      ) : differing === 0 ? (
        <p class="hint">The same as before.</p>
      ) : (
        <>
          <p class="hint">{plural(differing, 'line differs', 'lines differ')}.</p>
          <DiffRows title={title} rows={rows} />
        </>
      )}
    </section>
  );
}

/** `undefined` until it is there. */
function useRequest(key: string, id: number): DetailView | undefined {
  const { bridge } = useShell();
  const [detail, setDetail] = useState<DetailView>();
  useEffect(() => {
    let isOver = false;
    const load = async (): Promise<void> => {
      const answer = await bridge.call('log:detail', { key, id, reveal: false });
      if (!isOver && answer.ok) setDetail(answer.value);
    };
    load().catch(() => setDetail(undefined));
    return () => {
      isOver = true;
    };
  }, [bridge, key, id]);
  return detail;
}
