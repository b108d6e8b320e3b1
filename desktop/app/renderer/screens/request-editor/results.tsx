import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DetailView } from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { latencyText } from '../../model/numbers.ts';
import { type AnswerDiff, answerDiff, isSame, type ShownRow } from '../../model/request-editor.ts';
import { useShell } from '../../view/context.ts';
import { Button } from '../../view/kit.tsx';
import { useLoaded } from '../../view/use-loaded.ts';

/** The responses to a request and to its edited copy. */
interface AnswersView {
  /** number of the edited request */
  readonly after: number;
  readonly detail: DetailView;
  readonly diff: AnswerDiff;
}

/** Loads both responses; the earlier one may no longer be kept. @returns `undefined` until the new one is loaded */
export function useAnswers(key: string, before: number, after: number | undefined): AnswersView | undefined {
  const [old, now] = [useRequest(key, before), useRequest(key, after)];
  return useMemo(
    () => now && { after: now.id, detail: now, diff: answerDiff(old?.response, now.response) },
    [old, now],
  );
}

/** `201 · 31 ms · 3 lines differ` */
export function resultWords({ detail, diff }: AnswersView): string {
  const { status, durationMs } = detail;
  if (status === undefined) return t('bench.noResponseCame');
  const lines = differing(diff.headers) + differing(diff.body);
  return t('bench.result', { status: String(status), time: latencyText(durationMs ?? 0), lines });
}

function differing(rows: readonly ShownRow[]): number {
  return rows.filter((row) => typeof row !== 'number' && !isSame(row)).length;
}

/** The response to an edited request, beside the previous response. */
export function Answers({ tunnelKey, answers }: { tunnelKey: string; answers: AnswersView }): JSX.Element {
  const { go } = useShell();
  const { after, diff } = answers;
  const { status, headers, body } = diff;
  return (
    <section class="responses" aria-label={t('bench.responses')}>
      <h2>{t('bench.responses')}</h2>
      <p class="line">
        <span class="unseen">{t('bench.before')}</span>
        <Status status={status.before} />
        <span aria-hidden="true">→</span>
        <span class="unseen">{t('bench.now')}</span>
        <b>
          <Status status={status.after} />
        </b>
        <Button
          id={`sent-${after}`}
          look="link"
          act={() => go({ screen: 'request', key: tunnelKey, id: after })}
        >
          {t('bench.showRequest')}
        </Button>
      </p>
      <Part title={t('bench.headers')} rows={headers} />
      <Part title={t('bench.body')} rows={body} />
    </section>
  );
}

function Status({ status }: { status: string | undefined }): JSX.Element {
  return status === undefined ? <span>{t('bench.noStatus')}</span> : <code class="mono">{status}</code>;
}

function Part({ title, rows }: { title: string; rows: readonly ShownRow[] }): JSX.Element {
  const lines = differing(rows);
  return (
    <section aria-label={t('bench.compared', { title })}>
      <h3>{title}</h3>
      {rows.length === 0 ? (
        <p class="hint">{t('bench.none')}</p>
      ) : lines === 0 ? (
        <p class="hint">{t('bench.same')}</p>
      ) : (
        <>
          <p class="hint">{t('bench.linesDiffer', { lines })}</p>
          <DiffRows title={title} rows={rows} />
        </>
      )}
    </section>
  );
}

/** `undefined` until it is loaded. */
function useRequest(key: string, id = 0): DetailView | undefined {
  const { value } = useLoaded('log:detail', { key, id, decodes: true }, { isOn: id > 0 });
  return value?.id === id ? value : undefined;
}

/**
 * Compares two texts side by side, or below each other in a narrow window. Differences are marked by more than colour.
 */
function DiffRows({ title, rows }: { title: string; rows: readonly ShownRow[] }): JSX.Element {
  return (
    <div class="diff mono" tabIndex={0} role="region" aria-label={t('bench.beforeAndNow', { title })}>
      {rows.map((row, index) => {
        if (typeof row === 'number')
          return (
            <p key={index} class="diff-same">
              {t('bench.linesNotShown', { lines: row })}
            </p>
          );
        const { before, after } = row;
        if (isSame(row))
          return (
            <div key={index} class="diff-row" dir="ltr">
              <span>{before}</span>
              <span class="diff-again" aria-hidden="true">
                {after}
              </span>
            </div>
          );
        return (
          <div key={index} class="diff-row" dir="ltr">
            {before === undefined ? (
              <span class="diff-none" />
            ) : (
              <Side is="del" said={t('bench.before')} text={before} />
            )}
            {after === undefined ? (
              <span class="diff-none" />
            ) : (
              <Side is="ins" said={t('bench.now')} text={after} />
            )}
          </div>
        );
      })}
    </div>
  );
}

/** A line that differs. @param said which side it is, for screen readers only */
function Side({ is: Tag, said, text }: { is: 'del' | 'ins'; said: string; text: string }): JSX.Element {
  return (
    <Tag>
      <span class="unseen">{said} </span>
      {text}
    </Tag>
  );
}
