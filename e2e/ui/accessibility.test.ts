import assert from 'node:assert/strict';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { suiteScope, testScope } from '../support/scope.ts';
import { openWindow } from './support/app-window.ts';
import { violations } from './support/axe.ts';
import { startBrowser } from './support/browser.ts';
import { type BuiltWindow, buildWindow } from './support/build.ts';
import { NOW, SCENES } from './support/gallery.ts';

const VIEWS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  'high contrast': { forcedColors: 'active', colorScheme: 'dark' },
};
/** The narrowest window; the usual one at a zoom of 200 %, which leaves half of each side; a wide one. */
const SIZES = [
  { width: 360, height: 640 },
  { width: 360, height: 320 },
  { width: 200, height: 320 },
  { width: 1200, height: 800 },
] as const;

describe('accessibility of every screen', function () {
  this.timeout(20_000);
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let built: BuiltWindow;

  before(async () => {
    [browser, built] = await Promise.all([startBrowser(suite), buildWindow(suite)]);
  });

  for (const scene of SCENES) {
    for (const [view, options] of Object.entries(VIEWS)) {
      it(`${scene.name}, ${view}: no violation, nothing cut off`, async () => {
        const page = await openWindow(scope, browser, built, scene.main(), {
          reducedMotion: 'reduce',
          now: NOW,
          ...options,
        });
        await scene.go?.(page);
        assert.deepEqual(await violations(page), []);
        for (const size of SIZES) {
          await page.setViewportSize(size);
          assert.deepEqual(await overflowing(page), [], JSON.stringify(size));
        }
      });
    }
  }
});

/** Elements that stick out of the window sideways, where nothing scrolls. */
async function overflowing(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`
    [...document.querySelectorAll('button, input, select, p, h1, h2')]
      .filter((element) => {
        const { left, right, width } = element.getBoundingClientRect();
        return width > 1 && (left < -1 || right > innerWidth + 1);
      })
      .map((element) => element.outerHTML.slice(0, 200))
  `);
}
