import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { PANE_WIDTH_MAX, type Settings } from '../../ipc/snapshot.ts';
import { useShell } from './context.ts';

/** The panes with a width of their own; the last one takes the rest. */
export type SizedPane = 'list' | 'log';

/** px; 0 for the default */
type Sizes = Readonly<Record<SizedPane, number>>;

export interface PaneWidths {
  readonly sizes: Sizes;
  /** custom properties for the style sheet, which keeps each width within what is usable */
  readonly style: Readonly<Record<string, string>>;
  /** while the user drags */
  readonly resize: (pane: SizedPane, width: number) => void;
  /** also for the next time that the window opens */
  readonly keep: (pane: SizedPane, width: number) => void;
}

/** px for each press of an arrow key */
const STEP = 16;
/** The style sheet narrows these further. */
const MIN = 240;

/** The widths that the user has given to panes. */
export function usePaneWidths({ listWidth, logWidth }: Settings): PaneWidths {
  const { bridge } = useShell();
  const [own, setOwn] = useState<Partial<Sizes>>({});
  return useMemo(() => {
    const sizes = { list: own.list ?? listWidth, log: own.log ?? logWidth };
    const style: Record<string, string> = {};
    for (const pane of ['list', 'log'] as const)
      if (sizes[pane] > 0) style[`--${pane}-width`] = `${sizes[pane]}px`;
    const resize = (pane: SizedPane, width: number): void =>
      setOwn((before) => ({ ...before, [pane]: width }));
    const keep = (pane: SizedPane, width: number): void => {
      resize(pane, width);
      // A width that cannot be stored lasts as long as the window.
      bridge.call('settings:change', { [`${pane}Width`]: width }).catch(() => undefined);
    };
    return { sizes, style, resize, keep };
  }, [bridge, own, listWidth, logWidth]);
}

/**
 * The line at the end of a pane: dragging it, or the arrow keys, change the width of the pane; a double click restores
 * it (ARIA Authoring Practices, window splitter).
 */
export function Divider({
  of,
  label,
  widths: { sizes, resize, keep },
}: {
  of: SizedPane;
  label: string;
  widths: PaneWidths;
}): JSX.Element {
  const widthAt = (divider: HTMLElement, x: number): number => {
    const { left = 0, right = 0 } = divider.parentElement?.getBoundingClientRect() ?? {};
    return Math.min(PANE_WIDTH_MAX, Math.max(MIN, Math.round(isMirrored() ? right - x : x - left)));
  };
  return (
    <div
      class="divider"
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation="vertical"
      aria-valuemin={MIN}
      aria-valuemax={PANE_WIDTH_MAX}
      aria-valuenow={Math.max(MIN, sizes[of])}
      onPointerDown={(event) => {
        if (event.button === 0) event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={({ currentTarget, pointerId, clientX }) => {
        if (currentTarget.hasPointerCapture(pointerId)) resize(of, widthAt(currentTarget, clientX));
      }}
      onPointerUp={({ currentTarget, pointerId }) => {
        // Not for a click, which has moved nothing.
        if (currentTarget.hasPointerCapture(pointerId) && sizes[of] > 0) keep(of, sizes[of]);
      }}
      onDblClick={() => keep(of, 0)}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        const { left = 0, right = 0 } = event.currentTarget.parentElement?.getBoundingClientRect() ?? {};
        keep(of, widthAt(event.currentTarget, (isMirrored() ? left : right) + step));
      }}
    />
  );
}

function isMirrored(): boolean {
  return document.documentElement.dir === 'rtl';
}
