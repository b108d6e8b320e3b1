import type { Rectangle } from 'electron';

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

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(value, max));
}
