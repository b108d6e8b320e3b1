import type { Browser, Page } from 'playwright-core';
import { testScope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW } from './gallery/scripted.ts';
import { openWindow } from './support/app-window.ts';
import type { BuiltWindow } from './support/browser.ts';
import { assertNothingCutOff, assertReadable } from './support/readable.ts';
import { sharedBrowser, sharedWindow } from './support/running-app.ts';

const VIEWS = {
  light: { colorScheme: 'light', forcedColors: 'none' },
  dark: { colorScheme: 'dark', forcedColors: 'none' },
  'high contrast': { colorScheme: 'dark', forcedColors: 'active' },
} as const satisfies Record<string, Parameters<Page['emulateMedia']>[0]>;
/** The narrowest window, the usual one at a zoom of 200 % (half the width and height), and a wide one. */
const SIZES = [
  { width: 360, height: 640 },
  { width: 360, height: 320 },
  { width: 200, height: 320 },
  { width: 1200, height: 800 },
] as const;

describe('accessibility of every screen', function () {
  const scope = testScope();
  let browser: Browser;
  let built: BuiltWindow;

  before(async () => {
    [browser, built] = await Promise.all([sharedBrowser(), sharedWindow()]);
  });

  for (const scene of SCENES) {
    it(`${scene.name}: no violation and nothing cut off in light, dark and high contrast`, async () => {
      const page = await openWindow(scope, browser, built, scene.main(), {
        reducedMotion: 'reduce',
        now: NOW,
      });
      await scene.go?.(page);
      const usual = page.viewportSize() ?? SIZES[0];
      for (const [name, media] of Object.entries(VIEWS)) {
        await page.emulateMedia(media);
        await page.setViewportSize(usual);
        await assertReadable(page, name);
        for (const size of SIZES) {
          await page.setViewportSize(size);
          await assertNothingCutOff(page, `${name}, ${size.width} x ${size.height}`);
        }
      }
    });
  }
});
