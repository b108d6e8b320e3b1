import type { JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TunnelStatus, TunnelView } from '../../../ipc/snapshot.ts';
import type { AccessKind, KeptNameView, TunnelAccessView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { scanWords } from '../../model/access.ts';
import { isRaw, withoutScheme } from '../../model/address.ts';
import { stateWord } from '../../model/kept-names.ts';
import { isLive, retryWords, type Shape, tunnelState } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { type Action, useAction, useShell, useWindow } from '../../view/context.ts';
import { CopyButton, FindOutWhy, rich } from '../../view/controls.tsx';
import { Icon, QrCode } from '../../view/icons.tsx';
import { useKeptFocus } from '../../view/keyboard.ts';
import { Aside, Failure, Notice } from '../../view/kit.tsx';
import { AccessButton, AccessRow } from '../access/access-fields.tsx';
import { AccessPanel } from '../access/access-panel.tsx';
import { ApprovalRequests } from './approvals.tsx';
import { Read, useMessage } from './kept-names.tsx';
import { CardLink, Extend, StayChip, useUnfolded } from './stay.tsx';
import { LeadsTo } from './tunnel-row.tsx';

/** Everything about a tunnel except its address and its requests: in its card, and in the header of its log. */
export function TunnelControls({
  tunnel,
  kept,
  isHead,
  isQuiet,
}: {
  tunnel: TunnelView;
  /** its name, if the account keeps that */
  kept: KeptNameView | undefined;
  /** whether it is in the header of the log, which has more room */
  isHead: boolean;
  /** whether a banner already explains the lost connection */
  isQuiet: boolean;
}): JSX.Element {
  const { unfolded, toggle, fold, onKeyDown } = useUnfolded(tunnel.key);
  const [wantsShare, setWantsShare] = useState(false);
  const action = useAction();
  const shape = useTime((now): Shape => tunnelState(tunnel, now).shape);
  const live = isLive(tunnel);
  const message = useMessage(kept, tunnel.key);
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
  const isAtRest = unfolded === undefined || unfolded === 'card';
  const showsExtend = unfolded === 'extend' || (shape === 'soon' && isAtRest);
  const root = useRef<HTMLDivElement>(null);
  useNextStep(root, tunnel);

  return (
    <div ref={root} class={`controls card-${shape}`} onKeyDown={onKeyDown}>
      {live && tunnel.wildcardUrl !== undefined && (
        <p class="hint">{rich('tunnels.wildcard', { address: withoutScheme(tunnel.wildcardUrl) })}</p>
      )}
      {/* What unfolds is next to its button, for the keyboard, and below the line, for the eye. */}
      <div class="meta line">
        <span class={shape === 'online' ? 'unseen' : 'word strong'}>
          {stateWord(tunnel, kept, Date.now())}
        </span>
        {live && (
          <>
            <AccessButton tunnel={tunnel} isOpen={unfolded === 'lock'} onClick={toggleLock} />
            <div class="unfolds">
              {unfolded === 'lock' && <AccessPanel tunnel={tunnel} onDone={lockDone} />}
              <AccessRow tunnel={tunnel} isOpen={unfolded === 'lock'} onOpen={toggleLock} run={action.run} />
            </div>
          </>
        )}
        <Project tunnel={tunnel} />
        <span class="chip fact">
          <span aria-hidden="true">→</span> <span class="unseen">{t('meta.leadsTo')} </span>
          <LeadsTo tunnel={tunnel} />
        </span>
        {live && (
          <>
            <StayChip tunnel={tunnel} />
            <div class="unfolds">{showsExtend && <Extend tunnel={tunnel} onDone={fold} />}</div>
            <Links tunnel={tunnel} isHead={isHead} message={message?.button} action={action} />
          </>
        )}
      </div>
      {live && message?.form}
      {live && isHead && unfolded === 'qr' && (
        <>
          <QrCode text={tunnel.url} />
          <ScanNote lock={tunnel.lock} />
        </>
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
      {!live && <EndedRow tunnel={tunnel} kept={kept} message={message} action={action} />}
      <Failure problem={action.error} />
      {isAtRest && awaitsFirst(tunnel) && <Waiting tunnel={tunnel} />}
    </div>
  );
}

/** Keeps the focus near when what has it goes: on starting a tunnel that has ended, on its address once it is back. */
export function useNextStep(part: RefObject<HTMLElement | null>, tunnel: TunnelView): void {
  const live = isLive(tunnel);
  const wasLive = useRef(live);
  useEffect(() => {
    wasLive.current = live;
  }, [live]);
  useKeptFocus(part, () => {
    if (!live) return document.getElementById(`start-${tunnel.key}`);
    // After restarting a tunnel users want its address, which is new.
    const extend = wasLive.current ? document.getElementById(`extend-${tunnel.key}`) : null;
    return extend ?? document.getElementById(`copy-${tunnel.key}`);
  });
}

function Project({ tunnel: { project } }: { tunnel: TunnelView }): JSX.Element | null {
  if (project === undefined) return null;
  return (
    <bdi class="chip fact cut" title={t('meta.project', { ...project })}>
      {project.name} / <b>{project.label}</b>
    </bdi>
  );
}

/** What can be done with a live tunnel. */
function Links({
  tunnel,
  isHead,
  message,
  action,
}: {
  tunnel: TunnelView;
  isHead: boolean;
  message: JSX.Element | undefined;
  action: Action;
}): JSX.Element {
  const { key, slug, name } = tunnel;
  const { isOfCommand } = useShell();
  const { allowsNames } = useWindow().session.account;
  const { unfolded, toggle } = useUnfolded(key);
  // A random name would be another one after the pause.
  const canPause = !isOfCommand && allowsNames && name !== '';
  return (
    <span class="actions line s1">
      {!isRaw(tunnel) && (
        <CardLink of={slug} act={() => action.run('tunnel:open-url', { key })}>
          {t('tunnels.open')}
        </CardLink>
      )}
      {isHead && !isRaw(tunnel) && (
        <CardLink of={slug} id={`qr-${key}`} aria-expanded={unfolded === 'qr'} act={() => toggle('qr')}>
          {t('tunnels.qr')}
        </CardLink>
      )}
      {message}
      {canPause && (
        <CardLink
          of={slug}
          id={`pause-${key}`}
          title={t('names.pauseHint')}
          look="link apart"
          act={() => action.run('tunnel:pause', { key }, t('undo.paused', { slug }))}
        >
          {t('names.pause')}
        </CardLink>
      )}
      {!isOfCommand && (
        <CardLink
          of={slug}
          look={canPause ? 'link' : 'link apart'}
          act={() => action.run('tunnel:stop', { key })}
        >
          {t('tunnels.stop')}
        </CardLink>
      )}
    </span>
  );
}

/** Whether a tunnel could be visited, and nobody has come yet. */
export function awaitsFirst(tunnel: TunnelView): boolean {
  const { status, localProblem, requests, recent, knocks } = tunnel;
  const isFine = status.name === 'online' && localProblem === undefined && !isRaw(tunnel);
  return isFine && requests === 0 && recent.length === 0 && knocks.length === 0;
}

/** Until the first visitor comes: how to be it. */
function Waiting({ tunnel: { url, lock } }: { tunnel: TunnelView }): JSX.Element {
  const command = `curl ${url}`;
  return (
    <div class="waiting below">
      <QrCode text={url} />
      <div class="stack s1">
        <b>{t('tunnels.waiting')}</b>
        {/* A password is shown above it. */}
        {('password' in lock && lock.password !== undefined) || <ScanNote lock={lock} />}
        {lock.kind === 'anyone' && (
          <>
            <p class="dim">{t('tunnels.waitingHint')}</p>
            <div class="command">
              <code class="mono cut copied-by-hand" title={command}>
                {command}
              </code>
              <CopyButton what={{ kind: 'command', name: '' }} text={() => command} />
            </div>
          </>
        )}
      </div>
    </div>
  );
}

/** Explains what visitors need in addition to the address in the code. */
function ScanNote({ lock }: { lock: TunnelAccessView }): JSX.Element | null {
  const words = scanWords(lock);
  if (words === undefined) return null;
  return (
    <p class="hint line">
      <Icon name="locked" />
      <span class="grow">{words}</span>
    </p>
  );
}

/** Why a tunnel ended, and the two likely next actions. */
function EndedRow({
  tunnel,
  kept,
  message,
  action,
}: {
  tunnel: TunnelView;
  kept: KeptNameView | undefined;
  message: ReturnType<typeof useMessage>;
  action: Action;
}): JSX.Element {
  const { isOfCommand } = useShell();
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
