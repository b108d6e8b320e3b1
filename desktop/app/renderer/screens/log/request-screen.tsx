import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import type { CallError, DetailView } from '../../../ipc/ipc.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import { bytesText, clockText } from '../../model/numbers.ts';
import {
  hiddenSecrets,
  outcome,
  savedMessage,
  statusText,
  targetText,
  timeText,
  visitorWords,
} from '../../model/request.ts';
import { phases, phaseWords, shares } from '../../model/phases.ts';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/controls.tsx';
import { Screen } from '../../view/screen.tsx';
import { Signature } from '../signature.tsx';
import { Exchange } from './message.tsx';
import { RequestActions } from './request-actions.tsx';

/** How soon a request without a response is read again. */
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
  const secrets = detail === undefined ? 0 : hiddenSecrets(detail.request);

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
          <Facts tunnelKey={tunnelKey} detail={detail} />
          <RequestActions
            tunnelKey={tunnelKey}
            detail={detail}
            canReach={canReach}
            reveal={reveal}
            setReveal={setReveal}
          />
          {(!detail.isImported || detail.timing.connectedMs !== undefined) && <TimeBar detail={detail} />}
          <Signature tunnelKey={tunnelKey} detail={detail} canReach={canReach} />
          <Exchange tunnelKey={tunnelKey} detail={detail} />
          {secrets > 0 && <p class="hint">{t('request.leavesOut', { secrets })}</p>}
        </>
      )}
    </Screen>
  );
}

function Facts({ tunnelKey, detail }: { tunnelKey: string; detail: DetailView }): JSX.Element {
  const { go } = useShell();
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
      {replayOf !== undefined && (
        <button
          type="button"
          class="link"
          onClick={() => go({ screen: 'request', key: tunnelKey, id: replayOf })}
        >
          {t('log.repeatsSentence', { replayOf })}
        </button>
      )}
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

/** The new details, with unchanged messages reused. */
function keptDetail(before: DetailView | undefined, next: DetailView): DetailView {
  const request = savedMessage(before?.request, next.request);
  return { ...next, request, response: next.response && savedMessage(before?.response, next.response) };
}

/** The phases of a request as one bar, and in words. */
function TimeBar({ detail }: { detail: DetailView }): JSX.Element {
  const all = phases(detail);
  return (
    <div class="time">
      {/* Decorative, because the words below contain the same. */}
      <div class="time-bar" aria-hidden="true">
        {shares(all).map(({ name, share }) => (
          <span key={name} class={`time-${name}`} style={{ flexGrow: share }} />
        ))}
      </div>
      <p class="hint">{phaseWords(all, detail.isBroken)}</p>
    </div>
  );
}
