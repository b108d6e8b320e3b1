import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { HopResult } from '../../../client/diagnostics/hop.ts';
import type { DiagnosticsView } from '../../ipc/snapshot.ts';
import { translateMessage } from '../../messages/message-text.ts';
import { t } from '../../messages/translate.ts';
import { diagnosticsWords, hopWords, nextHop } from '../model/diagnostics.ts';
import { useAction } from '../view/context.ts';
import { Failure } from '../view/controls.tsx';
import { useModal } from '../view/keyboard.ts';

const TITLE = 'checkup-title';
const MARKS = { ok: '✓', failed: '✗', skipped: '–' } as const;

/** The path to the relay and back, hop by hop as each is checked, with remedies for a failure. */
export function DiagnosticsDialog({ checkup }: { checkup: DiagnosticsView }): JSX.Element {
  const dialog = useModal();
  const end = useRef<HTMLButtonElement>(null);
  const action = useAction();
  // A layout effect, so that keys immediately apply to it.
  useLayoutEffect(() => end.current?.focus(), []);
  const close = (): void => void action.run('checkup:stop', undefined);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    close();
  };
  const next = nextHop(checkup);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={TITLE} onKeyDown={onKeyDown}>
      <h2 id={TITLE}>
        {checkup.slug === undefined ? t('checkup.toRelay') : t('checkup.toTunnel', { slug: checkup.slug })}
      </h2>
      {/* First, because it is what people want to know; the hops below may not fit in the window. */}
      <p class="checkup-verdict" role="status">
        {diagnosticsWords(checkup)}
      </p>
      <ul class="hops">
        {checkup.results.map((result) => (
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
      <Failure problem={action.error} />
      <div class="dialog-buttons dialog-buttons-stay">
        <button ref={end} type="button" class="button" onClick={close}>
          {t('common.close')}
        </button>
      </div>
    </dialog>
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
      {result !== 'skipped' && (
        <span class="hop-time dim">{t('latency.milliseconds', { milliseconds: ms })}</span>
      )}
      <span class="hop-detail">{translateMessage(detail)}</span>
      {fix !== undefined && <span class="hop-detail hop-fix">{translateMessage(fix)}</span>}
    </li>
  );
}
