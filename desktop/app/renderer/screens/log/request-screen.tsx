import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import { methodText } from '../../../../client/inspector/readable.ts';
import type { DetailView } from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { clockText } from '../../model/numbers.ts';
import {
  breakText,
  endedText,
  hiddenSecrets,
  faultCode,
  faultWords,
  fromText,
  outcome,
  phases,
  phaseTexts,
  reasonText,
  replayProblem,
  savedMessage,
  shares,
  sizesText,
  statusText,
  targetText,
  timeText,
  visitorWords,
} from '../../model/request.ts';
import { type LoggedTunnel, loggedTunnel } from '../../model/tunnel-state.ts';
import { useAction, useShell, useWindow } from '../../view/context.ts';
import { FindOutWhy, keysText, useCopied } from '../../view/controls.tsx';
import { useKey } from '../../view/keyboard.ts';
import { Aside, Button, Failed, Failure, Notice } from '../../view/kit.tsx';
import { Menu, MoreButton, type Spot } from '../../view/menu.tsx';
import { Screen } from '../../view/screen.tsx';
import { useLoaded } from '../../view/use-loaded.ts';
import { Signature } from '../signature.tsx';
import { useExport } from '../transfer.tsx';
import { Exchange } from './message.tsx';
import { actOfKey, useRequestActs } from './request-list.tsx';

/** How soon a request without a response is read again. */
const PENDING_MS = 1000;

/** One request in full, with its response. */
export function RequestScreen({ tunnelKey, id }: { tunnelKey: string; id: number }): JSX.Element {
  const { snapshot } = useWindow();
  const [reveal, setReveal] = useState(false);
  const loaded = useLoaded(
    'log:detail',
    { key: tunnelKey, id, reveal, decodes: true },
    { keep: keptDetail, laterMs },
  );
  const detail = loaded.error === undefined ? loaded.value : undefined;
  const tunnel = loggedTunnel(snapshot, tunnelKey);
  const canReach = tunnel?.isOnline === true;

  return (
    <Screen
      title={
        detail === undefined
          ? t('request.request')
          : `${escapeUnprintable(methodText(detail))} ${targetText(detail)}`
      }
      titleDir={detail === undefined ? undefined : 'ltr'}
      actions={tunnel && <span class="request-tunnel dim cut">{tunnel.slug}</span>}
    >
      <Failed of={loaded} />
      {detail !== undefined && (
        <>
          <Facts tunnelKey={tunnelKey} detail={detail} />
          <Tries tunnelKey={tunnelKey} detail={detail} />
          {detail.connection === undefined && (
            <Messages
              tunnelKey={tunnelKey}
              tunnel={tunnel}
              detail={detail}
              canReach={canReach}
              reveal={reveal}
              setReveal={setReveal}
            />
          )}
        </>
      )}
    </Screen>
  );
}

interface Shown {
  tunnelKey: string;
  tunnel: LoggedTunnel | undefined;
  detail: DetailView;
  /** whether the tunnel is online */
  canReach: boolean;
  /** whether secrets are shown and copied */
  reveal: boolean;
  setReveal: (reveal: boolean) => void;
}

/** What is known of a request beyond its line. A raw connection has nothing more. */
function Messages(props: Shown): JSX.Element {
  const { tunnelKey, tunnel, detail, canReach } = props;
  return (
    <>
      <RequestActions {...props} />
      {(!detail.isImported || detail.timing.connectedMs !== undefined) && <TimeBar detail={detail} />}
      <Fault tunnel={tunnel} detail={detail} />
      <Signature tunnelKey={tunnelKey} detail={detail} canReach={canReach} />
      <Exchange tunnelKey={tunnelKey} detail={detail} />
    </>
  );
}

