import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { chooseLocale, type LanguageChoice, PSEUDO_LANGUAGE } from '../../desktop/app/messages/translate.ts';
import { Scope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW, type Scene } from './gallery/scripted.ts';
import { WINDOW_SIZE } from './support/app-window.ts';
import { assertNothingCutOff, untranslated, violations } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import { inLanguage, Stage } from './support/visit.ts';

/** The narrowest window, and the usual one at a zoom of 200 %. */
const SIZES = [
  { width: 360, height: 640 },
  { width: 200, height: 320 },
] as const;
/** Screens that are also checked by axe-core, which takes a while. */
const JUDGED = new Set(['sign-in', 'tunnels', 'create', 'request', 'settings']);

const VIEWS = {
  German: {
    choice: 'de',
    look: async ({ name }, page) => {
      if (JUDGED.has(name)) assert.deepEqual(await violations(page), []);
      for (const size of SIZES) {
        await page.setViewportSize(size);
        await assertNothingCutOff(page, `${size.width} x ${size.height}`);
      }
    },
  },
  'a language from right to left': {
    choice: PSEUDO_LANGUAGE,
    look: async (_scene, page) => {
      await assertNothingCutOff(page, 'the usual size');
      assert.deepEqual(await untranslated(page), []);
    },
  },
} as const satisfies Record<
  string,
  { choice: LanguageChoice; look: (scene: Scene, page: Page) => Promise<void> }
>;

for (const [language, { choice, look }] of Object.entries(VIEWS))
  describe(`every screen in ${language}: nothing cut off, nothing untranslated`, () => {
    const locale = chooseLocale(choice, []);
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
        await page.locator(`html[lang="${locale.language}"]`).waitFor();
        await scene.go?.(page);
        await look(scene, page);
      });
  });
