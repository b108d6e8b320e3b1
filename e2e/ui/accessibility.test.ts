import type { Page } from 'playwright-core';
import { Scope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW } from './gallery/scripted.ts';
import { WINDOW_SIZE } from './support/app-window.ts';
import { assertColorsReadable, assertNothingCutOff, assertReadable } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import { Stage } from './support/visit.ts';

/** The usual window at a zoom of 200 % (half the width and height), and a wide one. */
const SIZES = [
  { width: 200, height: 320 },
  { width: 1200, height: 800 },
] as const;

/** Themes in which texts take up different room. */
const SQUEEZED = [
  ['high contrast', { colorScheme: 'dark', forcedColors: 'active' }],
  ['light', { colorScheme: 'light', forcedColors: 'none' }],
] as const;

describe('accessibility of every screen', function () {
  const scope = new Scope();
  const stage = new Stage();
  let page: Page;

  // One page shows all of them in turn.
  before(async () => {
    page = await openScripted(scope, stage, { reducedMotion: 'reduce', now: NOW });
  });
  after(() => scope.end());

  for (const scene of SCENES) {
    it(`${scene.name}: no violation and nothing cut off in light, dark and high contrast`, async () => {
      stage.main = scene.main();
      await page.setViewportSize(WINDOW_SIZE);
      await page.reload();
      await scene.go?.(page);
      await assertReadable(page, 'light');
      // Dark mode only changes colors. High contrast also adds borders, which take up space.
      await page.emulateMedia({ colorScheme: 'dark' });
      await assertColorsReadable(page, 'dark');
      await page.emulateMedia({ forcedColors: 'active' });
      await assertColorsReadable(page, 'high contrast');
      // A change of size takes longer than one of the theme.
      for (const size of SIZES) {
        await page.setViewportSize(size);
        for (const [view, media] of SQUEEZED) {
          await page.emulateMedia(media);
          await assertNothingCutOff(page, `${view}, ${size.width} x ${size.height}`);
        }
      }
    });
  }
});
