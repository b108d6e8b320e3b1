import { t } from '../../i18n/translate.ts';
import { chooseLocale } from '../../i18n/locale.ts';
import { setLocale } from '../../i18n/translate.ts';
import type { Settings } from '../../shared/snapshot.ts';
import { CallFailure } from '../failure.ts';
import type { Platform } from '../platform.ts';
import type { AppStore } from '../settings/app-store.ts';

/** Takes over what the system will do at login, which its user can also change there. @returns whether that was news */
export async function followAutostart(
  store: AppStore,
  autostart: Pick<Platform['autostart'], 'isOn'>,
): Promise<boolean> {
  const startsAtLogin = await autostart.isOn();
  if (startsAtLogin === store.data.settings.startsAtLogin) return false;
  await store.change({ settings: { ...store.data.settings, startsAtLogin } });
  return true;
}

/** Has the app speak the language that the user has chosen. */
export function followLanguage(
  store: AppStore,
  { preferredLanguages }: Pick<Platform, 'preferredLanguages'>,
): void {
  setLocale(chooseLocale(store.data.settings.language, preferredLanguages()));
}

/**
 * Settings that the system also stores are set there first: if it refuses one, that is not remembered.
 *
 * @throws CallFailure
 */
export async function changeSettings(
  change: Partial<Settings>,
  store: AppStore,
  platform: Pick<Platform, 'autostart' | 'setTheme' | 'summonKey' | 'preferredLanguages'>,
): Promise<void> {
  const { autostart, setTheme, summonKey } = platform;
  if (change.startsAtLogin !== undefined) {
    try {
      await autostart.set(change.startsAtLogin);
    } catch (error) {
      throw new CallFailure({
        code: 'autostart',
        field: 'startsAtLogin',
        text: t('problem.systemRefused', { why: error instanceof Error ? error.message : String(error) }),
      });
    }
  }
  if (change.summonShortcut !== undefined && !summonKey.use(change.summonShortcut)) {
    summonKey.use(store.data.settings.summonShortcut);
    throw new CallFailure({
      code: 'shortcut',
      field: 'summonShortcut',
      text: t('problem.shortcut'),
    });
  }
  if (change.theme !== undefined) setTheme(change.theme);
  await store.change({ settings: { ...store.data.settings, ...change } });
  if (change.language !== undefined) followLanguage(store, platform);
}
