import type { JSX } from 'preact';
import type { HopResult } from '../../../client/diagnostics/hop.ts';
import type { DiagnosticsView } from '../../ipc/snapshot.ts';
import { translateMessage } from '../../messages/message-text.ts';
import { t } from '../../messages/translate.ts';
import { diagnosticsWords, hopWords, nextHop } from '../model/diagnostics.ts';
import { useAction } from '../view/context.ts';
import { Dialog } from '../view/kit.tsx';

const MARKS = { ok: '✓', failed: '✗', skipped: '–' } as const;

/** The path to the relay and back, hop by hop as each is checked, with remedies for a failure. */
export function DiagnosticsDialog({ checkup }: { checkup: DiagnosticsView }): JSX.Element {
  const action = useAction();
  const { slug, results } = checkup;
  const next = nextHop(checkup);
  return (
    <Dialog
      title={slug === undefined ? t('checkup.toRelay') : t('checkup.toTunnel', { slug })}
      close={() => void action.run('checkup:stop', undefined)}
      problem={action.error}
      isResult
    >
      {/* First, because it is what people want to know; the hops below may not fit in the window. */}
      <p class="strong" role="status">
        {diagnosticsWords(checkup)}
      </p>
      <ul class="stack">
        {results.map((result) => (
          <HopRow key={result.hop} result={result} />
        ))}
        {next !== undefined && (
          <li class="hop hop-next">
            <span class="hop-mark" aria-hidden="true">
              …
            </span>
            <b>{next}</b>
          </li>
        )}
      </ul>
    </Dialog>
  );
}

function HopRow({ result: { hop, result, ms, detail, fix } }: { result: HopResult }): JSX.Element {
  return (
    <li class={`hop hop-${result}`}>
      <span class="hop-mark" aria-hidden="true">
        {MARKS[result]}
      </span>
      <b>{hopWords(hop)}</b>
      <span class="unseen"> {t(`checkup.result.${result}`)}</span>
      {result !== 'skipped' && <span class="dim">{t('latency.milliseconds', { milliseconds: ms })}</span>}
      <span class="hop-detail">{translateMessage(detail)}</span>
      {fix !== undefined && <span class="hop-detail strong">{translateMessage(fix)}</span>}
    </li>
  );
}
