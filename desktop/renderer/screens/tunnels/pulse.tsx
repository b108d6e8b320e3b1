import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import type { PulseSecond } from '../../../engine/inspector/records.ts';
import { PULSE_HEIGHT, PULSE_WIDTH, pulseDrawing } from '../../model/pulse.ts';
import { useTime } from '../../view/clock.ts';
import { useMedia } from '../../view/use-media.ts';

const STILL = '(prefers-reduced-motion: reduce)';
/** So seldom it moves on, in s, for people to whom motion is a nuisance. */
const STILL_SECONDS = 15;

/** The traffic of the last minute, above the fuse. Where nothing happens it moves nothing. */
export const Pulse = memo(function Pulse({ seconds }: { seconds: readonly PulseSecond[] }): JSX.Element {
  const step = useMedia(STILL) ? STILL_SECONDS : 1;
  const last = seconds.at(-1)?.id ?? 0;
  const until = useTime((now) => {
    const second = Math.ceil(Math.floor(now / 1000) / step) * step;
    // What is over is not drawn again each second.
    return Math.min(second, last + PULSE_WIDTH);
  });
  const drawing = pulseDrawing(seconds, until);
  if (drawing === undefined) return <div class="pulse" />;
  return (
    <div class="pulse" role="img" aria-label={drawing.words} title={drawing.words}>
      <svg viewBox={`0 0 ${PULSE_WIDTH} ${PULSE_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path d={drawing.requests} />
        <path class="pulse-errors" d={drawing.errors} />
      </svg>
    </div>
  );
});
