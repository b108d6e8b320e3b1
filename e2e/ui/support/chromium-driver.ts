import { openWindow } from './app-window.ts';
import { startBrowser } from './browser.ts';
import { buildWindow } from './build.ts';
import { DesktopApp } from './desktop-app.ts';
import type { Driver } from './running-app.ts';

/** Rung 4: the built page in Chromium, on the real handlers and a fake of Electron. */
export const CHROMIUM_DRIVER: Driver = {
  async begin(suite) {
    const [browser, built] = await Promise.all([startBrowser(suite), buildWindow(suite)]);
    return async (scope, directory) => {
      const app = await DesktopApp.start(scope, directory);
      const page = await openWindow(scope, browser, built, app, { reducedMotion: 'reduce' });
      return { app, page };
    };
  },
};
