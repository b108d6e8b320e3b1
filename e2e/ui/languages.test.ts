import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { chooseLocale } from '../../desktop/app/messages/translate.ts';
import { Scope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW } from './gallery/scripted.ts';
import { WINDOW_SIZE } from './support/app-window.ts';
import { assertNothingCutOff, violations } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import { inLanguage, Stage } from './support/visit.ts';

/** The narrowest window, and the usual one at a zoom of 200 %. */
const SIZES = [
  { width: 360, height: 640 },
  { width: 200, height: 320 },
] as const;
/** Screens that are also checked by axe-core, which takes a while. */
const JUDGED = new Set(['sign-in', 'tunnels', 'create', 'request', 'settings']);

describe('every screen in German: nothing cut off', () => {
  const locale = chooseLocale('de', []);
  const scope = new Scope();
  const stage = new Stage();
  let page: Page;

  // One page shows all of them in turn.
  before(async () => {
    page = await openScripted(scope, stage, { reducedMotion: 'reduce', now: NOW });
  });
  after(() => scope.end());

  for (const scene of SCENES)
    it(scene.name, async () => {
      stage.main = inLanguage(scene.main(), locale);
      await page.setViewportSize(WINDOW_SIZE);
      await page.reload();
      await page.locator('html[lang="de"]').waitFor();
      await scene.go?.(page);
      if (JUDGED.has(scene.name)) assert.deepEqual(await violations(page), []);
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await assertNothingCutOff(page, `${size.width} x ${size.height}`);
      }
    });
});
