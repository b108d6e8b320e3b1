import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SessionView, Settings } from '../../../shared/snapshot.ts';
import { SUMMON_SHORTCUTS, type SummonShortcut } from '../../../shared/summon.ts';
import { capitalised } from '../../model/numbers.ts';
import { KEEP_WORDS } from '../../model/sign-in.ts';
import { openWishes } from '../../model/wishes.ts';
import { shortcutText } from '../../view/shortcut.tsx';
import { useShell } from '../../view/context.ts';
import { Failure } from '../../view/parts.tsx';
import { Screen } from '../../view/screen.tsx';
import { useAction } from '../../view/use-action.ts';
import { Select, Switch } from './controls.tsx';

type SignedIn = Extract<SessionView, { state: 'signed-in' }>;

const THEMES: Readonly<Record<Settings['theme'], string>> = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
};
const SHORTCUTS = Object.fromEntries(
  SUMMON_SHORTCUTS.map((shortcut) => [shortcut, shortcut === 'off' ? 'Off' : shortcutText(shortcut)]),
) as Readonly<Record<SummonShortcut, string>>;
const ON_QUIT: Readonly<Record<Settings['onQuit'], string>> = {
  ask: 'Ask each time',
  close: 'Close them',
  leave: 'Leave them until they expire',
};

/** Everything that can be set; each change takes effect at once. */
export function SettingsScreen({
  settings,
  session,
  isShortcutRefused,
}: {
  settings: Settings;
  isShortcutRefused: boolean;
  session: SignedIn;
}): JSX.Element {
  const { go } = useShell();
  const action = useAction();
  // What was just set is shown at once, until main reports the actual state.
  const [wished, setWished] = useState<Partial<Settings>>({});
  useEffect(() => setWished((wishes) => openWishes(wishes, settings)), [settings]);
  const shown = { ...settings, ...wished };
  const change = async (changes: Partial<Settings>): Promise<void> => {
    setWished((wishes) => ({ ...wishes, ...changes }));
    const answer = await action.run('settings:change', changes);
    if (!answer.ok) setWished({});
  };
  return (
    <Screen title="Settings">
      <Failure problem={action.error} />
      <section class="group" aria-label="App">
        <Switch
          id="starts-at-login"
          label="Start at login"
          hint="Without a window, in the tray."
          checked={shown.startsAtLogin}
          onChange={(startsAtLogin) => void change({ startsAtLogin })}
        />
        <Switch
          id="notifies"
          label="Notifications"
          hint="When a tunnel has its first visitor, is about to expire, has expired or is lost, and when the key is refused."
          checked={shown.notifies}
          onChange={(notifies) => void change({ notifies })}
        />
        <Select
          id="summon-shortcut"
          label="Shortcut from anywhere"
          hint={
            isShortcutRefused
              ? 'Your system does not give it: another program may have it, or none may have any.'
              : 'Shows the newest address; pressed twice, it copies it.'
          }
          choices={SHORTCUTS}
          value={shown.summonShortcut}
          onChange={(summonShortcut) => void change({ summonShortcut })}
        />
        <Select
          id="theme"
          label="Theme"
          choices={THEMES}
          value={shown.theme}
          onChange={(theme) => void change({ theme })}
        />
        <Select
          id="on-quit"
          label="Tunnels when Culvert quits"
          choices={ON_QUIT}
          value={shown.onQuit}
          onChange={(onQuit) => void change({ onQuit })}
        />
      </section>
      <section class="group" aria-label="Account">
        <dl class="pairs">
          <dt>Relay</dt>
          <dd>{session.relay}</dd>
          <dt>Account</dt>
          <dd>
            {session.account.name}, {capitalised(session.account.plan)} plan
          </dd>
          <dt>API key</dt>
          <dd>{KEEP_WORDS[session.keyKept].kept}</dd>
        </dl>
        <button type="button" class="button" onClick={() => void action.run('session:sign-out', undefined)}>
          Sign out
        </button>
        <p class="hint">Signing out closes your tunnels and forgets the key on this computer.</p>
      </section>
      <div class="buttons">
        <button type="button" id="about" class="button" onClick={() => go({ screen: 'about' })}>
          About and licences
        </button>
        <button
          type="button"
          class="button"
          onClick={() => void action.run('app:open-link', { link: 'documentation' })}
        >
          Documentation
        </button>
        <button type="button" class="button" onClick={() => void action.run('app:quit', undefined)}>
          Quit Culvert
        </button>
      </div>
    </Screen>
  );
}
