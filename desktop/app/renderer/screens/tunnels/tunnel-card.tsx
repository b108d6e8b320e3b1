import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { hostsOf, type TunnelStatus, type TunnelView, whoAsks } from '../../../ipc/snapshot.ts';
import type {
  AccessKind,
  ApprovalRequestView,
  KeptNameView,
  TunnelAccessView,
} from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import {
  agentHint,
  APPROVAL_CHOICES,
  type ApprovalChoice,
  approvalTtl,
  scanWords,
} from '../../model/access.ts';
import { withoutScheme } from '../../model/address.ts';
import { keptWord } from '../../model/kept-names.ts';
import { bytesText } from '../../model/numbers.ts';
import { isIdle, isLive, retryWords, type Shape, tunnelState } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { type Action, useAction, useShell } from '../../view/context.ts';
import { FindOutWhy, rich } from '../../view/controls.tsx';
import { Icon, QrCode, StateShape } from '../../view/icons.tsx';
import { useKeptFocus } from '../../view/keyboard.ts';
import { Aside, Button, Failure, FoldMark, List, Notice, Select } from '../../view/kit.tsx';
import { AccessButton, AccessRow } from '../access/access-fields.tsx';
import { AccessPanel } from '../access/access-panel.tsx';
import { RequestRow } from '../log/request-list.tsx';
import { Read, useMessage } from './kept-names.tsx';
import { Address } from './others.tsx';
import { CardLink, Extend, TimeRow, useUnfolded } from './time-row.tsx';

/** One tunnel: its state, address, traffic, lifetime and actions. */
export const TunnelCard = memo(function TunnelCard({
  tunnel,
  kept,
  mayFold,
  isQuiet,
}: {
  tunnel: TunnelView;
  /** its name, if the account keeps that while there is no tunnel */
  kept: KeptNameView | undefined;
  /** whether it is folded while it is idle */
  mayFold: boolean;
  /** whether a banner already explains the lost connection */
  isQuiet: boolean;
}): JSX.Element {
  const { unfolded, toggle, fold, onKeyDown } = useUnfolded(tunnel.key);
  const [wantsShare, setWantsShare] = useState(false);
  const action = useAction();
  const shape = useTime((now): Shape => tunnelState(tunnel, now).shape);
  const isFoldable = useTime((now) => mayFold && isIdle(tunnel, now));
  const [isOpened, setOpened] = useState(false);
  const isFolded = isFoldable && !isOpened && unfolded === undefined && action.error === undefined;
  const { word } = tunnelState(tunnel, Date.now());
  const live = isLive(tunnel);
  const toggleLock = (): void => toggle('lock');
  const lockDone = (kind: AccessKind): void => {
    document.getElementById(`lock-${tunnel.key}`)?.focus();
    fold();
    setWantsShare(kind === 'password');
  };
  // After setting a password users want to send it; the button for that arrives with the next snapshot.
  useLayoutEffect(() => {
    const share = wantsShare ? document.getElementById(`share-${tunnel.key}`) : null;
    if (share === null) return;
    share.focus();
    setWantsShare(false);
  }, [wantsShare, tunnel]);
  const titleId = `title-${tunnel.key}`;
  const card = useRef<HTMLLIElement>(null);
  const wasLive = useRef(live);
  useEffect(() => {
    wasLive.current = live;
  }, [live]);
  useKeptFocus(card, () => {
    if (!live) return document.getElementById(`start-${tunnel.key}`);
    // After restarting a tunnel users want its address, which is new.
    const extend = wasLive.current ? document.getElementById(`extend-${tunnel.key}`) : null;
    return extend ?? document.getElementById(`copy-${tunnel.key}`);
  });

  return (
    <li
      ref={card}
      class={`card box card-${shape} ${isFolded ? 'card-folded' : ''}`}
      aria-labelledby={titleId}
      data-slug={tunnel.slug}
      onKeyDown={onKeyDown}
    >
      <div class="card-top">
        <StateShape shape={shape} />
        <Address id={titleId} tunnel={tunnel} canCopy={live} run={action.run} />
        {isFoldable && (
          <Button
            look="icon-button"
            aria-label={t('tunnels.moreOf', { slug: tunnel.slug })}
            aria-expanded={!isFolded}
            act={() => setOpened(isFolded)}
          >
            <FoldMark isOpen={!isFolded} />
          </Button>
        )}
      </div>
      {!isFolded && (
        <>
          {live && tunnel.wildcardUrl !== undefined && (
            <p class="hint">{rich('tunnels.wildcard', { address: withoutScheme(tunnel.wildcardUrl) })}</p>
          )}
          <div class="about">
            <Meta tunnel={tunnel} word={kept === undefined ? word : keptWord(kept, true)} />
            {live && <AccessButton tunnel={tunnel} isOpen={unfolded === 'lock'} onClick={toggleLock} />}
          </div>
          {/* Next to its button, also for the keyboard. */}
          {live && unfolded === 'lock' && <AccessPanel tunnel={tunnel} onDone={lockDone} />}
          {live && (
            <AccessRow tunnel={tunnel} isOpen={unfolded === 'lock'} onOpen={toggleLock} run={action.run} />
          )}
          {live && <ApprovalRequests tunnel={tunnel} action={action} />}
          {tunnel.status.name === 'reconnecting' && !isQuiet && <Retry status={tunnel.status} of={tunnel} />}
          {tunnel.status.name === 'online' && tunnel.localProblem !== undefined && (
            <Notice>
              <Aside text={tunnel.localProblem.text}>
                <FindOutWhy of={tunnel} />
              </Aside>
            </Notice>
          )}
          {live ? (
            <TimeRow tunnel={tunnel} shape={shape} action={action} />
          ) : (
            <EndedRow tunnel={tunnel} kept={kept} action={action} />
          )}
          {live && (unfolded === 'extend' || (shape === 'soon' && unfolded === undefined)) && (
            <Extend tunnel={tunnel} onDone={fold} />
          )}
          {live && unfolded === 'qr' && (
            <>
              <QrCode text={tunnel.url} />
              <ScanNote lock={tunnel.lock} />
            </>
          )}
          <Failure problem={action.error} />
          <Recent tunnel={tunnel} />
        </>
      )}
    </li>
  );
});

