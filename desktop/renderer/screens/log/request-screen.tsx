import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { RequestDetail } from '../../../engine/inspector/records.ts';
import type { CallError } from '../../../shared/ipc.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { bytesText, clockText } from '../../model/numbers.ts';
import { outcome, statusText, timeText } from '../../model/request.ts';
import { visitorWords } from '../../model/visitor.ts';
import { useShell } from '../../view/context.ts';
import { Failure, Notice, Screen } from '../../view/parts.tsx';
import { useAction } from '../../view/use-action.ts';
import { Message } from './message.tsx';

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
  const { say, go } = useShell();
  const { detail, error } = useDetail(tunnelKey, id);
  const action = useAction();
  const [replayed, setReplayed] = useState<number>();
  const canReplay = tunnels.some(({ key, status }) => key === tunnelKey && status.name === 'online');

  const copy = async (): Promise<void> => {
    const answer = await action.run('log:copy-curl', { key: tunnelKey, id });
    if (answer.ok) say('Copied as a curl command.');
  };
  const replay = async (): Promise<void> => {
    const answer = await action.run('log:replay', { key: tunnelKey, id });
    if (!answer.ok) return;
    setReplayed(answer.value.id);
    say('Sent again.');
  };

  return (
    <Screen title={detail === undefined ? 'Request' : escapeUnprintable(`${detail.method} ${detail.target}`)}>
      <Failure problem={error} />
      {detail !== undefined && (
        <>
          <Facts detail={detail} />
          <div class="buttons">
            <button type="button" class="button" disabled={!canReplay} onClick={() => void replay()}>
              Replay
            </button>
            <button type="button" class="button" onClick={() => void copy()}>
              Copy as curl
            </button>
            {replayed !== undefined && (
              <button
                type="button"
                id="replayed"
                class="link"
                onClick={() => go({ screen: 'request', key: tunnelKey, id: replayed })}
              >
                Sent again, show it
              </button>
            )}
          </div>
          {!canReplay && <p class="hint">Replay needs the tunnel to be online.</p>}
          <Failure problem={action.error} />
          <Message title="Request" message={detail.request} />
          {detail.response === undefined ? (
            <Notice>
              {detail.isBroken
                ? 'The connection broke before a response came.'
                : 'Your server has not responded yet.'}
            </Notice>
          ) : (
            <Message title="Response" message={detail.response} />
          )}
        </>
      )}
    </Screen>
  );
}

function Facts({ detail }: { detail: RequestDetail }): JSX.Element {
  const { startedAt, bytesIn, bytesOut, isBroken, status, visitor, replayOf } = detail;
  return (
    <p class="facts">
      <b class={`status-${outcome(detail)}`}>{statusText(detail)}</b>
      <span>{timeText(detail)}</span>
      <span>
        {bytesText(bytesIn)} in, {bytesText(bytesOut)} out
      </span>
      <span>{clockText(startedAt)}</span>
      {visitor !== undefined && <span>{visitorWords(visitor)}</span>}
      {isBroken && status !== undefined && <span class="status-broken">The response broke off.</span>}
      {replayOf !== undefined && <span>Repeats request {replayOf}.</span>}
    </p>
  );
}

function useDetail(key: string, id: number): { detail?: RequestDetail; error?: CallError } {
  const { bridge } = useShell();
  const [state, setState] = useState<{ detail?: RequestDetail; error?: CallError }>({});
  useEffect(() => {
    let timer: number | undefined;
    let isOver = false;
    const load = async (): Promise<void> => {
      const answer = await bridge.call('log:detail', { key, id });
      if (isOver) return;
      setState(answer.ok ? { detail: answer.value } : { error: answer.error });
      const isPending = answer.ok && answer.value.durationMs === undefined && !answer.value.isBroken;
      if (isPending) timer = window.setTimeout(() => void load(), PENDING_MS);
    };
    load().catch(() => setState({ error: { code: 'no-answer', text: 'The request could not be read.' } }));
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [bridge, key, id]);
  return state;
}
