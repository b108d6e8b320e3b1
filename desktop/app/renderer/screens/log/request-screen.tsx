import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import { utf8Text } from '../../../../client/inspector/readable.ts';
import type { RequestDetail } from '../../../../client/inspector/records.ts';
import type { CallError, DetailView, MessageView } from '../../../ipc/ipc.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import { t } from '../../../messages/translate.ts';
import { addressParameters } from '../../model/address.ts';
import { bytesText, clockText, countText, latencyText } from '../../model/numbers.ts';
import {
  hiddenSecrets,
  savedMessage,
  type MessageKind,
  outcome,
  replayProblem,
  statusText,
  targetText,
  timeText,
  visitorWords,
} from '../../model/request.ts';
import { barOf, phases } from '../../model/waterfall.ts';
import { useShell } from '../../view/context.ts';
import { CopyButton, Failure, Notice, useCopied } from '../../view/controls.tsx';
import { Screen } from '../../view/screen.tsx';
import { useAction } from '../../view/use-action.ts';
import { Body } from '../body/body.tsx';
import { KeepDialog } from '../collections/save-dialog.tsx';
import { Signature } from '../signature.tsx';
import { useExport } from '../transfer.tsx';

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

/** The new details, with unchanged messages reused. */
function keptDetail(before: DetailView | undefined, next: DetailView): DetailView {
  const request = savedMessage(before?.request, next.request);
  return { ...next, request, response: next.response && savedMessage(before?.response, next.response) };
}

/** A request or a response: its start line, fields and body. */
export function Message({ of, message }: { of: MessageKind; message: MessageView }): JSX.Element {
  const title = t(`request.${of}`);
  return (
    <section class="message" aria-label={title}>
      <h2>{title}</h2>
      <p class="start-line mono" dir="ltr">
        {escapeUnprintable(utf8Text(message.startLine))}
      </p>
      <Parameters startLine={message.startLine} />
      <Fields of={of} fields={message.fields} />
      <Body of={of} message={message} />
    </section>
  );
}

