import type { ComponentChildren, JSX } from 'preact';
import { type Dispatch, type StateUpdater, useCallback, useEffect, useMemo, useRef } from 'preact/hooks';
import type { SessionView, Snapshot, UndoView } from '../../ipc/snapshot.ts';
import { t } from '../../messages/translate.ts';
import type { FormDraft } from '../model/create-form.ts';
import { beside, currentPlace, homeAt, type Route, type Trail } from '../model/route.ts';
import { PaneContext, ShellContext, UndoContext, useShell, WrapContext } from '../view/context.ts';
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
const IN_THE_MIDDLE = { isMain: false, takesFocus: true };

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

/** The signed-in window: one screen; in a wide window the tunnels and the opened screen; in a wider one also a log. */
export function Panes(props: PanesProps): JSX.Element {
  const { snapshot, session, trail, search, setSearch, draft, setDraft } = props;
  const isWide = useMedia(WIDE);
  const isWidest = useMedia(WIDEST);
  usePaneKeys();
  const { route } = currentPlace(trail);
  if (!isWide && route.screen !== 'tunnels') return <Opened {...props} />;
  const tunnels = (
    <TunnelsScreen
      snapshot={snapshot}
      session={session}
      search={search}
      setSearch={setSearch}
      draft={draft}
      setDraft={setDraft}
      isPane={isWide}
    />
  );
  if (!isWide) return tunnels;
  const hasLog = isWidest && 'key' in route;
  return (
    <div class={`panes ${hasLog ? 'panes-three' : ''}`}>
      {tunnels}
      {/* The undo notice is shown once, on the left. */}
      <UndoContext.Provider value={NO_UNDOS}>
        {hasLog && (
          <Middle tunnelKey={route.key} setTrail={props.setTrail}>
            <Log {...props} tunnelKey={route.key} />
          </Middle>
        )}
        {route.screen === 'tunnels' ? (
          <Empty>{t('panes.openRequests')}</Empty>
        ) : hasLog && route.screen === 'log' ? (
          <Empty>{t('panes.chooseRequest')}</Empty>
        ) : (
          <Opened {...props} />
        )}
      </UndoContext.Provider>
    </div>
  );
}

/** The log between tunnels and request. Requests open beside it, while the focus stays. */
function Middle({
  tunnelKey,
  setTrail,
  children,
}: {
  tunnelKey: string;
  setTrail: PanesProps['setTrail'];
  children: ComponentChildren;
}): JSX.Element {
  const shell = useShell();
  const middle = useMemo(
    () => ({
      ...shell,
      back: () => setTrail(homeAt(`log-${tunnelKey}`)),
      go(route: Route) {
        if (route.screen !== 'request') return shell.go(route);
        const focus = document.activeElement?.id;
        setTrail((before) => beside(before, route, focus));
        shell.say(t('panes.besideList'));
      },
    }),
    [shell, setTrail, tunnelKey],
  );
  return (
    <PaneContext.Provider value={IN_THE_MIDDLE}>
      <ShellContext.Provider value={middle}>{children}</ShellContext.Provider>
    </PaneContext.Provider>
  );
}

/** The last opened screen. */
function Opened(props: PanesProps): JSX.Element | null {
  const { snapshot, session, trail } = props;
  const { route, isBeside } = currentPlace(trail);
  const pane = useMemo(() => ({ isMain: true, takesFocus: !isBeside }), [isBeside]);
  switch (route.screen) {
    case 'tunnels':
      return null;
    case 'log':
      return <Log {...props} tunnelKey={route.key} />;
    case 'request':
      return (
        <PaneContext.Provider value={pane}>
          <WrapContext.Provider value={snapshot.settings.wrapsBodies}>
            <RequestScreen
              key={`${route.key} ${route.id}`}
              tunnelKey={route.key}
              id={route.id}
              tunnels={snapshot.tunnels}
            />
          </WrapContext.Provider>
        </PaneContext.Provider>
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

function Log({
  snapshot,
  trail,
  setTrail,
  logViews,
  tunnelKey,
}: PanesProps & { tunnelKey: string }): JSX.Element {
  const { route, focus } = currentPlace(trail);
  const { tunnels } = snapshot;
  const opened = 'id' in route ? route.id : undefined;
  // An editor stays open.
  const hasRequest = route.screen === 'request';
  const follow = useCallback(
    (id: number) => {
      const focused = document.activeElement?.id;
      setTrail((before) => beside(before, { screen: 'request', key: tunnelKey, id }, focused));
    },
    [setTrail, tunnelKey],
  );
  return (
    <LogScreen
      key={tunnelKey}
      tunnelKey={tunnelKey}
      tunnels={tunnels}
      view={logViews.viewOf(tunnels.find(({ key }) => key === tunnelKey))}
      show={(view) => logViews.show(tunnelKey, view)}
      start={opened ?? requestOfRow(tunnelKey, focus)}
      opened={opened}
      follow={hasRequest ? follow : undefined}
    />
  );
}

function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <main class="screen nothing-opened">
      <p class="dim">{children}</p>
    </main>
  );
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
      const panes = [...document.querySelectorAll('.panes > .screen')];
      const at = panes.findIndex((pane) => pane.contains(document.activeElement));
      const next = panes.at((at + (shiftKey ? -1 : 1)) % panes.length);
      if (next === undefined) return;
      const known = last.current.get(next);
      const first = next.querySelector<HTMLElement>('.log .row[tabindex="0"], [tabindex="-1"], #port');
      (known?.isConnected === true ? known : first)?.focus();
    },
  );
}
