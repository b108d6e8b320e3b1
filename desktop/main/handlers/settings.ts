import type { Settings } from '../../shared/snapshot.ts';
import { CallFailure } from '../failure.ts';
import type { Platform } from '../platform.ts';
import type { AppStore } from '../settings/app-store.ts';

/**
 * Settings that the system also stores are set there first: if it refuses one, that is not remembered.
 *
 * @throws CallFailure
 */
export async function changeSettings(
  change: Partial<Settings>,
  store: AppStore,
  { autostart, setTheme }: Pick<Platform, 'autostart' | 'setTheme'>,
): Promise<void> {
  if (change.startsAtLogin !== undefined) {
    try {
      await autostart.set(change.startsAtLogin);
    } catch (error) {
      throw new CallFailure({
        code: 'autostart',
        field: 'startsAtLogin',
        text: `Your system did not accept this: ${error instanceof Error ? error.message : String(error)}.`,
      });
    }
  }
  if (change.theme !== undefined) setTheme(change.theme);
  await store.change({ settings: { ...store.data.settings, ...change } });
}
