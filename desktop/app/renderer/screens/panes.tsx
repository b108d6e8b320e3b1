import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RequestSummary } from '../../../client/inspector/records.ts';
import { PANE_WIDTH_MAX, type Settings, type TunnelView, type UndoView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import { beside, currentPlace, homeAt, type Route } from '../model/route.ts';
import { isLive } from '../model/tunnel-state.ts';
import { PaneContext, ShellContext, UndoContext, useShell, useWindow } from '../view/context.ts';
import { useKey, useMedia } from '../view/keyboard.ts';
import { LogScreen } from './log/log-screen.tsx';
import { requestOfRow } from './log/request-list.tsx';
import { RequestScreen } from './log/request-screen.tsx';
import { EditScreen } from './request-editor/edit-screen.tsx';
import { AboutScreen, SettingsScreen } from './settings-screen.tsx';
import { Empty, TunnelsScreen } from './tunnels/tunnels-screen.tsx';

/** Wide enough for the tunnels as rows, and a log or another opened screen beside them. */
const WIDE = '(width >= 720px)';
/** Also wide enough for a request beside its log. */
const WIDEST = '(width >= 1000px)';

/** Whether the tunnels are rows beside a log. */
export function isWideWindow(): boolean {
  return window.matchMedia(WIDE).matches;
}

const NO_UNDOS: readonly UndoView[] = [];

/**
 * The signed-in window: one screen; in a wide window the tunnels and the opened screen; in a wider one also a log. Each
 * screen has the same place in the tree at every width, so that resizing the window loses nothing that is under way.
 */
export function Panes(): JSX.Element {
  const { snapshot, trail } = useWindow();
  const isWide = useMedia(WIDE);
  const isWidest = useMedia(WIDEST);
  const [paused, setPaused] = useState<PausedLog>();
  const widths = usePaneWidths(snapshot.settings);
  usePaneKeys();
  const { route } = currentPlace(trail);
  const isHome = route.screen === 'tunnels';
  const ofRoute = 'key' in route ? route.key : undefined;
  const chosen = useChosenTunnel(snapshot.tunnels, ofRoute);
  // Beside the tunnels there is room for the requests that people look at most.
  const logKey = isHome
    ? isWide
      ? chosen
      : undefined
    : isWidest || route.screen === 'log'
      ? ofRoute
      : undefined;
  const hasOpened = !isHome && route.screen !== 'log';
  const hasLog = logKey !== undefined;
  const { tunnels, others, names, undos } = snapshot;
  const hasNothing = tunnels.length + others.length + names.length === 0;
  return (
    <div
      class={`panes ${isWide ? 'panes-wide' : ''} ${hasLog && hasOpened ? 'panes-three' : ''}`}
      style={widths.style}
    >
      {/* The undo notice is shown once, on the left. */}
      <UndoContext.Provider value={isWide || isHome ? undos : NO_UNDOS}>
        <TunnelsScreen
          isPane={isWide}
          isHidden={!isWide && !isHome}
          logKey={ofRoute ?? logKey}
          divider={isWide && <Divider of="list" label={t('panes.widthOfTunnels')} widths={widths} />}
        />
      </UndoContext.Provider>
      <UndoContext.Provider value={isWide ? NO_UNDOS : undos}>
        {hasLog && (
          <Log
            key={logKey}
            tunnelKey={logKey}
            isBeside={isWidest}
            isRailed={isWide}
            isMain={!hasOpened}
            widths={widths}
            paused={paused}
            setPaused={setPaused}
          />
        )}
        {hasOpened && <Opened />}
        {isWide && !hasLog && !hasOpened && (
          <main class="screen centred">
            {hasNothing ? <Empty /> : <p class="dim">{t('panes.openRequests')}</p>}
          </main>
        )}
      </UndoContext.Provider>
    </div>
  );
}

/** Key of the tunnel that was looked at last, or of the newest one if that came later. */
function useChosenTunnel(tunnels: readonly TunnelView[], ofRoute: string | undefined): string | undefined {
  const newest = tunnels[0]?.key;
  const last = useRef({ key: ofRoute, newest });
  if (last.current.newest !== newest) last.current = { key: undefined, newest };
  if (ofRoute !== undefined) last.current.key = ofRoute;
  const isThere = tunnels.some(({ key }) => key === last.current.key);
  return isThere ? last.current.key : (tunnels.find(isLive)?.key ?? newest);
}

/** The last opened screen, unless it is a log. */
function Opened(): JSX.Element {
  const { trail } = useWindow();
  const { isBeside } = currentPlace(trail);
  const pane = useMemo(() => ({ isMain: true, takesFocus: !isBeside, hasBack: true }), [isBeside]);
  return (
    <PaneContext.Provider value={pane}>
      <OpenedScreen route={currentPlace(trail).route} />
    </PaneContext.Provider>
  );
}

function OpenedScreen({ route }: { route: Route }): JSX.Element | null {
  switch (route.screen) {
    case 'tunnels':
    case 'log':
      return null;
    case 'request':
      return <RequestScreen key={`${route.key} ${route.id}`} tunnelKey={route.key} id={route.id} />;
    case 'edit':
      return <EditScreen key={`${route.key} ${route.id}`} tunnelKey={route.key} id={route.id} />;
    case 'settings':
      return <SettingsScreen />;
    case 'about':
      return <AboutScreen />;
  }
}

/** The log of a tunnel. Where a request opens beside it, the focus stays in the log. */
function Log({
  tunnelKey,
  isBeside,
  isRailed,
  isMain,
  widths,
  paused,
  setPaused,
}: {
  tunnelKey: string;
  /** whether requests open beside it */
  isBeside: boolean;
  /** whether the tunnels are beside it, where another one is chosen */
  isRailed: boolean;
  isMain: boolean;
  widths: PaneWidths;
  paused: PausedLog | undefined;
  setPaused: (paused: PausedLog | undefined) => void;
}): JSX.Element {
  const { trail, setTrail } = useWindow();
  const shell = useShell();
  const { route, focus } = currentPlace(trail);
  const isOfHome = route.screen === 'tunnels';
  const opened = 'id' in route ? route.id : undefined;
  const open = useCallback(
    (id: number) => {
      const focused = document.activeElement?.id;
      setTrail((before) => beside(before, { screen: 'request', key: tunnelKey, id }, focused));
    },
    [setTrail, tunnelKey],
  );
  const middle = useMemo(
    () => ({
      ...shell,
      back: () => setTrail(homeAt(`log-${tunnelKey}`)),
      go(to: Route) {
        if (to.screen !== 'request') return shell.go(to);
        open(to.id);
        shell.say(t('panes.besideList'));
      },
    }),
    [shell, setTrail, tunnelKey, open],
  );
  const pane = useMemo(
    () => ({
      isMain,
      takesFocus: !isOfHome,
      hasBack: !isRailed,
      divider: !isMain && <Divider of="log" label={t('panes.widthOfRequests')} widths={widths} />,
    }),
    [isMain, isOfHome, isRailed, widths],
  );
  return (
    <PaneContext.Provider value={pane}>
      <ShellContext.Provider value={isBeside ? middle : shell}>
        <ProvidedLog
          tunnelKey={tunnelKey}
          start={opened ?? requestOfRow(tunnelKey, focus)}
          opened={opened}
          // An editor stays open.
          follow={isBeside && route.screen === 'request' ? open : undefined}
          paused={paused?.key === tunnelKey ? paused.requests : undefined}
          setPaused={(requests) => setPaused(requests && { key: tunnelKey, requests })}
        />
      </ShellContext.Provider>
    </PaneContext.Provider>
  );
}

/**
 * A child of a provider stays in the provider's props as it was first drawn. Without this step in between, that would
 * keep the previous requests in memory.
 */
function ProvidedLog(props: Parameters<typeof LogScreen>[0]): JSX.Element {
  return <LogScreen {...props} />;
}

/** The requests that a log shows while it is paused. It stays so while another screen is open. */
interface PausedLog {
  readonly key: string;
  readonly requests: readonly RequestSummary[];
}

/** F6 moves to the next pane, Shift+F6 to the previous one: to its last focus, or its heading. */
function usePaneKeys(): void {
  const last = useRef(new WeakMap<Element, HTMLElement>());
  useEffect(() => {
    const remember = ({ target }: FocusEvent): void => {
      const pane = target instanceof HTMLElement ? target.closest('.panes > .screen') : null;
      if (pane !== null && target instanceof HTMLElement) last.current.set(pane, target);
    };
    window.addEventListener('focusin', remember);
    return () => window.removeEventListener('focusin', remember);
  }, []);
  useKey(
    ({ key, ctrlKey, metaKey, altKey }) => key === 'F6' && !ctrlKey && !metaKey && !altKey,
    ({ shiftKey }) => {
      const panes = [...document.querySelectorAll('.panes > .screen')].filter((pane) =>
        pane.checkVisibility(),
      );
      const at = panes.findIndex((pane) => pane.contains(document.activeElement));
      const next = panes.at((at + (shiftKey ? -1 : 1)) % panes.length);
      if (next === undefined) return;
      const known = last.current.get(next);
      const first = next.querySelector<HTMLElement>('.log .row[tabindex="0"], [tabindex="-1"], #port');
      (known?.isConnected === true ? known : first)?.focus();
    },
  );
}

/** The panes with a width of their own; the last one takes the rest. */
type SizedPane = 'list' | 'log';

/** px; 0 for the default */
type Sizes = Readonly<Record<SizedPane, number>>;

interface PaneWidths {
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
const MIN = 220;

/** The widths that the user has given to panes. */
function usePaneWidths({ listWidth, logWidth }: Settings): PaneWidths {
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
function Divider({
  of,
  label,
  widths: { sizes, resize, keep },
}: {
  of: SizedPane;
  label: string;
  widths: PaneWidths;
}): JSX.Element {
  const widthAt = (divider: HTMLElement, x: number): number => {
    const { left = 0 } = divider.parentElement?.getBoundingClientRect() ?? {};
    return Math.min(PANE_WIDTH_MAX, Math.max(MIN, Math.round(x - left)));
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
        const { right = 0 } = event.currentTarget.parentElement?.getBoundingClientRect() ?? {};
        keep(of, widthAt(event.currentTarget, right + step));
      }}
    />
  );
}