/** Explains what visitors need in addition to the address in the code. */
function ScanNote({ lock }: { lock: TunnelAccessView }): JSX.Element | null {
  const words = scanWords(lock);
  if (words === undefined) return null;
  return (
    <p class="hint line middle">
      <Icon name="locked" />
      <span>{words}</span>
    </p>
  );
}

/** Why a tunnel ended, and the two likely next actions. */
function EndedRow({
  tunnel,
  kept,
  action,
}: {
  tunnel: TunnelView;
  kept: KeptNameView | undefined;
  action: Action;
}): JSX.Element {
  const { isOfCommand } = useShell();
  const message = useMessage(kept, tunnel.key);
  const { key, slug, name, status } = tunnel;
  const remove = () => action.run('tunnel:forget', { key }, t('tunnels.removed', { slug }));
  return (
    <>
      <div class="time-row line dim">
        <span class="grow">
          {kept === undefined ? status.name === 'ended' && status.why : <Read kept={kept} />}{' '}
          {name === '' && !isOfCommand && t('tunnels.newAddress')}
        </span>
        {!isOfCommand && (
          <span class="actions line s1">
            <CardLink of={slug} id={`start-${key}`} act={() => action.run('tunnel:start', { key })}>
              {t(kept === undefined ? 'tunnels.startAgain' : 'names.resume')}
            </CardLink>
            {message?.button}
            <CardLink of={slug} look="link apart" act={remove}>
              {t('tunnels.remove')}
            </CardLink>
          </span>
        )}
      </div>
      {message?.form}
    </>
  );
}

/** The state in a word, the target of the tunnel, and its number of uses. */
function Meta({ tunnel, word }: { tunnel: TunnelView; word: string }): JSX.Element {
  const { requests, localPort, folder, framework, project } = tunnel;
  return (
    <p class="meta line spaced small-text dim">
      <span class="word strong">{word}</span>
      {project !== undefined && (
        <bdi class="project-chip cut" title={t('meta.project', { ...project })}>
          {project.name} / <b>{project.label}</b>
        </bdi>
      )}
      <span>
        <span aria-hidden="true">→</span> <span class="unseen">{t('meta.leadsTo')} </span>
        {folder === undefined ? <b dir="ltr">localhost:{localPort}</b> : rich('meta.folder', { folder })}
        {framework !== undefined && (
          <>
            {' '}
            <bdi>{framework}</bdi>
          </>
        )}
      </span>
      {requests > 0 && <span class="requests">{rich('meta.requests', { requests })}</span>}
    </p>
  );
}

/** The bytes in both directions. */
function Traffic({ tunnel: { bytesIn, bytesOut } }: { tunnel: TunnelView }): JSX.Element {
  return (
    <>
      <Bytes arrow="↑" said="meta.received" bytes={bytesText(bytesIn)} />
      <Bytes arrow="↓" said="meta.sent" bytes={bytesText(bytesOut)} />
    </>
  );
}

