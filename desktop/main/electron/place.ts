import type { Rectangle } from 'electron';
import type { WindowPlace } from '../settings/app-data.ts';

type Size = Pick<Rectangle, 'width' | 'height'>;

/** Between window and tray. */
const GAP = 8;

/**
 * Where a window is placed beside the tray's icon: centred on it, below a bar at the top and above one at the bottom, and
 * always within the screen.
 *
 * @param tray bounds of the icon
 * @param area of the screen without bars
 */
export function besideTray(
  tray: Rectangle,
  area: Rectangle,
  { width, height }: Size,
): { x: number; y: number } {
  const isAtTop = tray.y + tray.height / 2 < area.y + area.height / 2;
  const x = Math.round(tray.x + tray.width / 2 - width / 2);
  const y = isAtTop ? tray.y + tray.height + GAP : tray.y - height - GAP;
  return {
    x: clamp(x, area.x + GAP, area.x + area.width - width - GAP),
    y: clamp(y, area.y + GAP, area.y + area.height - height - GAP),
  };
}

/** What of a window must be on some screen, in px, so that it can be seen and moved. */
const SEEN = 80;

/**
 * The size that a window had, and its place unless that is on no screen any more.
 *
 * @param areas of the screens
 */
export function keptPlace(kept: WindowPlace | undefined, areas: readonly Rectangle[]): Partial<Rectangle> {
  if (kept === undefined) return {};
  const { x, y, width, height } = kept;
  if (x === undefined || y === undefined) return { width, height };
  const isSeen = areas.some(
    (area) =>
      Math.min(x + width, area.x + area.width) - Math.max(x, area.x) >= SEEN &&
      y >= area.y &&
      y <= area.y + area.height - SEEN,
  );
  return isSeen ? { x, y, width, height } : { width, height };
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(value, max));
}
