import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { CallError, DetailView } from '../../../shared/ipc.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { keptMessage } from '../../model/kept-message.ts';
import { bytesText, clockText } from '../../model/numbers.ts';
import { outcome, statusText, targetText, timeText } from '../../model/request.ts';
import { visitorWords } from '../../model/visitor.ts';
import { useShell } from '../../view/context.ts';
import { Failure, Notice } from '../../view/parts.tsx';
import { Screen } from '../../view/screen.tsx';
import { Signature } from '../signature/signature.tsx';
import { Message } from './message.tsx';
import { RequestActions } from './request-actions.tsx';
import { Waterfall } from './waterfall.tsx';

/** How soon a request that has no response yet is looked at again. */
const PENDING_MS = 1000;

/** One request in full, with its response. */
export function RequestScreen({
  tunnelKey,
  id,
  tunnels,
}: {
  tunnelKey: string;
  id: number;
  tunnels: readonly TunnelView[];
}): JSX.Element {
  const [reveal, setReveal] = useState(false);
  const { detail, error } = useDetail(tunnelKey, id, reveal);
  const canReach = tunnels.some(({ key, status }) => key === tunnelKey && status.name === 'online');

  return (
    <Screen
      title={
        detail === undefined
          ? t('request.request')
          : `${escapeUnprintable(detail.method)} ${targetText(detail)}`
      }
      titleDir={detail === undefined ? undefined : 'ltr'}
    >
      <Failure problem={error} />
      {detail !== undefined && (
        <>
          <Facts detail={detail} />
          <RequestActions
            tunnelKey={tunnelKey}
            detail={detail}
            canReach={canReach}
            reveal={reveal}
            setReveal={setReveal}
          />
          {(!detail.isImported || detail.timing.connectedMs !== undefined) && <Waterfall detail={detail} />}
          <Signature tunnelKey={tunnelKey} detail={detail} canReach={canReach} />
          <Message of="request" message={detail.request} />
          {detail.response === undefined ? (
            <Notice>{missingResponse(detail)}</Notice>
          ) : (
            <Message of="response" message={detail.response} />
          )}
        </>
      )}
    </Screen>
  );
}

function missingResponse(detail: DetailView): string {
  if (outcome(detail) === 'unsent') return t('request.notSentYet');
  return detail.isBroken ? t('request.brokeBefore') : t('request.notYet');
}

function Facts({ detail }: { detail: DetailView }): JSX.Element {
  const { startedAt, bytesIn, bytesOut, isBroken, status, visitor, replayOf, isImported } = detail;
  return (
    <p class="facts">
      <b class={`status-${outcome(detail)}`}>{statusText(detail)}</b>
      <span>{timeText(detail)}</span>
      <span>{t('request.inAndOut', { received: bytesText(bytesIn), sent: bytesText(bytesOut) })}</span>
      <span>{clockText(startedAt)}</span>
      {visitor !== undefined && <span>{visitorWords(visitor)}</span>}
      {isBroken && status !== undefined && <span class="status-broken">{t('request.brokeOff')}</span>}
      {isImported && <span>{t('log.importedHint')}</span>}
      {replayOf !== undefined && <span>{t('log.repeatsSentence', { replayOf })}</span>}
    </p>
  );
}

function useDetail(key: string, id: number, reveal: boolean): { detail?: DetailView; error?: CallError } {
  const { bridge } = useShell();
  const [state, setState] = useState<{ detail?: DetailView; error?: CallError }>({});
  useEffect(() => {
    let timer: number | undefined;
    let isOver = false;
    let last: DetailView | undefined;
    const load = async (): Promise<void> => {
      const answer = await bridge.call('log:detail', { key, id, reveal });
      if (isOver) return;
      if (answer.ok) {
        last = keptDetail(last, answer.value);
        setState({ detail: last });
      } else setState({ error: answer.error });
      const isPending = answer.ok && answer.value.durationMs === undefined && !answer.value.isBroken;
      if (isPending) timer = window.setTimeout(() => void load(), PENDING_MS);
    };
    load().catch(() => setState({ error: { code: 'no-answer', text: t('request.notRead') } }));
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [bridge, key, id, reveal]);
  return state;
}

/** With what of its messages is as before. */
function keptDetail(before: DetailView | undefined, next: DetailView): DetailView {
  const request = keptMessage(before?.request, next.request);
  return { ...next, request, response: next.response && keptMessage(before?.response, next.response) };
}
