import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { KEPT_BODY_CHOICES, type Settings } from '../../ipc/snapshot.ts';
import { GLOBAL_SHORTCUTS } from '../../ipc/tunnel-views.ts';
import { LANGUAGE_CHOICES, LANGUAGE_NAMES, t } from '../../messages/translate.ts';
import type { BrowserAbilities } from '../bridge.ts';
import { bytesText, capitalised } from '../model/numbers.ts';
import { openWishes } from '../model/tunnel-state.ts';
import { useAction, useShell, useWindow } from '../view/context.ts';
import { shortcutText } from '../view/controls.tsx';
import { Mark } from '../view/icons.tsx';
import { Button, Failed, Failure, Select, type SelectProps } from '../view/kit.tsx';
import { Screen } from '../view/screen.tsx';
import { useLoaded } from '../view/use-loaded.ts';
import { Team } from './team.tsx';

/** All settings; each change applies immediately. */
export function SettingsScreen(): JSX.Element {
  const { snapshot, session } = useWindow();
  const { settings, isShortcutRefused } = snapshot;
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
      <section class="group box stack s3" aria-label={t('settings.app')}>
        {browser === undefined && (
          <Switch
            id="starts-at-login"
            label={t('settings.startsAtLogin')}
            hint={t('settings.startsAtLogin.hint')}
            checked={shown.startsAtLogin}
            change={(startsAtLogin) => change({ startsAtLogin })}
          />
        )}
        <Switch
          id="notifies"
          label={t('settings.notifies')}
          hint={t('settings.notifies.hint')}
          checked={shown.notifies}
          change={(notifies) => change({ notifies })}
        />
        {browser !== undefined && <AskToNotify browser={browser} />}
        {browser === undefined && (
          <Chosen
            id="summon-shortcut"
            label={t('settings.shortcut')}
            hint={t(isShortcutRefused ? 'settings.shortcut.refused' : 'settings.shortcut.hint')}
            choices={GLOBAL_SHORTCUTS.map((keys) => [
              keys,
              keys === 'off' ? t('settings.shortcut.off') : shortcutText(keys),
            ])}
            value={shown.summonShortcut}
            choose={(summonShortcut) => change({ summonShortcut })}
          />
        )}
        <Chosen
          id="language"
          label={t('settings.language')}
          choices={LANGUAGE_CHOICES.map((choice) => [
            choice,
            choice === 'system' ? t('settings.language.system') : LANGUAGE_NAMES[choice],
          ])}
          value={shown.language}
          choose={(language) => change({ language })}
        />
        <Chosen
          id="theme"
          label={t('settings.theme')}
          choices={THEMES.map((theme) => [theme, t(`settings.theme.${theme}`)])}
          value={shown.theme}
          choose={(theme) => change({ theme })}
        />
        {isOfCommand ? (
          <p class="hint">{t('settings.ofCommand')}</p>
        ) : (
          <>
            <Chosen
              id="kept-body"
              label={t('settings.keptBody')}
              hint={t('settings.keptBody.hint')}
              choices={KEPT_BODY_CHOICES.map((bytes) => [String(bytes), bytesText(bytes)])}
              value={String(shown.keptBody)}
              choose={(bytes) => change({ keptBody: Number(bytes) })}
            />
            <Chosen
              id="on-quit"
              label={t('settings.onQuit')}
              choices={ON_QUIT.map((wish) => [wish, t(`settings.onQuit.${wish}`)])}
              value={shown.onQuit}
              choose={(onQuit) => change({ onQuit })}
            />
            {browser === undefined && (
              <Switch
                id="says-asleep"
                label={t('settings.saysAsleep')}
                hint={t('settings.saysAsleep.hint')}
                checked={shown.saysAsleep === 'yes'}
                change={(isOn) => change({ saysAsleep: isOn ? 'yes' : 'no' })}
              />
            )}
          </>
        )}
      </section>
      <section class="group box stack s3" aria-label={t('settings.account')}>
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
              <dd>{t(`signIn.keep.${session.keyKept}.kept`)}</dd>
            </>
          )}
        </dl>
        {!isOfCommand && (
          <>
            <Button act={() => action.run('session:sign-out', {})}>{t('settings.signOut')}</Button>
            <p class="hint">{t('settings.signOut.hint')}</p>
          </>
        )}
      </section>
      {!isOfCommand && <Team isReachable={session.problem === undefined} />}
      <div class="line">
        <Button id="about" act={() => go({ screen: 'about' })}>
          {t('settings.about')}
        </Button>
        <Button act={() => action.run('app:open-link', { link: 'documentation' })}>
          {t('settings.documentation')}
        </Button>
        {browser === undefined && (
          <Button act={() => action.run('app:quit', undefined)}>{t('settings.quit')}</Button>
        )}
      </div>
    </Screen>
  );
}

