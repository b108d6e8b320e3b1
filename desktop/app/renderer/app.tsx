import { type ContextType, type JSX, render } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { WHOLE_LOG } from '../ipc/request-views.ts';
import type { Snapshot } from '../ipc/snapshot.ts';
import { chooseLocale, DEFAULT_LOCALE, setLocale, t } from '../messages/translate.ts';
import type { Bridge } from './bridge.ts';
import { copyAddress, showMessage } from './model/actions.ts';
import { draftFrom, EMPTY_DRAFT, type FormDraft } from './model/create-form.ts';
import { backward, forward, HOME, homeAt, instead, logAt, type Route, type Trail } from './model/route.ts';
import { chosenSignIn, otherSignIns, stayingWords } from './model/sign-in.ts';
import { announcements } from './model/tunnel-state.ts';
import { DiagnosticsDialog } from './screens/diagnostics-dialog.tsx';
import {
  DropDialog,
  DropHere,
  FolderDialog,
  ProjectDialog,
  useDrops,
  useFolderQuestion,
} from './screens/folder-dialogs.tsx';
import { KeysDialog } from './screens/keys-dialog.tsx';
import { Palette, useActionKeys, usePalette } from './screens/palette.tsx';
import { isWideWindow, Panes } from './screens/panes.tsx';
import { InvitationDialog, SignIn } from './screens/sign-in.tsx';
import { ImportDialog } from './screens/transfer.tsx';
import './style/main.css';
import {
  callOf,
  CopiedContext,
  DraftsContext,
  ReachContext,
  type Shell,
  ShellContext,
  UndoContext,
  UnfoldedContext,
  WindowContext,
} from './view/context.ts';
import { useMoment } from './view/controls.tsx';
import { Mark } from './view/icons.tsx';
import { focusedId, useEscape, useReturnedFocus } from './view/keyboard.ts';
import { Notice } from './view/kit.tsx';
import { useLogViews, useSnapshot } from './view/use-snapshot.ts';

