import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import type { TrafficSecond } from '../../../../client/inspector/records.ts';
import type { TunnelView } from '../../../ipc/snapshot.ts';
import type { KeptNameView } from '../../../ipc/tunnel-views.ts';
import { type Counted, countedBy, isRaw } from '../../model/address.ts';
import { stateWord } from '../../model/kept-names.ts';
import { countText } from '../../model/numbers.ts';
import {
  sparklineDrawing,
  SPARKLINE_HEIGHT,
  SPARKLINE_STEP,
  SPARKLINE_WIDTH,
} from '../../model/time-left.ts';
import { doorWords, isLive, type Shape, tunnelState } from '../../model/tunnel-state.ts';
import { useTime } from '../../view/clock.ts';
import { rich } from '../../view/controls.tsx';
import { StateShape } from '../../view/icons.tsx';
import { Button, type ButtonProps } from '../../view/kit.tsx';

/** A tunnel in two lines: its state, name and traffic, and where it leads, or what is wrong. */
export function TunnelRow({
  tunnel,
  kept,
  ...rest
}: ButtonProps & {
  tunnel: TunnelView;
  /** its name, if the account keeps it */
  kept: KeptNameView | undefined;
}): JSX.Element {
  const { slug, project, requests, pulse, localProblem, status } = tunnel;
  const shape = useTime((now): Shape => tunnelState(tunnel, now).shape);
  const door = isLive(tunnel) ? doorWords(tunnel) : undefined;
  const isWrong = localProblem !== undefined && status.name === 'online';
  const isFine = shape === 'online';
  return (
    <RowButton shape={shape} label={project?.label ?? slug} title={slug} {...rest}>
      <Sparkline seconds={pulse} kind={countedBy(tunnel)} />
      <span class="tunnel-line line dim">
        <span class={isFine ? 'unseen' : 'word cut'} title={isWrong ? localProblem.text : undefined}>
          {isWrong ? localProblem.text : stateWord(tunnel, kept, Date.now())}
        </span>
        {!isWrong && (
          <span class="leads">
            <LeadsTo tunnel={tunnel} isShort />
          </span>
        )}
        {door !== undefined && (
          <span class="chip fact locked">
            <span class="cut">{door}</span>
          </span>
        )}
        {requests > 0 && (
          <span class="requests">
            <span aria-hidden="true">{countText(requests)}</span>
            <span class="unseen">
              <RequestCount of={tunnel} />
            </span>
          </span>
        )}
      </span>
    </RowButton>
  );
}

/** How many requests, or connections, there were. */
export function RequestCount({ of }: { of: Pick<TunnelView, 'url' | 'requests'> }): JSX.Element {
  return <>{rich(isRaw(of) ? 'meta.connections' : 'meta.requests', { requests: of.requests })}</>;
}

/** A row of the list, with a name and what follows it. */
export function RowButton({
  shape,
  label,
  children,
  ...rest
}: ButtonProps & { shape: Shape; label: string }): JSX.Element {
  return (
    <Button look={`tunnel-row card-${shape}`} {...rest}>
      <StateShape shape={shape} />
      <bdi class="tunnel-name cut">{label}</bdi>
      {children}
    </Button>
  );
}

/** The folder, or the port and the framework. @param isShort without the name of this machine */
export function LeadsTo({
  tunnel: { folder, localPort, framework },
  isShort = false,
}: {
  tunnel: Pick<TunnelView, 'folder' | 'localPort' | 'framework'>;
  isShort?: boolean;
}): JSX.Element {
  return (
    <>
      <span class="cut">
        {folder === undefined ? (
          <b dir="ltr">
            {!isShort && <span class="host">localhost</span>}:{localPort}
          </b>
        ) : (
          rich('meta.folder', { folder })
        )}
      </span>{' '}
      {framework !== undefined && (
        <span class="framework cut">
          {isShort && '· '}
          <bdi>{framework}</bdi>
        </span>
      )}
    </>
  );
}

/** The traffic of the last minute. Without traffic nothing moves. */
export const Sparkline = memo(function Sparkline({
  seconds,
  kind,
}: {
  seconds: readonly TrafficSecond[];
  kind: Counted;
}): JSX.Element | null {
  const last = seconds.at(-1)?.id ?? 0;
  // After the last traffic has left the drawing, it is not redrawn.
  const until = useTime((now) => Math.min(stepOf(now / 1000), stepOf(last) + 60));
  const drawing = sparklineDrawing(seconds, until, kind);
  if (drawing === undefined) return null;
  return (
    <span class="pulse" role="img" aria-label={drawing.words} title={drawing.words}>
      <svg
        viewBox={`0 0 ${SPARKLINE_WIDTH} ${SPARKLINE_HEIGHT}`}
        width={SPARKLINE_WIDTH}
        height={SPARKLINE_HEIGHT}
        aria-hidden="true"
      >
        <path d={drawing.requests} />
        <path class="pulse-refused" d={drawing.refused} />
        <path class="pulse-errors" d={drawing.errors} />
      </svg>
    </span>
  );
});

function stepOf(seconds: number): number {
  return Math.floor(seconds / SPARKLINE_STEP) * SPARKLINE_STEP;
}
