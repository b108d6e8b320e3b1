import { dropOnWindow, openWindow, zoomWindow } from './app-window.ts';
import { DesktopApp } from './desktop-app.ts';
import { type Driver, sharedBrowser, sharedWindow } from './running-app.ts';

/** Rung 4: the built page in Chromium, on the real handlers and a fake of Electron. */
export const CHROMIUM_DRIVER: Driver = {
  async begin() {
    const [browser, built] = await Promise.all([sharedBrowser(), sharedWindow()]);
    return async (scope, directory) => {
      const app = await DesktopApp.start(scope, directory);
      const page = await openWindow(scope, browser, built, app, { reducedMotion: 'reduce' });
      return {
        app,
        page,
        drop: (paths) => dropOnWindow(page, paths),
        zoom: (factor) => zoomWindow(page, factor),
      };
    };
  },
};
