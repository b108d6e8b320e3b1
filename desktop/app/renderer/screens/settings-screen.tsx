import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { About } from '../../ipc/ipc.ts';
import { KEPT_BODY_CHOICES, type SessionView, type Settings } from '../../ipc/snapshot.ts';
import { GLOBAL_SHORTCUTS, type GlobalShortcutKeys } from '../../ipc/tunnel-views.ts';
import { LANGUAGE_CHOICES, LANGUAGE_NAMES, type LanguageChoice, t } from '../../messages/translate.ts';
import type { BrowserAbilities } from '../bridge.ts';
import { capitalised } from '../model/numbers.ts';
import { keepWords } from '../model/sign-in.ts';
import { openWishes } from '../model/tunnel-state.ts';
import { useAction, useShell } from '../view/context.ts';
import { Failure, Mark, shortcutText } from '../view/controls.tsx';
import { Screen } from '../view/screen.tsx';
import { Team } from './team.tsx';

type SignedIn = Extract<SessionView, { state: 'signed-in' }>;

/** Choices with their labels, which are created on demand because they depend on the language. */
type Choices<T extends string> = Readonly<Record<T, string>>;

const themes = (): Choices<Settings['theme']> => ({
  system: t('settings.theme.system'),
  light: t('settings.theme.light'),
  dark: t('settings.theme.dark'),
});
const shortcuts = (): Choices<GlobalShortcutKeys> =>
  Object.fromEntries(
    GLOBAL_SHORTCUTS.map((shortcut) => [
      shortcut,
      shortcut === 'off' ? t('settings.shortcut.off') : shortcutText(shortcut),
    ]),
  ) as Choices<GlobalShortcutKeys>;
const KIB = 1024;
const keptBodies = (): Choices<string> =>
  Object.fromEntries(
    KEPT_BODY_CHOICES.map((bytes) => [
      String(bytes),
      bytes < KIB * KIB ? `${bytes / KIB} KiB` : `${bytes / KIB / KIB} MiB`,
    ]),
  );
const onQuit = (): Choices<Settings['onQuit']> => ({
  ask: t('settings.onQuit.ask'),
  close: t('settings.onQuit.close'),
  leave: t('settings.onQuit.leave'),
});
const languages = (): Choices<LanguageChoice> =>
  Object.fromEntries(
    LANGUAGE_CHOICES.map((choice) => [
      choice,
      choice === 'system' ? t('settings.language.system') : LANGUAGE_NAMES[choice],
    ]),
  ) as Choices<LanguageChoice>;

/** All settings; each change applies immediately. */
export function SettingsScreen({
  settings,
  session,
  isShortcutRefused,
}: {
  settings: Settings;
  isShortcutRefused: boolean;
  session: SignedIn;
}): JSX.Element {
  const { bridge, go, isOfCommand } = useShell();
  const { browser } = bridge;
  const action = useAction();
  // A new value is shown immediately, until main reports the actual state.
  const [wished, setWished] = useState<Partial<Settings>>({});
  useEffect(() => setWished((wishes) => openWishes(wishes, settings)), [settings]);
  const shown = { ...settings, ...wished };
  const change = async (changes: Partial<Settings>): Promise<void> => {
    setWished((wishes) => ({ ...wishes, ...changes }));
    const answer = await action.run('settings:change', changes);
    if (!answer.ok) setWished({});
  };
  return (
    <Screen title={t('settings.title')}>
      <Failure problem={action.error} />
      <section class="group" aria-label={t('settings.app')}>
        {browser === undefined && (
          <Switch
            id="starts-at-login"
            label={t('settings.startsAtLogin')}
            hint={t('settings.startsAtLogin.hint')}
            checked={shown.startsAtLogin}
            onChange={(startsAtLogin) => void change({ startsAtLogin })}
          />
        )}
        <Switch
          id="notifies"
          label={t('settings.notifies')}
          hint={t('settings.notifies.hint')}
          checked={shown.notifies}
          onChange={(notifies) => void change({ notifies })}
        />
        {browser !== undefined && <AskToNotify browser={browser} />}
        {browser === undefined && (
          <Select
            id="summon-shortcut"
            label={t('settings.shortcut')}
            hint={t(isShortcutRefused ? 'settings.shortcut.refused' : 'settings.shortcut.hint')}
            choices={shortcuts()}
            value={shown.summonShortcut}
            onChange={(summonShortcut) => void change({ summonShortcut })}
          />
        )}
        <Select
          id="language"
          label={t('settings.language')}
          choices={languages()}
          value={shown.language}
          onChange={(language) => void change({ language })}
        />
        <Select
          id="theme"
          label={t('settings.theme')}
          choices={themes()}
          value={shown.theme}
          onChange={(theme) => void change({ theme })}
        />
        {isOfCommand ? (
          <p class="hint">{t('settings.ofCommand')}</p>
        ) : (
          <>
            <Select
              id="kept-body"
              label={t('settings.keptBody')}
              hint={t('settings.keptBody.hint')}
              choices={keptBodies()}
              value={String(shown.keptBody)}
              onChange={(bytes) => void change({ keptBody: Number(bytes) })}
            />
            <Select
              id="on-quit"
              label={t('settings.onQuit')}
              choices={onQuit()}
              value={shown.onQuit}
              onChange={(wish) => void change({ onQuit: wish })}
            />
          </>
        )}
      </section>
      <section class="group" aria-label={t('settings.account')}>
        <dl class="pairs">
          <dt>{t('settings.account.relay')}</dt>
          <dd dir="ltr">{session.relay}</dd>
          <dt>{t('settings.account.name')}</dt>
          <dd>
            {t('settings.account.nameAndPlan', {
              name: session.account.name,
              plan: capitalised(session.account.plan),
            })}
          </dd>
          {!isOfCommand && (
            <>
              <dt>{t('settings.account.key')}</dt>
              <dd>{keepWords(session.keyKept).kept}</dd>
            </>
          )}
        </dl>
        {!isOfCommand && (
          <>
            <button
              type="button"
              class="button"
              onClick={() => void action.run('session:sign-out', undefined)}
            >
              {t('settings.signOut')}
            </button>
            <p class="hint">{t('settings.signOut.hint')}</p>
          </>
        )}
      </section>
      {!isOfCommand && <Team isReachable={session.problem === undefined} />}
      <div class="buttons">
        <button type="button" id="about" class="button" onClick={() => go({ screen: 'about' })}>
          {t('settings.about')}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => void action.run('app:open-link', { link: 'documentation' })}
        >
          {t('settings.documentation')}
        </button>
        {browser === undefined && (
          <button type="button" class="button" onClick={() => void action.run('app:quit', undefined)}>
            {t('settings.quit')}
          </button>
        )}
      </div>
    </Screen>
  );
}

