import type { App } from 'electron';
import { type Autostart, HIDDEN_ARGUMENT } from '../system/autostart.ts';

/** Start at login on macOS and Windows. */
export function loginItem(app: Pick<App, 'setLoginItemSettings'>): Autostart {
  return {
    set(isOn) {
      app.setLoginItemSettings({ openAtLogin: isOn, args: [HIDDEN_ARGUMENT] });
      return Promise.resolve();
    },
  };
}
