import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { LockKind, LockView } from '../../../shared/lock.ts';
import type { TunnelView } from '../../../shared/snapshot.ts';
import { scanWords } from '../../model/lock.ts';
import { isLive, type Shape, tunnelState } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { useKeptFocus } from '../../view/focus.ts';
import { Icon, StateShape } from '../../view/icons.tsx';
import { FindOutWhy } from '../../view/find-out-why.tsx';
import { Failure, Notice } from '../../view/parts.tsx';
import { QrCode } from '../../view/qr.tsx';
import { useAction } from '../../view/use-action.ts';
import { Address } from './address.tsx';
import { EndedRow } from './ended-row.tsx';
import { Extend } from './extend.tsx';
import { Knocks } from './knocks.tsx';
import { LockPanel } from '../lock/lock-panel.tsx';
import { LockButton, LockRow } from '../lock/lock-row.tsx';
import { Meta } from './meta.tsx';
import { Recent } from './recent.tsx';
import { Retry } from './retry.tsx';
import { TimeRow, type Unfolded } from './time-row.tsx';

/** One tunnel: its state, its address, what goes through it, how long it lives, and what can be done with it. */
export const TunnelCard = memo(function TunnelCard({
  tunnel,
  maxTtl,
  isQuiet,
}: {
  tunnel: TunnelView;
  /** seconds */
  maxTtl: number;
  /** whether a banner says already why the connection is lost */
  isQuiet: boolean;
}): JSX.Element {
  const [unfolded, setUnfolded] = useState<Unfolded>();
  const [wantsShare, setWantsShare] = useState(false);
  const action = useAction();
  const shape = useTime((now): Shape => tunnelState(tunnel, now).shape);
  const { word } = tunnelState(tunnel, Date.now());
  const live = isLive(tunnel);
  const toggleLock = (): void => setUnfolded(unfolded === 'lock' ? undefined : 'lock');
  const lockDone = (kind: LockKind): void => {
    document.getElementById(`lock-${tunnel.key}`)?.focus();
    setUnfolded(undefined);
    setWantsShare(kind === 'password');
  };
  // After a password was set, the next thing people want is to send it; the button for that comes with the next snapshot.
  useLayoutEffect(() => {
    const share = wantsShare ? document.getElementById(`share-${tunnel.key}`) : null;
    if (share === null) return;
    share.focus();
    setWantsShare(false);
  }, [wantsShare, tunnel]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || event.defaultPrevented || unfolded === undefined) return;
    event.preventDefault();
    document.getElementById(`${unfolded}-${tunnel.key}`)?.focus();
    setUnfolded(undefined);
  };
  const titleId = `title-${tunnel.key}`;
  const card = useRef<HTMLLIElement>(null);
  const wasLive = useRef(live);
  useEffect(() => {
    wasLive.current = live;
  }, [live]);
  useKeptFocus(card, () => {
    if (!live) return document.getElementById(`start-${tunnel.key}`);
    // After a tunnel was started again, people want the address, which is new.
    const extend = wasLive.current ? document.getElementById(`extend-${tunnel.key}`) : null;
    return extend ?? document.getElementById(`copy-${tunnel.key}`);
  });

  return (
    <li
      ref={card}
      class={`card card-${shape}`}
      aria-labelledby={titleId}
      data-slug={tunnel.slug}
      onKeyDown={onKeyDown}
    >
      <div class="card-top">
        <StateShape shape={shape} />
        <Address id={titleId} tunnel={tunnel} canCopy={live} run={action.run} />
      </div>
      <div class="about">
        <Meta tunnel={tunnel} word={word} />
        {live && <LockButton tunnel={tunnel} isOpen={unfolded === 'lock'} onClick={toggleLock} />}
      </div>
      {live && <LockRow tunnel={tunnel} isOpen={unfolded === 'lock'} onOpen={toggleLock} run={action.run} />}
      {live && <Knocks tunnel={tunnel} action={action} />}
      {tunnel.status.name === 'reconnecting' && !isQuiet && <Retry status={tunnel.status} of={tunnel} />}
      {tunnel.status.name === 'online' && tunnel.localProblem !== undefined && (
        <Notice>
          <div class="outage">
            <span>{tunnel.localProblem.text}</span>
            <FindOutWhy of={tunnel} />
          </div>
        </Notice>
      )}
      {live ? (
        <TimeRow
          tunnel={tunnel}
          shape={shape}
          unfolded={unfolded}
          setUnfolded={setUnfolded}
          action={action}
        />
      ) : (
        <EndedRow tunnel={tunnel} action={action} />
      )}
      {live && (unfolded === 'extend' || (shape === 'soon' && unfolded === undefined)) && (
        <Extend tunnel={tunnel} maxTtl={maxTtl} onDone={() => setUnfolded(undefined)} />
      )}
      {live && unfolded === 'lock' && <LockPanel tunnel={tunnel} onDone={lockDone} />}
      {live && unfolded === 'qr' && (
        <>
          <QrCode text={tunnel.url} />
          <ScanNote lock={tunnel.lock} />
        </>
      )}
      <Failure problem={action.error} />
      <Recent tunnel={tunnel} />
    </li>
  );
});

/** What the address of a code alone does not do. */
function ScanNote({ lock }: { lock: LockView }): JSX.Element | null {
  const words = scanWords(lock);
  if (words === undefined) return null;
  return (
    <p class="hint scan-note">
      <Icon name="locked" />
      <span>{words}</span>
    </p>
  );
}
