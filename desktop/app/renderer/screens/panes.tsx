import type { JSX } from 'preact';
import {
  type Dispatch,
  type StateUpdater,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'preact/hooks';
import type { RequestSummary } from '../../../client/inspector/records.ts';
import type { SessionView, Snapshot, UndoView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { FormDraft } from '../model/create-form.ts';
import { beside, currentPlace, homeAt, type Route, type Trail } from '../model/route.ts';
import { isLive } from '../model/tunnel-state.ts';
import { PaneContext, ShellContext, UndoContext, useShell, WrapContext } from '../view/context.ts';
import { Divider, type PaneWidths, usePaneWidths } from '../view/divider.tsx';
import { useMedia } from '../view/focus.ts';
import { useKey } from '../view/keys.ts';
import type { LogViews } from '../view/use-snapshot.ts';
import { AboutScreen } from './about-screen.tsx';
import { SetsScreen } from './collections/collections-screen.tsx';
import { LogScreen } from './log/log-screen.tsx';
import { requestOfRow } from './log/request-row.tsx';
import { RequestScreen } from './log/request-screen.tsx';
import { EditScreen } from './request-editor/edit-screen.tsx';
import { SettingsScreen } from './settings-screen.tsx';
import { TunnelsScreen } from './tunnels/tunnels-screen.tsx';

/** Wide enough for the tunnels and an opened screen. */
const WIDE = '(width >= 720px)';
/** Also wide enough for a log between them. */
const WIDEST = '(width >= 1100px)';
const NO_UNDOS: readonly UndoView[] = [];

interface PanesProps {
  snapshot: Snapshot;
  session: Extract<SessionView, { state: 'signed-in' }>;
  trail: Trail;
  setTrail: Dispatch<StateUpdater<Trail>>;
  /** the text in the search of the tunnels */
  search: string;
  setSearch: (search: string) => void;
  logViews: LogViews;
  draft: FormDraft;
  setDraft: (draft: FormDraft) => void;
}

/**
 * The signed-in window: one screen; in a wide window the tunnels and the opened screen; in a wider one also a log. Each
 * screen has the same place in the tree at every width, so that resizing the window loses nothing that is under way.
 */
export function Panes(props: PanesProps): JSX.Element {
  const { snapshot, session, trail, search, setSearch, draft, setDraft } = props;
  const isWide = useMedia(WIDE);
  const isWidest = useMedia(WIDEST);
  const [paused, setPaused] = useState<PausedLog>();
  const widths = usePaneWidths(snapshot.settings);
  usePaneKeys();
  const { route } = currentPlace(trail);
  const isHome = route.screen === 'tunnels';
  // Beside the tunnels there is room for the requests that people look at most.
  const newest = isHome && isWide ? (snapshot.tunnels.find(isLive) ?? snapshot.tunnels[0]) : undefined;
  const logKey =
    newest?.key ?? ('key' in route && (isWidest || route.screen === 'log') ? route.key : undefined);
  const hasOpened = !isHome && route.screen !== 'log';
  const hasLog = logKey !== undefined;
  const { undos } = snapshot;
  return (
    <div
      class={`panes ${isWide ? 'panes-wide' : ''} ${hasLog && hasOpened ? 'panes-three' : ''}`}
      style={widths.style}
    >
      {/* The undo notice is shown once, on the left. */}
      <UndoContext.Provider value={isWide || isHome ? undos : NO_UNDOS}>
        <TunnelsScreen
          snapshot={snapshot}
          session={session}
          search={search}
          setSearch={setSearch}
          draft={draft}
          setDraft={setDraft}
          isPane={isWide}
          isHidden={!isWide && !isHome}
          divider={isWide && <Divider of="list" label={t('panes.widthOfTunnels')} widths={widths} />}
        />
      </UndoContext.Provider>
      <UndoContext.Provider value={isWide ? NO_UNDOS : undos}>
        {hasLog && (
          <Log
            {...props}
            key={logKey}
            tunnelKey={logKey}
            isBeside={isWidest}
            isMain={!hasOpened}
            widths={widths}
            paused={paused}
            setPaused={setPaused}
          />
        )}
        {hasOpened && <Opened {...props} />}
        {isWide && !hasLog && !hasOpened && (
          <main class="screen nothing-opened">
            <p class="dim">{t('panes.openRequests')}</p>
          </main>
        )}
      </UndoContext.Provider>
    </div>
  );
}

/** The last opened screen, unless it is a log. */
function Opened({ snapshot, session, trail }: PanesProps): JSX.Element {
  const { isBeside } = currentPlace(trail);
  const pane = useMemo(() => ({ isMain: true, takesFocus: !isBeside, hasBack: true }), [isBeside]);
  return (
    <PaneContext.Provider value={pane}>
      <WrapContext.Provider value={snapshot.settings.wrapsBodies}>
        <OpenedScreen snapshot={snapshot} session={session} route={currentPlace(trail).route} />
      </WrapContext.Provider>
    </PaneContext.Provider>
  );
}

function OpenedScreen({
  snapshot,
  session,
  route,
}: Pick<PanesProps, 'snapshot' | 'session'> & { route: Route }): JSX.Element | null {
  switch (route.screen) {
    case 'tunnels':
    case 'log':
      return null;
    case 'request':
      return (
        <RequestScreen
          key={`${route.key} ${route.id}`}
          tunnelKey={route.key}
          id={route.id}
          tunnels={snapshot.tunnels}
        />
      );
    case 'edit':
      return <EditScreen key={`${route.key} ${route.id}`} tunnelKey={route.key} id={route.id} />;
    case 'sets':
      return (
        <SetsScreen
          key={route.key}
          tunnelKey={route.key}
          tunnels={snapshot.tunnels}
          revision={snapshot.setsRevision}
        />
      );
    case 'settings':
      return (
        <SettingsScreen
          settings={snapshot.settings}
          session={session}
          isShortcutRefused={snapshot.isShortcutRefused}
        />
      );
    case 'about':
      return <AboutScreen />;
  }
}

/** The log of a tunnel. Where a request opens beside it, the focus stays in the log. */
function Log({
  snapshot: { tunnels },
  trail,
  setTrail,
  logViews,
  tunnelKey,
  isBeside,
  isMain,
  widths,
  paused,
  setPaused,
}: PanesProps & {
  tunnelKey: string;
  /** whether requests open beside it */
  isBeside: boolean;
  isMain: boolean;
  widths: PaneWidths;
  paused: PausedLog | undefined;
  setPaused: (paused: PausedLog | undefined) => void;
}): JSX.Element {
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
      hasBack: !isOfHome,
      divider: !isMain && <Divider of="log" label={t('panes.widthOfRequests')} widths={widths} />,
    }),
    [isMain, isOfHome, widths],
  );
  return (
    <PaneContext.Provider value={pane}>
      <ShellContext.Provider value={isBeside ? middle : shell}>
        <ProvidedLog
          tunnelKey={tunnelKey}
          tunnels={tunnels}
          view={logViews.viewOf(tunnels.find(({ key }) => key === tunnelKey))}
          show={(view) => logViews.show(tunnelKey, view)}
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
export function usePaneKeys(): void {
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
