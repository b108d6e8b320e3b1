import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { Snapshot } from '../shared/snapshot.ts';
import type { Bridge } from './bridge.ts';
import { announcements } from './model/announce.ts';
import { draftFrom, EMPTY_DRAFT, type FormDraft } from './model/create-form.ts';
import {
  backward,
  currentPlace,
  forward,
  HOME,
  type Place,
  type Route,
  searching,
  type Trail,
} from './model/route.ts';
import { Loading } from './screens/loading.tsx';
import { LogScreen } from './screens/log/log-screen.tsx';
import { RequestScreen } from './screens/log/request-screen.tsx';
import { AboutScreen } from './screens/settings/about-screen.tsx';
import { SettingsScreen } from './screens/settings/settings-screen.tsx';
import { SignIn } from './screens/sign-in/sign-in.tsx';
import { TunnelsScreen } from './screens/tunnels/tunnels-screen.tsx';
import { ShellContext } from './view/context.ts';
import { useReturnedFocus } from './view/focus.ts';
import { useEscape } from './view/keys.ts';
import { useSnapshot } from './view/use-snapshot.ts';

/** The window: shows the snapshot that main pushes, and asks main for what the user wants. */
export function App({ bridge }: { bridge: Bridge }): JSX.Element {
  const [trail, setTrail] = useState<Trail>(HOME);
  const [draft, setDraft] = useState<FormDraft>(EMPTY_DRAFT);
  const [told, setTold] = useState('');
  const say = useCallback((text: string) => {
    // The same words are spoken again only if something differs.
    setTold((before) => (before === text ? `${text}\u00a0` : text));
  }, []);
  const onChange = useCallback(
    (previous: Snapshot | undefined, next: Snapshot) => {
      const sentences = announcements(previous, next);
      if (sentences.length > 0) say(sentences.join(' '));
      if (next.session.state !== 'signed-in') setTrail(HOME);
    },
    [say],
  );
  const { snapshot, problem } = useSnapshot(bridge, onChange);
  const setSearch = useCallback((search: string) => setTrail((before) => searching(before, search)), []);
  const back = useCallback(() => setTrail(backward), []);
  const shell = useMemo(
    () => ({
      bridge,
      say,
      back,
      go: (route: Route) => setTrail((before) => forward(before, route, document.activeElement?.id)),
    }),
    [bridge, say, back],
  );

  useEffect(
    () =>
      bridge.on('form:open', (form) => {
        setTrail(HOME);
        setDraft(draftFrom(form));
      }),
    [bridge],
  );
  useEffect(
    () =>
      bridge.on('tunnel:show', ({ key }) => {
        // The answer to who knocks.
        const [home] = HOME;
        setTrail([{ ...home, focus: `admit-${key}` }]);
      }),
    [bridge],
  );
  useEscape(back);
  useReturnedFocus(trail);
  const theme = snapshot?.settings.theme ?? 'system';
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);

  return (
    <ShellContext.Provider value={shell}>
      {snapshot === undefined ? (
        <Loading problem={problem} />
      ) : (
        <Current
          snapshot={snapshot}
          place={currentPlace(trail)}
          setSearch={setSearch}
          draft={draft}
          setDraft={setDraft}
        />
      )}
      <div class="unseen" role="status">
        {told}
      </div>
    </ShellContext.Provider>
  );
}

function Current({
  snapshot,
  place,
  setSearch,
  draft,
  setDraft,
}: {
  snapshot: Snapshot;
  place: Place;
  setSearch: (search: string) => void;
  draft: FormDraft;
  setDraft: (draft: FormDraft) => void;
}): JSX.Element {
  const { session } = snapshot;
  const { route, search } = place;
  if (session.state !== 'signed-in') return <SignIn session={session} hasNetwork={snapshot.hasNetwork} />;
  switch (route.screen) {
    case 'tunnels':
      return (
        <TunnelsScreen
          snapshot={snapshot}
          session={session}
          search={search}
          setSearch={setSearch}
          draft={draft}
          setDraft={setDraft}
        />
      );
    case 'log':
      return (
        <LogScreen tunnelKey={route.key} tunnels={snapshot.tunnels} search={search} setSearch={setSearch} />
      );
    case 'request':
      return <RequestScreen key={route.id} tunnelKey={route.key} id={route.id} tunnels={snapshot.tunnels} />;
    case 'settings':
      return <SettingsScreen settings={snapshot.settings} session={session} />;
    case 'about':
      return <AboutScreen />;
  }
}