/** A browser shows notifications only after it has asked its user itself. */
function AskToNotify({ browser }: { browser: BrowserAbilities }): JSX.Element | null {
  const [notifies, setNotifies] = useState(browser.notifies);
  if (notifies === 'yes') return null;
  if (notifies === 'no') return <p class="hint">{t('browser.notifiesNot')}</p>;
  const ask = async (): Promise<void> => {
    await browser.askToNotify();
    setNotifies(browser.notifies);
  };
  return (
    <button type="button" class="button" onClick={() => void ask()}>
      {t('browser.askToNotify')}
    </button>
  );
}

/** A setting that is on or off. */
function Switch({
  id,
  label,
  hint,
  checked,
  onChange,
}: {
  id: string;
  label: string;
  hint: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}): JSX.Element {
  return (
    <div class="setting">
      <div>
        <label for={id}>{label}</label>
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      </div>
      <input
        type="checkbox"
        role="switch"
        class="switch"
        id={id}
        aria-describedby={`${id}-hint`}
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    </div>
  );
}

/** A setting with a few choices. */
function Select<T extends string>({
  id,
  label,
  hint,
  choices,
  value,
  onChange,
}: {
  id: string;
  label: string;
  hint?: string;
  choices: Readonly<Record<T, string>>;
  value: T;
  onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="setting">
      <div>
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <p id={`${id}-hint`} class="hint">
            {hint}
          </p>
        )}
      </div>
      <select
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as T)}
      >
        {(Object.entries(choices) as [T, string][]).map(([choice, words]) => (
          <option key={choice} value={choice}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Describes this program and its components. */
export function AboutScreen(): JSX.Element {
  const { bridge } = useShell();
  const [about, setAbout] = useState<About>();
  const load = useAction();
  const { run } = load;
  useEffect(() => {
    const ask = async (): Promise<void> => {
      const answer = await run('app:about', undefined);
      if (answer.ok) setAbout(answer.value);
    };
    void ask();
  }, [run]);
  return (
    <Screen title={t('about.title')}>
      <Failure problem={load.error} />
      {about !== undefined && (
        <>
          <div class="welcome">
            <Mark size={44} />
            <p>
              <b dir="ltr">Culvert {about.version}</b>
            </p>
            <button
              type="button"
              class="link"
              onClick={() => void bridge.call('app:open-link', { link: 'source' })}
            >
              {t('about.source')}
            </button>
            <button
              type="button"
              class="link"
              onClick={() => void bridge.call('app:open-link', { link: 'releases' })}
            >
              {t('about.releases')}
            </button>
          </div>
          <Table
            title={t('about.versions')}
            rows={about.versions.map(({ name, version }) => [name, version])}
          />
          <Table
            title={t('about.licences')}
            rows={about.licences.map(({ name, licence }) => [name, licence])}
          />
        </>
      )}
    </Screen>
  );
}

function Table({
  title,
  rows,
}: {
  title: string;
  rows: readonly (readonly [string, string])[];
}): JSX.Element {
  return (
    <section class="group" aria-label={title}>
      <h2>{title}</h2>
      <dl class="pairs" translate={false}>
        {rows.flatMap(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
      </dl>
    </section>
  );
}
