import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { KeptView } from '../../../shared/sets.ts';
import { isFine, type KeptResult, resultText } from '../../model/kept-results.ts';
import { targetText } from '../../model/request.ts';
import { useShell } from '../../view/context.ts';
import type { Action } from '../../view/use-action.ts';
import { ActionLink } from '../../view/action-link.tsx';

/** A request of a set, what came of it when it was sent last, and what can be done with it. */
export function KeptRow({
  tunnelKey,
  set,
  request,
  result,
  canSend,
  isBusy,
  run,
  send,
}: {
  tunnelKey: string;
  /** id of its set */
  set: string;
  request: KeptView;
  result: KeptResult | undefined;
  canSend: boolean;
  /** whether one of the sets is being sent */
  isBusy: boolean;
  run: Action['run'];
  send: () => void;
}): JSX.Element {
  const { go } = useShell();
  const target = targetText(request);
  const method = escapeUnprintable(request.method);
  const words = `${method} ${target}`;
  const edit = async (): Promise<void> => {
    const answer = await run('set:open', { key: tunnelKey, set, request: request.id });
    if (answer.ok) go({ screen: 'edit', key: tunnelKey, id: answer.value.id });
  };
  return (
    <li class="kept-row">
      <span class="kept-request" dir="ltr">
        <span class="method">{method}</span> {target}
      </span>
      {result !== undefined && (
        <button
          type="button"
          id={`result-${request.id}`}
          class={`link ${isFine(result) ? '' : 'status-failed'}`}
          aria-label={t('sets.resultOf', { result: resultText(result), request: words })}
          onClick={() => go({ screen: 'request', key: tunnelKey, id: result.id })}
        >
          {resultText(result)}
        </button>
      )}
      <span class="set-actions">
        <button
          type="button"
          id={`send-${request.id}`}
          class="link"
          aria-label={t('tunnels.actionOf', { action: t('bench.send'), slug: words })}
          disabled={!canSend}
          aria-disabled={isBusy}
          onClick={send}
        >
          {t('bench.send')}
        </button>
        <ActionLink id={`edit-${request.id}`} label={t('sets.edit')} of={words} onClick={() => void edit()} />
        <ActionLink
          label={t('sets.remove')}
          of={words}
          apart
          onClick={() => void run('set:remove-request', { set, request: request.id })}
        />
      </span>
    </li>
  );
}