const THEMES = ['system', 'light', 'dark'] as const satisfies readonly Settings['theme'][];
const ON_QUIT = ['ask', 'close', 'leave'] as const satisfies readonly Settings['onQuit'][];

/** A browser shows notifications only after it has asked its user itself. */
function AskToNotify({ browser }: { browser: BrowserAbilities }): JSX.Element | null {
  const [notifies, setNotifies] = useState(browser.notifies);
  if (notifies === 'yes') return null;
  if (notifies === 'no') return <p class="hint">{t('browser.notifiesNot')}</p>;
  const ask = async (): Promise<void> => {
    await browser.askToNotify();
    setNotifies(browser.notifies);
  };
  return <Button act={ask}>{t('browser.askToNotify')}</Button>;
}

interface SettingProps {
  id: string;
  label: string;
  hint?: string | undefined;
}

/** A label and a hint, with a control beside them. */
function Setting({ id, label, hint, children }: SettingProps & { children: ComponentChildren }): JSX.Element {
  return (
    <div class="setting line">
      <div class="grow">
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <p id={`${id}-hint`} class="hint">
            {hint}
          </p>
        )}
      </div>
      {children}
    </div>
  );
}

/** A setting that is on or off. */
function Switch({
  checked,
  change,
  ...setting
}: SettingProps & { checked: boolean; change: (checked: boolean) => Promise<void> }): JSX.Element {
  return (
    <Setting {...setting}>
      <input
        type="checkbox"
        role="switch"
        class="switch"
        id={setting.id}
        aria-describedby={`${setting.id}-hint`}
        checked={checked}
        onChange={(event) => void change(event.currentTarget.checked)}
      />
    </Setting>
  );
}

/** A setting with a few choices. */
function Chosen<T extends string>({
  id,
  label,
  hint,
  ...select
}: SettingProps & SelectProps<T>): JSX.Element {
  return (
    <Setting id={id} label={label} hint={hint}>
      <Select id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} {...select} />
    </Setting>
  );
}

/** Describes this program and its components. */
export function AboutScreen(): JSX.Element {
  const { bridge } = useShell();
  const about = useLoaded('app:about', undefined);
  const open = (link: 'source' | 'releases') => () => bridge.call('app:open-link', { link });
  return (
    <Screen title={t('about.title')}>
      <Failed of={about} />
      {about.value !== undefined && (
        <>
          <div class="stack middle">
            <Mark size={44} />
            <p>
              <b dir="ltr">Culvert {about.value.version}</b>
            </p>
            <Button look="link" act={open('source')}>
              {t('about.source')}
            </Button>
            <Button look="link" act={open('releases')}>
              {t('about.releases')}
            </Button>
          </div>
          <Table
            title={t('about.versions')}
            rows={about.value.versions.map(({ name, version }) => [name, version])}
          />
          <Table
            title={t('about.licences')}
            rows={about.value.licences.map(({ name, licence }) => [name, licence])}
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
    <section class="group box stack s3" aria-label={title}>
      <h2>{title}</h2>
      <dl class="pairs" translate={false}>
        {rows.flatMap(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
      </dl>
    </section>
  );
}
