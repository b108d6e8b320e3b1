import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useRef } from 'preact/hooks';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import type { KeptNameView } from '../../../ipc/tunnel-views.ts';
import { t } from '../../../messages/translate.ts';
import { countedBy, isRaw } from '../../model/address.ts';
import { bytesText } from '../../model/numbers.ts';
import { isIdle, isLive, type Shape, tunnelState } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { useAction, useShell } from '../../view/context.ts';
import { StateShape } from '../../view/icons.tsx';
import { useKeptFocus } from '../../view/keyboard.ts';
import { Button, Failure } from '../../view/kit.tsx';
import { RequestRow } from '../log/request-list.tsx';
import { Address, CopyAddress } from './others.tsx';
import { FoldButton, useFoldFocus, useUnfolded } from './stay.tsx';
import { TunnelControls, useNextStep } from './tunnel-controls.tsx';
import { RequestCount, Sparkline, TunnelRow } from './tunnel-row.tsx';

/** One tunnel in a narrow window: its address, what can be done with it, and its last requests. */
export const TunnelCard = memo(function TunnelCard({
  tunnel,
  kept,
  mayFold,
  isQuiet,
}: {
  tunnel: TunnelView;
  /** its name, if the account keeps that */
  kept: KeptNameView | undefined;
  /** whether it is a row while it is idle */
  mayFold: boolean;
  /** whether a banner already explains the lost connection */
  isQuiet: boolean;
}): JSX.Element {
  const { key, slug, pulse } = tunnel;
  const { unfolded } = useUnfolded(key);
  const { unfold } = useShell();
  const action = useAction();
  const shape = useTime((now): Shape => tunnelState(tunnel, now).shape);
  const isFoldable = useTime((now) => mayFold && isIdle(tunnel, now));
  const isFolded = isFoldable && unfolded === undefined;
  const titleId = `title-${key}`;
  const card = useRef<HTMLLIElement>(null);
  useFoldFocus(card, isFolded);
  useNextStep(card, tunnel);

  if (isFolded) {
    return (
      <li ref={card} class="card box card-folded" data-slug={slug}>
        <TunnelRow tunnel={tunnel} kept={kept} aria-expanded={false} act={() => unfold(key, 'card')} />
      </li>
    );
  }
  return (
    <li ref={card} class={`card box card-${shape}`} aria-labelledby={titleId} data-slug={slug}>
      <div class="card-top">
        <StateShape shape={shape} />
        <h2 id={titleId} class="address-line">
          <Address tunnel={tunnel} canOpen={isLive(tunnel)} run={action.run} />
        </h2>
        <Sparkline seconds={pulse} kind={countedBy(tunnel)} />
        {isLive(tunnel) && <CopyAddress tunnel={tunnel} run={action.run} />}
        {isFoldable && <FoldButton slug={slug} fold={() => unfold(key, undefined)} />}
      </div>
      <TunnelControls tunnel={tunnel} kept={kept} isHead={false} isQuiet={isQuiet} />
      <Failure problem={action.error} />
      <Recent tunnel={tunnel} />
    </li>
  );
});

/** As many as are clear at a glance. */
const SHOWN = 3;

/** The last few requests, with their results and a link to all of them. */
function Recent({ tunnel }: { tunnel: TunnelView }): JSX.Element | null {
  const { go } = useShell();
  const { key, slug, recent, requests } = tunnel;
  const rows = useRef<HTMLUListElement>(null);
  // A row disappears when newer requests arrive.
  useKeptFocus(rows, () => document.getElementById(`log-${key}`));
  if (recent.length === 0 && requests === 0) return null;
  const raw = isRaw(tunnel);
  return (
    <div class="recent below">
      {recent.length > 0 && (
        <ul ref={rows} aria-label={t(raw ? 'tunnels.lastConnections' : 'tunnels.lastRequests', { slug })}>
          {recent.slice(0, SHOWN).map((request) => (
            <RequestRow key={request.id} tunnelKey={key} request={request} />
          ))}
        </ul>
      )}
      <div class="totals line spaced small-text dim">
        <Button
          id={`log-${key}`}
          look="link"
          aria-label={t(raw ? 'tunnels.allConnectionsTo' : 'tunnels.allRequestsTo', { slug })}
          act={() => go({ screen: 'log', key })}
        >
          {t(raw ? 'tunnels.allConnections' : 'tunnels.allRequests')}
        </Button>
        {/* For a restarted tunnel, the relay counts from zero, and the rows are older. */}
        {requests > 0 && (
          <>
            <span class="requests">
              <RequestCount of={tunnel} />
            </span>
            <Traffic tunnel={tunnel} />
          </>
        )}
      </div>
    </div>
  );
}

/** The bytes in both directions. */
function Traffic({ tunnel: { bytesIn, bytesOut } }: { tunnel: TunnelView }): JSX.Element {
  return (
    <span class="traffic spaced">
      <Bytes arrow="↑" said="meta.received" bytes={bytesText(bytesIn)} />
      <Bytes arrow="↓" said="meta.sent" bytes={bytesText(bytesOut)} />
    </span>
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
