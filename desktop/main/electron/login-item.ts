import type { App } from 'electron';
import { type Autostart, HIDDEN_ARGUMENT } from '../system/autostart.ts';

/** Start at login on macOS and Windows. */
export function loginItem(app: Pick<App, 'getLoginItemSettings' | 'setLoginItemSettings'>): Autostart {
  const args = [HIDDEN_ARGUMENT];
  return {
    isOn() {
      const { openAtLogin, executableWillLaunchAtLogin } = app.getLoginItemSettings({ args });
      // Windows has a switch of its own for that, in the Task Manager; macOS does not have this property.
      return Promise.resolve(openAtLogin && (executableWillLaunchAtLogin as boolean | undefined) !== false);
    },
    set(isOn) {
      app.setLoginItemSettings({ openAtLogin: isOn, args });
      return Promise.resolve();
    },
  };
}

/** Whether the system, not a person, has started the app: then it shows no window. macOS hands over no arguments. */
export function isStartedAtLogin(
  app: Pick<App, 'getLoginItemSettings'>,
  platform: NodeJS.Platform,
  argv: readonly string[],
): boolean {
  return (
    argv.includes(HIDDEN_ARGUMENT) || (platform === 'darwin' && app.getLoginItemSettings().wasOpenedAtLogin)
  );
}