/** The fields of a message as a table, each with a button to copy its value. */
export function Fields({
  of,
  fields,
}: {
  of: MessageKind;
  fields: readonly (readonly [name: string, value: string])[];
}): JSX.Element | null {
  if (fields.length === 0) return null;
  const lines = (): string => fields.map(([name, value]) => `${name}: ${utf8Text(value)}\n`).join('');
  return (
    <table class="fields">
      <caption>
        {t('bench.headers')}{' '}
        <CopyButton
          what={{ kind: of === 'request' ? 'requestHeaders' : 'responseHeaders', name: '' }}
          text={lines}
        />
      </caption>
      <tbody>
        {fields.map(([name, value], index) => (
          // Fields may repeat, so the position is the key.
          <tr key={index}>
            <th scope="row" dir="ltr">
              {escapeUnprintable(name)}
            </th>
            <td class="mono" dir="ltr">
              {escapeUnprintable(utf8Text(value))}
            </td>
            <td class="fields-copy">
              {value !== '' && <CopyButton what={{ kind: 'header', name }} text={() => utf8Text(value)} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The parameters of an address as a table; nothing if it has none. */
export function Parameters({ startLine }: { startLine: string }): JSX.Element | null {
  const { shown, more } = useMemo(() => addressParameters(startLine), [startLine]);
  if (shown.length === 0) return null;
  return (
    <>
      <table class="parameters">
        <caption>{t('log.parameters')}</caption>
        <tbody>
          {shown.map(([name, value], index) => (
            // Names may repeat, so the position is the key.
            <tr key={index}>
              <th scope="row" dir="ltr">
                {name}
              </th>
              <td class="mono" dir="ltr">
                {value}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="hint">{t('log.andMore', { count: countText(more) })}</p>}
    </>
  );
}

/** The phases of a request, in words and as consecutive bars. */
export function Waterfall({ detail }: { detail: RequestDetail }): JSX.Element {
  const all = phases(detail);
  return (
    <table class="waterfall">
      <caption>{t('request.time')}</caption>
      <tbody>
        {all.map((phase) => {
          const { start, width } = barOf(phase, all);
          return (
            <tr key={phase.name}>
              <th scope="row">{phase.name}</th>
              <td class="waterfall-took">
                {phase.ms !== undefined
                  ? latencyText(phase.ms)
                  : detail.isBroken
                    ? t('request.timeBrokeOff')
                    : t('request.soFar')}
              </td>
              <td class="waterfall-track" aria-hidden="true">
                <span
                  class="waterfall-bar"
                  style={{ insetInlineStart: `${start * 100}%`, width: `${width * 100}%` }}
                />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The actions of a request: send it again, copy it, show its secrets. */
export function RequestActions({
  tunnelKey,
  detail,
  canReach,
  reveal,
  setReveal,
}: {
  tunnelKey: string;
  detail: RequestDetail;
  /** whether the tunnel is online */
  canReach: boolean;
  /** whether secrets are shown and copied */
  reveal: boolean;
  setReveal: (reveal: boolean) => void;
}): JSX.Element {
  const { say, go } = useShell();
  const action = useAction();
  const { isCopied, setCopied } = useCopied();
  const har = useExport(tunnelKey);
  const [replayed, setReplayed] = useState<number>();
  const [isKeeping, setKeeping] = useState(false);
  const { id } = detail;
  const problem = replayProblem(detail, canReach);
  const secrets = hiddenSecrets(detail.request);
  const canReveal =
    reveal || secrets + (detail.response === undefined ? 0 : hiddenSecrets(detail.response)) > 0;

  const copy = async (): Promise<void> => {
    const answer = await action.run('log:copy-curl', { key: tunnelKey, id, reveal });
    if (!answer.ok) return;
    setCopied();
    say(answer.value.hidesSecrets ? t('request.copiedCurlClean') : t('request.copiedCurl'));
  };
  const replay = async (): Promise<void> => {
    const answer = await action.run('log:replay', { key: tunnelKey, id });
    if (!answer.ok) return;
    setReplayed(answer.value.id);
    say(t('request.sentAgain'));
  };

  return (
    <>
      <div class="buttons">
        <button
          type="button"
          class="button"
          disabled={problem !== undefined}
          aria-disabled={action.isBusy}
          onClick={() => void (action.isBusy || replay())}
        >
          {t('request.replay')}
        </button>
        <button
          type="button"
          id="edit-request"
          class="button"
          onClick={() => go({ screen: 'edit', key: tunnelKey, id })}
        >
          {t('request.edit')}
        </button>
        <button type="button" class="button" onClick={() => void copy()}>
          {isCopied ? t('request.copied') : t('request.copyCurl')}
        </button>
        <button
          type="button"
          class="button"
          aria-disabled={har.isBusy}
          onClick={() => void har.run([id], reveal)}
        >
          {t('request.exportHar')}
        </button>
        <button type="button" id="keep-request" class="button" onClick={() => setKeeping(true)}>
          {t('sets.keepDots')}
        </button>
        {canReveal && (
          <button type="button" class="button" aria-pressed={reveal} onClick={() => setReveal(!reveal)}>
            {reveal ? t('request.hideSecrets') : t('request.showSecrets')}
          </button>
        )}
        {replayed !== undefined && (
          <button
            type="button"
            id="replayed"
            class="link"
            onClick={() => go({ screen: 'request', key: tunnelKey, id: replayed })}
          >
            {t('request.sentAgainShow')}
          </button>
        )}
      </div>
      {problem !== undefined && <p class="hint">{problem}</p>}
      {secrets > 0 && <p class="hint">{t('request.leavesOut', { secrets })}</p>}
      {har.words !== '' && <p class="hint file-words">{har.words}</p>}
      <Failure problem={action.error ?? har.error} />
      {isKeeping && <KeepDialog tunnelKey={tunnelKey} request={detail} close={() => setKeeping(false)} />}
    </>
  );
}
