/** Every screen in each theme, size and language: axe-core finds nothing, and nothing is cut off. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { chooseLocale, DEFAULT_LOCALE } from '../../desktop/app/messages/translate.ts';
import { Scope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { live, NOW } from './gallery/scripted.ts';
import { type MainSide, WINDOW_SIZE } from './support/app-window.ts';
import { assertColorsReadable, assertNothingCutOff, assertReadable, violations } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';

/** The usual window at a zoom of 200 % (half the width and height), the narrowest, and a wide one. */
const ZOOMED = { width: 200, height: 320 };
const NARROW = { width: 320, height: 640 };
const WIDE = { width: 1440, height: 900 };

/** Themes in which texts take up different room. */
const SQUEEZED = [
  ['high contrast', { colorScheme: 'dark', forcedColors: 'active' }],
  ['light', { colorScheme: 'light', forcedColors: 'none' }],
] as const;

const GERMAN = chooseLocale('de', []);
/** Screens that axe-core also judges in German. */
const JUDGED = new Set(['sign-in', 'tunnels', 'create', 'request', 'settings']);

describe('every screen is readable', () => {
  const scope = new Scope();
  let page: Page;
  /** the main process that answers the page */
  let main: MainSide = live()();

  // One page shows all of them in turn.
  before(async () => {
    const stage = { invoke: (...call: [string, unknown]) => main.invoke(...call), connect: () => undefined };
    page = await openScripted(scope, stage, { reducedMotion: 'reduce', now: NOW });
  });
  after(() => scope.end());

  for (const scene of SCENES)
    it(`${scene.name}: in light, dark and high contrast, narrow and wide, in English and German`, async () => {
      const show = async (locale = DEFAULT_LOCALE): Promise<void> => {
        const next = scene.main();
        await next.show({ locale });
        main = next;
        await page.setViewportSize(WINDOW_SIZE);
        await page.reload();
        await page.locator(`html[lang="${locale.language}"]`).waitFor();
        await scene.go?.(page);
      };
      await show();
      await assertReadable(page, 'light');
      // Dark mode only changes colors. High contrast also adds borders, which take up space.
      await page.emulateMedia({ colorScheme: 'dark' });
      await assertColorsReadable(page, 'dark');
      await page.emulateMedia({ forcedColors: 'active' });
      await assertColorsReadable(page, 'high contrast');
      // A change of size takes longer than one of the theme.
      for (const size of [ZOOMED, WIDE]) {
        await page.setViewportSize(size);
        for (const [view, media] of SQUEEZED) {
          await page.emulateMedia(media);
          await assertNothingCutOff(page, `${view}, ${size.width} px`);
        }
      }
      await page.emulateMedia({ colorScheme: 'dark', forcedColors: 'active' });
      await assertColorsReadable(page, 'high contrast, wide');
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
      // Panes beside each other: what one of them alone does right, they may do twice.
      await assertReadable(page, 'wide');
      await show(GERMAN);
      if (JUDGED.has(scene.name)) assert.deepEqual(await violations(page), []);
      for (const size of [NARROW, ZOOMED]) {
        await page.setViewportSize(size);
        await assertNothingCutOff(page, `German, ${size.width} px`);
      }
    });
});