function Facts({ tunnelKey, detail }: { tunnelKey: string; detail: DetailView }): JSX.Element {
  const { go } = useShell();
  const { startedAt, isBroken, status, visitor, isImported, rehearsed, connection } = detail;
  const replayOf =
    detail.tries?.some(({ id }) => id === detail.replayOf) === true ? undefined : detail.replayOf;
  const from = fromText(detail);
  return (
    <p class="line spaced dim">
      <b class={`status-${outcome(detail)}`}>
        {statusText(detail)} {reasonText(detail)}
      </b>
      <span>{timeText(detail)}</span>
      {connection !== undefined && <span>{sizesText(detail)}</span>}
      <span>{clockText(startedAt)}</span>
      {endedText(detail) !== undefined && <span>{endedText(detail)}</span>}
      {from !== undefined && <span>{from}</span>}
      {visitor !== undefined && <span>{visitorWords(visitor)}</span>}
      {breakText(detail) !== undefined && <span class="status-broken">{breakText(detail)}</span>}
      {isBroken && status !== undefined && <span class="status-broken">{t('request.brokeOff')}</span>}
      {isImported && <span>{t('log.importedHint')}</span>}
      {rehearsed !== undefined && <span>{t(`log.rehearsed.${rehearsed}`)}</span>}
      {replayOf !== undefined && (
        <Button look="link" act={() => go({ screen: 'request', key: tunnelKey, id: replayOf })}>
          {t('log.repeatsSentence')}
        </Button>
      )}
    </p>
  );
}

/** As many of the last tries are listed at first, and all of them at most. */
const LAST_TRIES = 4;
const MOST_TRIES = 200;

/** The tries of a visit: one is shown, and a press shows another. */
function Tries({ tunnelKey, detail }: { tunnelKey: string; detail: DetailView }): JSX.Element | null {
  const { replace } = useShell();
  const [count, setCount] = useState(LAST_TRIES);
  const { id, tries = [] } = detail;
  if (tries.length < 2) return null;
  const listed = tries.filter(
    (each, place) => place === 0 || place >= tries.length - count || each.id === id,
  );
  const more = tries.length - listed.length;
  const at = (of: number) => ({ screen: 'request', key: tunnelKey, id: of }) as const;
  return (
    <div class="line">
      <span role="group" aria-label={t('request.tries')} class="parts">
        {listed.map((each) => (
          <Button
            key={each.id}
            id={`try-${each.id}`}
            look="filter-chip"
            aria-pressed={each.id === id}
            act={() => replace(at(id), at(each.id), `try-${each.id}`)}
          >
            <b class={`status-${outcome(each)}`}>{statusText(each)}</b> {timeText(each)}{' '}
            <span class="dim">{clockText(each.startedAt)}</span>
          </Button>
        ))}
      </span>
      {more > 0 && count < MOST_TRIES && (
        <Button
          look="link"
          act={() => {
            setCount(MOST_TRIES);
            // This button goes.
            document.getElementById(`try-${id}`)?.focus();
          }}
        >
          {t('request.moreTries', { count: more })}
        </Button>
      )}
    </div>
  );
}

/** A request is read again until its response has arrived. */
function laterMs({ durationMs, isBroken }: DetailView): number | undefined {
  return durationMs === undefined && !isBroken ? PENDING_MS : undefined;
}

/** The new details, with unchanged messages reused. */
function keptDetail(before: DetailView | undefined, next: DetailView): DetailView {
  const request = savedMessage(before?.request, next.request);
  return { ...next, request, response: next.response && savedMessage(before?.response, next.response) };
}

/** Why Culvert answered instead of the server. */
function Fault({
  tunnel,
  detail,
}: {
  tunnel: LoggedTunnel | undefined;
  detail: DetailView;
}): JSX.Element | null {
  const code = faultCode(detail);
  if (code === undefined || detail.status === undefined) return null;
  const words = t('request.faultPage', { status: detail.status });
  return (
    <Notice kind="error">
      <Aside
        text={
          <>
            <b>{faultWords(code)}</b> {words}
          </>
        }
      >
        {tunnel !== undefined && <FindOutWhy of={tunnel} />}
      </Aside>
    </Notice>
  );
}

