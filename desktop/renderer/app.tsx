import type { JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { DEFAULT_LOCALE, directionOf } from '../i18n/locale.ts';
import { WHOLE_LOG } from '../shared/log.ts';
import type { Snapshot } from '../shared/snapshot.ts';
import type { Bridge } from './bridge.ts';
import { announcements } from './model/announce.ts';
import { draftFrom, EMPTY_DRAFT, type FormDraft } from './model/create-form.ts';
import { leavingWords } from './model/invitation.ts';
import { backward, forward, HOME, homeAt, type Route, type Trail } from './model/route.ts';
import { CheckupDialog } from './screens/checkup/checkup-dialog.tsx';
import { DropDialog } from './screens/drop/drop-dialog.tsx';
import { DropHere } from './screens/drop/drop-here.tsx';
import { useDrops } from './screens/drop/use-drops.ts';
import { Loading } from './screens/loading.tsx';
import { Panes } from './screens/panes.tsx';
import { Palette } from './screens/palette/palette.tsx';
import { usePalette } from './screens/palette/use-palette.ts';
import { ProjectDialog } from './screens/project/project-dialog.tsx';
import { ImportDialog } from './screens/transfer/import-dialog.tsx';
import { InvitationDialog } from './screens/sign-in/invitation-dialog.tsx';
import { SignIn } from './screens/sign-in/sign-in.tsx';
import { ShellContext, UndoContext } from './view/context.ts';
import { useSinglePresses } from './view/deliberate.ts';
import { useReturnedFocus } from './view/focus.ts';
import { hasCommand, useEscape, useKey } from './view/keys.ts';
import { useLogViews } from './view/log-views.ts';
import { useSnapshot } from './view/use-snapshot.ts';

/** The window: shows the snapshot that main pushes, and asks main for what the user wants. */
export function App({ bridge }: { bridge: Bridge }): JSX.Element {
  const [trail, setTrail] = useState<Trail>(HOME);
  const [search, setSearch] = useState('');
  const [draft, setDraft] = useState<FormDraft>(EMPTY_DRAFT);
  const [importing, setImporting] = useState<string>();
  const [told, setTold] = useState('');
  const say = useCallback((text: string) => {
    // The same words are spoken again only if something differs.
    setTold((before) => (before === text ? `${text}\u00a0` : text));
  }, []);
  const onChange = useCallback(
    (previous: Snapshot | undefined, next: Snapshot) => {
      const sentences = announcements(previous, next);
      if (sentences.length > 0) say(sentences.join(' '));
      if (next.session.state === 'signed-in') return;
      setTrail(HOME);
      setSearch('');
      setImporting(undefined);
    },
    [say],
  );
  const { snapshot, problem } = useSnapshot(bridge, onChange);
  const logViews = useLogViews(bridge);
  const goHome = useCallback((focus: string) => {
    setTrail(homeAt(focus));
    // It leads to something of the list, which a search would hide.
    setSearch('');
  }, []);
  const back = useCallback(() => setTrail(backward), []);
  const shell = useMemo(
    () => ({
      bridge,
      say,
      back,
      go: (route: Route) => setTrail((before) => forward(before, route, document.activeElement?.id)),
      importTo: setImporting,
    }),
    [bridge, say, back],
  );

  useEffect(
    () =>
      bridge.on('form:open', (form) => {
        setTrail(HOME);
        setSearch('');
        setDraft(draftFrom(form));
      }),
    [bridge],
  );
  useEffect(
    () =>
      bridge.on('tunnel:show', ({ key }) => {
        // The answer to who knocks.
        goHome(`admit-${key}`);
      }),
    [bridge, goHome],
  );
  useEffect(
    () =>
      bridge.on('address:show', ({ key, copies }) => {
        goHome(`copy-${key}`);
        // What a click on it does says also that it is done.
        if (!copies) return;
        const button = document.getElementById(`copy-${key}`);
        if (button !== null) button.click();
        else bridge.call('tunnel:copy-url', { key }).catch(() => undefined);
      }),
    [bridge, goHome],
  );
  useSinglePresses();
  const isDragging = useDrops(bridge);
  useEscape(trail.length > 1, back);
  const isSignedIn = snapshot?.session.state === 'signed-in';
  useKey(
    (event) => isSignedIn && hasCommand(event) && event.key === 'n',
    () => goHome('port'),
  );
  useKey(
    (event) => isSignedIn && hasCommand(event) && event.key === ',',
    () => shell.go({ screen: 'settings' }),
  );
  const { show: showLog } = logViews;
  const searchLog = useCallback(
    (key: string, words: string) => showLog(key, { ...WHOLE_LOG, search: words }),
    [showLog],
  );
  const palette = usePalette({
    trail,
    setTrail,
    goHome,
    searchLog,
    setDraft,
    tunnels: snapshot?.tunnels ?? [],
    isOn: isSignedIn,
  });
  useReturnedFocus(trail);
  const importingTo = snapshot?.tunnels.find(({ key }) => key === importing);
  const theme = snapshot?.settings.theme ?? 'system';
  useLayoutEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  const { language, tag } = snapshot?.locale ?? DEFAULT_LOCALE;
  useLayoutEffect(() => {
    document.documentElement.lang = language;
    document.documentElement.dir = directionOf(language);
  }, [language]);

  return (
    <ShellContext.Provider value={shell}>
      {snapshot === undefined ? (
        <Loading problem={problem} />
      ) : (
        // Everything is said anew in another language.
        <UndoContext.Provider key={`${language} ${tag}`} value={snapshot.undos}>
          {snapshot.session.state === 'signed-in' ? (
            <Panes
              snapshot={snapshot}
              session={snapshot.session}
              trail={trail}
              setTrail={setTrail}
              search={search}
              setSearch={setSearch}
              logViews={logViews}
              draft={draft}
              setDraft={setDraft}
            />
          ) : (
            <SignIn session={snapshot.session} hasNetwork={snapshot.hasNetwork} />
          )}
          {snapshot.invitation !== undefined && (
            <InvitationDialog
              key={snapshot.invitation.id}
              invitation={snapshot.invitation}
              leaving={leavingWords(snapshot.invitation, snapshot)}
            />
          )}
          {snapshot.drop !== undefined && <DropDialog key={snapshot.drop.id} drop={snapshot.drop} />}
          {snapshot.project !== undefined && (
            <ProjectDialog key={snapshot.project.id} project={snapshot.project} />
          )}
          {snapshot.checkup !== undefined && (
            <CheckupDialog key={snapshot.checkup.id} checkup={snapshot.checkup} />
          )}
          {importingTo !== undefined && (
            <ImportDialog key={importingTo.key} tunnel={importingTo} close={() => setImporting(undefined)} />
          )}
          {isDragging && <DropHere />}
          {palette.isOpen && <Palette snapshot={snapshot} close={palette.close} places={palette.places} />}
        </UndoContext.Provider>
      )}
      <div class="unseen" role="status">
        {told}
      </div>
    </ShellContext.Provider>
  );
}
