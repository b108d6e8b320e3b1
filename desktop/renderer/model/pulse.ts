/** The traffic of a tunnel in the last minute, as a drawing and in words. */
import { t } from '../../i18n/translate.ts';
import type { PulseSecond } from '../../engine/inspector/records.ts';

/** Seconds that are shown: the width of the drawing. */
export const PULSE_WIDTH = 60;
/** Of the drawing, in the same unit. */
export const PULSE_HEIGHT = 18;
const BAR_WIDTH = 0.7;

export interface PulseDrawing {
  /** paths for SVG */
  readonly requests: string;
  readonly errors: string;
  readonly words: string;
}

/**
 * @param until the last second that is shown, wall-clock s
 * @returns `undefined` if there was no traffic
 */
export function pulseDrawing(seconds: readonly PulseSecond[], until: number): PulseDrawing | undefined {
  const shown = seconds.filter(({ id }) => id > until - PULSE_WIDTH && id <= until);
  const requests = sum(shown.map((second) => second.requests));
  const errors = sum(shown.map((second) => second.errors));
  if (requests + errors === 0) return undefined;
  const bars = (count: (second: PulseSecond) => number): string =>
    shown
      .filter((second) => count(second) > 0)
      .map((second) => bar(PULSE_WIDTH - 1 - (until - second.id), count(second)))
      .join('');
  return {
    requests: bars((second) => second.requests),
    errors: bars((second) => second.errors),
    words: t('tunnels.pulse', { requests, errors }),
  };
}

/** Twice as many are as much higher each time, up to some 500 in a second. */
function bar(x: number, count: number): string {
  const height = Math.min(PULSE_HEIGHT, 4 + 1.6 * Math.log2(count));
  const rounded = Math.round(height * 10) / 10;
  return `M${x} ${PULSE_HEIGHT}v-${rounded}h${BAR_WIDTH}v${rounded}z`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
