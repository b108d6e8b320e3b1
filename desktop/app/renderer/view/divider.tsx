import type { JSX } from 'preact';
import { useCallback, useMemo, useState } from 'preact/hooks';

/** The panes with a width of their own; the last one takes the rest. */
export type SizedPane = 'list' | 'log';

type Sizes = Readonly<Record<SizedPane, number | undefined>>;

export interface PaneWidths {
  readonly sizes: Sizes;
  /** custom properties for the style sheet, which keeps each width within what is usable */
  readonly style: Readonly<Record<string, string>>;
  /** @param width px; `undefined` restores the default */
  readonly resize: (pane: SizedPane, width: number | undefined) => void;
}

/** The widths are a matter of this screen, not of the account, so the page remembers them. */
const STORED = 'culvert.panes';
/** px for each press of an arrow key */
const STEP = 16;
/** The style sheet narrows these further. */
const MIN = 240;
const MAX = 4000;

/** The widths that the user has given to panes. */
export function usePaneWidths(): PaneWidths {
  const [sizes, setSizes] = useState(readSizes);
  const resize = useCallback((pane: SizedPane, width: number | undefined) => {
    setSizes((before) => {
      const next = { ...before, [pane]: width };
      writeSizes(next);
      return next;
    });
  }, []);
  return useMemo(() => {
    const style: Record<string, string> = {};
    for (const pane of ['list', 'log'] as const)
      if (sizes[pane] !== undefined) style[`--${pane}-width`] = `${sizes[pane]}px`;
    return { sizes, style, resize };
  }, [sizes, resize]);
}

function readSizes(): Sizes {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? '{}');
    const widthOf = (pane: SizedPane): number | undefined => {
      const width: unknown = typeof stored === 'object' ? Reflect.get(stored ?? {}, pane) : undefined;
      return typeof width === 'number' && width >= MIN && width <= MAX ? width : undefined;
    };
    return { list: widthOf('list'), log: widthOf('log') };
  } catch {
    // Damaged, or storage is disabled.
    return { list: undefined, log: undefined };
  }
}

function writeSizes(sizes: Sizes): void {
  try {
    localStorage.setItem(STORED, JSON.stringify(sizes));
  } catch {
    // The widths then last as long as the window.
  }
}

/**
 * The line at the end of a pane: dragging it, or the arrow keys, change the width of the pane; a double click restores it (ARIA
 * Authoring Practices, window splitter).
 */
export function Divider({
  of,
  label,
  widths: { sizes, resize },
}: {
  of: SizedPane;
  label: string;
  widths: PaneWidths;
}): JSX.Element {
  const move = (divider: HTMLElement, x: number): void => {
    const pane = divider.parentElement?.getBoundingClientRect();
    if (pane === undefined) return;
    const width = isMirrored() ? pane.right - x : x - pane.left;
    resize(of, Math.min(MAX, Math.max(MIN, Math.round(width))));
  };
  return (
    <div
      class="divider"
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation="vertical"
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      aria-valuenow={sizes[of] ?? MIN}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) move(event.currentTarget, event.clientX);
      }}
      onDblClick={() => resize(of, undefined)}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        const { left, right } = event.currentTarget.parentElement?.getBoundingClientRect() ?? {
          left: 0,
          right: 0,
        };
        move(event.currentTarget, (isMirrored() ? left : right) + step);
      }}
    />
  );
}

function isMirrored(): boolean {
  return document.documentElement.dir === 'rtl';
}