/** The phases of a request as one bar, and in words. */
function TimeBar({ detail }: { detail: DetailView }): JSX.Element {
  const all = phases(detail);
  return (
    <div class="stack s1">
      {/* Decorative, because the words below contain the same. */}
      <div class="time-bar" aria-hidden="true">
        {shares(all).map(({ name, share }) => (
          <span key={name} class={`time-${name}`} style={{ flexGrow: share }} />
        ))}
      </div>
      <ul class="time-key hint line spaced">
        {phaseTexts(all, detail.isBroken).map(({ name, words }) => (
          <li key={name}>
            <i class={`time-${name}`} aria-hidden="true" />
            {words}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Id of the button that sends the request again. */
const REPLAY_ID = 'replay-request';

/** The actions of a request in one row: send it again, edit it, copy it; the others are in a menu. */
function RequestActions({ tunnelKey, detail, canReach, reveal, setReveal }: Shown): JSX.Element {
  const { say, replace } = useShell();
  const action = useAction();
  const har = useExport(tunnelKey);
  const row = useRef<HTMLDivElement>(null);
  const [menu, setMenu] = useState<Spot>();
  const { id } = detail;
  const problem = replayProblem(detail, canReach);
  const canReveal =
    reveal ||
    hiddenSecrets(detail.request) + (detail.response === undefined ? 0 : hiddenSecrets(detail.response)) > 0;

  const acts = useRequestActs(tunnelKey, action.run);
  const [isCopied, copy] = useCopied(async () => (await acts.copyCurl(id, reveal)).ok);
  const again = async (): Promise<void> => {
    if (problem !== undefined) return say(problem);
    if (action.isBusy) return;
    const answer = await acts.replay(id);
    if (!answer.ok) return;
    // What people want to see next is the result.
    const screen = 'request' as const;
    replace({ screen, key: tunnelKey, id }, { screen, key: tunnelKey, id: answer.value }, REPLAY_ID);
  };
  const own = { ...acts, replay: again, copyCurl: copy };
  const actOf = (event: KeyboardEvent): ((id: number) => unknown) | undefined => {
    // In a log beside the request, the keys belong to the rows.
    const isHere =
      event.target === document.body || row.current?.closest('.screen') === screenOf(event.target);
    return isHere ? actOfKey(event, own) : undefined;
  };
  useKey(
    (event) => actOf(event) !== undefined,
    (event) => void actOf(event)?.(id),
  );

  return (
    <>
      <div ref={row} class="request-actions line">
        <Button
          id={REPLAY_ID}
          look="button primary"
          disabled={problem !== undefined}
          isBusy={action.isBusy}
          act={again}
        >
          {t('request.replay')}
        </Button>
        <Button id="edit-request" act={() => acts.edit(id)}>
          {t('request.edit')} <kbd aria-hidden="true">{keysText('e')}</kbd>
        </Button>
        <Button aria-label={isCopied ? undefined : t('request.copyCurl')} act={copy}>
          {t(isCopied ? 'request.copied' : 'request.curl')}
        </Button>
        <MoreButton id="more-request" look="button more" label={t('request.more')} open={setMenu} />
      </div>
      {problem !== undefined && <p class="hint">{problem}</p>}
      {har.words !== '' && <p class="hint file-words">{har.words}</p>}
      <Failure problem={action.error ?? har.error} />
      {menu !== undefined && (
        <Menu
          label={t('request.more')}
          spot={menu}
          items={[
            { label: t('request.exportHar'), act: () => har.run([id], reveal) },
            canReveal && {
              label: t(reveal ? 'request.hideSecrets' : 'request.showSecrets'),
              act: () => setReveal(!reveal),
            },
          ]}
          close={() => setMenu(undefined)}
        />
      )}
    </>
  );
}

function screenOf(target: EventTarget | null): Element | null {
  return target instanceof Element ? target.closest('.screen') : null;
}