function Bytes({
  arrow,
  said,
  bytes,
}: {
  arrow: string;
  said: 'meta.received' | 'meta.sent';
  bytes: string;
}): JSX.Element {
  const words = t(said, { bytes });
  return (
    <span title={words}>
      <span aria-hidden="true">
        {arrow} <b>{bytes}</b>
      </span>
      <span class="unseen">{words}</span>
    </span>
  );
}

/** As many as are clear at a glance. */
const SHOWN = 3;

/** The last few requests, with their results and a link to all of them. */
function Recent({ tunnel }: { tunnel: TunnelView }): JSX.Element | null {
  const { go } = useShell();
  const { key, slug, recent } = tunnel;
  const rows = useRef<HTMLUListElement>(null);
  // A row disappears when newer requests arrive.
  useKeptFocus(rows, () => document.getElementById(`log-${key}`));
  if (recent.length === 0 && tunnel.requests === 0) return null;
  return (
    <div class="recent below">
      {recent.length > 0 && (
        <ul ref={rows} aria-label={t('tunnels.lastRequests', { slug })}>
          {recent.slice(0, SHOWN).map((request) => (
            <RequestRow key={request.id} tunnelKey={key} request={request} />
          ))}
        </ul>
      )}
      <div class="totals line spaced small-text dim">
        <Button
          id={`log-${key}`}
          look="link"
          aria-label={t('tunnels.allRequestsTo', { slug })}
          act={() => go({ screen: 'log', key })}
        >
          {t('tunnels.allRequests')}
        </Button>
        {/* For a restarted tunnel, the relay counts from zero, and the rows are older. */}
        {tunnel.requests > 0 && <Traffic tunnel={tunnel} />}
      </div>
    </div>
  );
}

/** Why the connection is lost, and the time of the next attempt. */
function Retry({
  status,
  of,
}: {
  status: Extract<TunnelStatus, { name: 'reconnecting' }>;
  /** the tunnel */
  of: { readonly key: string; readonly slug: string };
}): JSX.Element {
  const words = useTime((now) => retryWords(status, now));
  return (
    <Notice>
      <Aside text={`${status.why} ${words}`}>
        <FindOutWhy of={of} />
      </Aside>
    </Notice>
  );
}

/** The waiting visitors, with what is known about them, and buttons to answer. */
function ApprovalRequests({ tunnel, action }: { tunnel: TunnelView; action: Action }): JSX.Element | null {
  const { key, slug, knocks } = tunnel;
  if (knocks.length === 0) return null;
  return (
    <List after={`lock-${key}`} class="knocks stack" aria-label={t('knocks.waiting', { slug })}>
      {knocks.map((knock, index) => (
        <ApprovalRequest
          key={knock.id}
          knock={knock}
          tunnelKey={key}
          admitId={index === 0 ? `admit-${key}` : undefined}
          action={action}
        />
      ))}
    </List>
  );
}

function ApprovalRequest({
  knock,
  tunnelKey: key,
  admitId,
  action,
}: {
  knock: ApprovalRequestView;
  tunnelKey: string;
  /** id by which a notification finds it */
  admitId: string | undefined;
  action: Action;
}): JSX.Element {
  const [admission, setAdmission] = useState<ApprovalChoice>('hour');
  const { id, address, client } = knock;
  const who = whoAsks(knock);
  const label = `${who}, ${address}`;
  const admit = () => {
    const ttl = approvalTtl(admission, Date.now());
    return action.run('knock:admit', { key, id, ttl }, t('knocks.admitted', { who }));
  };
  const refuse = () => action.run('knock:refuse', { key, id }, t('knocks.refused', { who }));
  return (
    <li class="notice notice-news line">
      <span class="grow">
        {rich('knocks.wantsIn', { who })} <span class="from">{t('knocks.from', { address })}</span>
        {client !== undefined && <div class="hint">{agentHint(client.name, hostsOf(client).returnsTo)}</div>}
      </span>
      <span class="line low">
        <Button
          id={admitId}
          look="button primary small"
          aria-label={t('knocks.admitOf', { label })}
          act={admit}
        >
          {t('knocks.admit')}
        </Button>
        {/* An agent has access until it is revoked. */}
        {client === undefined && (
          <Select
            aria-label={t('knocks.howLong', { label })}
            choices={APPROVAL_CHOICES.map((choice) => [choice, t(`knocks.for.${choice}`)])}
            value={admission}
            choose={setAdmission}
          />
        )}
        <Button look="button small" aria-label={t('knocks.refuseOf', { label })} act={refuse}>
          {t('knocks.refuse')}
        </Button>
      </span>
    </li>
  );
}