/** The window: shows the snapshot that main pushes, and asks main for what the user wants. */
function App({ bridge }: { bridge: Bridge }): JSX.Element {
  const [trail, setTrail] = useState<Trail>(HOME);
  const [search, setSearch] = useState('');
  const [draft, setDraft] = useState<FormDraft>(EMPTY_DRAFT);
  const [importing, setImporting] = useState<string>();
  const [unfolded, setUnfolded] = useState<ContextType<typeof UnfoldedContext>>({});
  /** id of the sign-in that was shown before this one */
  const [left, setLeft] = useState<string>();
  const [drafts] = useState(() => new Map<string, unknown>());
  const [copied, setCopied] = useMoment<string>();
  const [showsKeys, setShowsKeys] = useState(false);
  const [told, setTold] = useState('');
  const say = useCallback((text: string) => {
    // The same words are spoken again only if something differs.
    setTold((before) => (before === text ? `${text}\u00a0` : text));
  }, []);
  const onChange = useCallback(
    (previous: Snapshot | undefined, next: Snapshot) => {
      const sentences = announcements(previous, next);
      if (sentences.length > 0) say(sentences.join(' '));
      const isSame = previous !== undefined && chosenSignIn(previous) === chosenSignIn(next);
      if (!isSame) setLeft(previous && chosenSignIn(previous));
      if (next.session.state === 'signed-in' && (isSame || previous === undefined)) return;
      setTrail(HOME);
      setSearch('');
      setImporting(undefined);
      setUnfolded({});
      drafts.clear();
    },
    [say, drafts],
  );
  const { snapshot, problem } = useSnapshot(bridge, onChange);
  const tunnels = useRef(snapshot?.tunnels);
  tunnels.current = snapshot?.tunnels;
  const logViews = useLogViews(bridge);
  const isOfCommand = snapshot?.isOfCommand ?? false;
  const { show: showLog } = logViews;
  const shell = useMemo((): Shell => {
    const show = (focus: string, key?: string): void => {
      const isInRail = isWideWindow() && tunnels.current?.some((tunnel) => tunnel.key === key) === true;
      setTrail(key !== undefined && isInRail ? logAt(key, focus) : homeAt(focus));
      // An idle one is only a row.
      if (key !== undefined) setUnfolded((before) => ({ ...before, [key]: before[key] ?? 'card' }));
      // It points to an entry of the list, which a search would hide.
      setSearch('');
    };
    const go = (route: Route): void => setTrail((before) => forward(before, route, focusedId()));
    return {
      bridge,
      isOfCommand,
      call: callOf(bridge),
      say,
      show,
      go,
      back: () => setTrail(backward),
      replace: (from, to, focus) => setTrail((before) => instead(before, from, to, focus)),
      copied: setCopied,
      unfold(key, part) {
        drafts.delete(key);
        setUnfolded((before) => ({ ...before, [key]: part }));
      },
      newTunnel(port) {
        show('port');
        if (port !== undefined) setDraft((before) => ({ ...before, port: String(port) }));
      },
      search(key, words) {
        showLog(key, { ...WHOLE_LOG, search: words });
        go({ screen: 'log', key });
      },
      importTo: setImporting,
      toggleKeys: () => setShowsKeys((shows) => !shows),
    };
  }, [bridge, isOfCommand, say, setCopied, showLog, drafts]);

  useEffect(() => {
    const stops = [
      bridge.on('form:open', (form) => {
        shell.show('port');
        setDraft(draftFrom(form));
      }),
      // The answer to who knocks.
      bridge.on('tunnel:show', ({ key }) => shell.show(`admit-${key}`, key)),
      bridge.on('message:show', ({ key }) => showMessage(shell, key, key)),
      bridge.on('address:show', ({ key, copies }) => {
        shell.show(`copy-${key}`, key);
        if (copies) void copyAddress(shell, key, t('address.copied'));
      }),
    ];
    return () => stops.forEach((stop) => stop());
  }, [bridge, shell]);
  useSinglePresses();
  const isDragging = useDrops(bridge);
  const asked = useFolderQuestion(bridge);
  useEscape(trail.length > 1, shell.back);
  const isSignedIn = snapshot?.session.state === 'signed-in';
  const isReached = snapshot?.session.state !== 'signed-in' || snapshot.session.problem === undefined;
  useActionKeys(shell, isSignedIn);
  const palette = usePalette(shell, trail, snapshot?.tunnels ?? [], isSignedIn);
  useReturnedFocus(trail);
  const importingTo = snapshot?.tunnels.find(({ key }) => key === importing);
  const theme = snapshot?.settings.theme ?? 'system';
  useLayoutEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  const { language, tag } = snapshot?.locale ?? DEFAULT_LOCALE;
  useLayoutEffect(() => {
    document.documentElement.lang = language;
  }, [language]);

  return (
    <ShellContext.Provider value={shell}>
      <ReachContext.Provider value={isReached}>
        {snapshot === undefined ? (
          <Loading problem={problem} />
        ) : (
          // Another language repeats all announcements.
          <UndoContext.Provider key={`${language} ${tag}`} value={snapshot.undos}>
            {snapshot.session.state === 'signed-in' ? (
              <WindowContext.Provider
                value={{
                  snapshot,
                  session: snapshot.session,
                  trail,
                  setTrail,
                  search,
                  setSearch,
                  logViews,
                  draft,
                  setDraft,
                }}
              >
                <UnfoldedContext.Provider value={unfolded}>
                  <DraftsContext.Provider value={drafts}>
                    <CopiedContext.Provider value={copied}>
                      <Panes key={chosenSignIn(snapshot)} />
                    </CopiedContext.Provider>
                  </DraftsContext.Provider>
                </UnfoldedContext.Provider>
              </WindowContext.Provider>
            ) : (
              <SignIn
                key={chosenSignIn(snapshot)}
                session={snapshot.session}
                hasNetwork={snapshot.hasNetwork}
                others={otherSignIns(snapshot)}
                left={left}
              />
            )}
            {snapshot.invitation !== undefined && (
              <InvitationDialog
                key={snapshot.invitation.id}
                invitation={snapshot.invitation}
                staying={stayingWords(snapshot.invitation, snapshot)}
              />
            )}
            {asked !== undefined && <FolderDialog key={asked.question} {...asked} />}
            {snapshot.drop !== undefined && <DropDialog key={snapshot.drop.id} drop={snapshot.drop} />}
            {snapshot.project !== undefined && (
              <ProjectDialog
                key={snapshot.project.id}
                project={snapshot.project}
                signIns={snapshot.signIns}
              />
            )}
            {snapshot.diagnostics !== undefined && (
              <DiagnosticsDialog key={snapshot.diagnostics.id} checkup={snapshot.diagnostics} />
            )}
            {importingTo !== undefined && (
              <ImportDialog
                key={importingTo.key}
                tunnel={importingTo}
                close={() => setImporting(undefined)}
              />
            )}
            {isSignedIn && showsKeys && <KeysDialog close={shell.toggleKeys} />}
            {isDragging && <DropHere />}
            {palette.isOpen && <Palette snapshot={snapshot} close={palette.close} />}
          </UndoContext.Provider>
        )}
        <div class="unseen" role="status">
          {told}
        </div>
      </ReachContext.Provider>
    </ShellContext.Provider>
  );
}

/** Waiting deserves words only after this long. */
const SLOW_MS = 3000;

/** Before the first snapshot: nearly nothing, because it is over in a moment. */
function Loading({ problem }: { problem: string | undefined }): JSX.Element {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setSlow(true), SLOW_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <main class="screen centred">
      <Mark size={48} />
      <h1 class="unseen">Culvert</h1>
      {problem !== undefined && (
        <Notice kind="error" alert>
          {t('common.openAgain', { problem })}
        </Notice>
      )}
      {problem === undefined && isSlow && <p class="dim">{t('common.stillStarting')}</p>}
    </main>
  );
}

/* People double-click everything, and what a button does moves other buttons under the pointer. */

/** Makes a double click on any button of the window one click, and a key that is held down one press. */
function useSinglePresses(): void {
  useEffect(() => {
    const onClick = (event: MouseEvent): void => {
      // The system counts clicks by its own idea of how fast a double click is; a key counts as none.
      if (event.detail > 1 && isButton(event.target)) swallow(event);
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.repeat && event.key === 'Enter' && !(event.target instanceof HTMLTextAreaElement))
        swallow(event);
    };
    window.addEventListener('click', onClick, true);
    window.addEventListener('keydown', onKey, true);
    return () => {
      window.removeEventListener('click', onClick, true);
      window.removeEventListener('keydown', onKey, true);
    };
  }, []);
}

function isButton(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('button') !== null;
}

function swallow(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Shows the window. @param makeBridge called once the page speaks its user's language */
export function start(makeBridge: () => Bridge): void {
  const root = document.getElementById('root');
  if (root === null) throw new Error('index.html has no root');
  // Until main sends the user's choice.
  setLocale(chooseLocale('system', navigator.languages));
  render(<App bridge={makeBridge()} />, root);
}
