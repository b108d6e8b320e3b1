/** `npx node e2e/ui/screenshots.ts`: every screen of the window, in both themes, as small pictures for the docs. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chooseLocale, type LanguageChoice, PSEUDO_LANGUAGE } from '../../desktop/app/messages/locale.ts';
import { Scope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW, type Scene } from './gallery/scripted.ts';
import { openWindow, WINDOW_SIZE } from './support/app-window.ts';
import { buildWindow, startBrowser } from './support/browser.ts';
import { inLanguage } from './support/visit.ts';

const IMAGES = process.argv[2] ?? fileURLToPath(new URL('../../docs/images/', import.meta.url));
const THEMES = ['light', 'dark'] as const;
/** Screens of which a wide window shows several side by side. */
const WIDE = new Set(['tunnels', 'log', 'request']);
const WIDE_SIZE = { width: 1200, height: 720 };
/** Screens that are also shown in other languages: German, and a right-to-left one. */
const TRANSLATED = new Set(['tunnels', 'request']);
const LANGUAGES: readonly LanguageChoice[] = ['de', PSEUDO_LANGUAGE];

const scope = new Scope();
try {
  const built = await buildWindow(scope);
  const browser = await startBrowser(scope);
  mkdirSync(IMAGES, { recursive: true });

  async function shoot(
    scene: Scene,
    part: string,
    viewport: typeof WINDOW_SIZE,
    language: LanguageChoice = 'en',
  ): Promise<void> {
    for (const colorScheme of THEMES) {
      const shot = new Scope();
      try {
        const options = {
          colorScheme,
          viewport,
          reducedMotion: 'reduce',
          timezoneId: 'UTC',
          now: NOW,
        } as const;
        const page = await openWindow(
          shot,
          browser,
          built,
          inLanguage(scene.main(), chooseLocale(language, [])),
          options,
        );
        await scene.go?.(page);
        const path = join(IMAGES, `${scene.name}${part}-${colorScheme}.png`);
        await page.screenshot({ path, caret: 'hide' });
      } finally {
        await shot.end();
      }
    }
  }

  for (const scene of SCENES) {
    await shoot(scene, '', WINDOW_SIZE);
    if (WIDE.has(scene.name)) await shoot(scene, '-wide', WIDE_SIZE);
    if (TRANSLATED.has(scene.name))
      for (const language of LANGUAGES) await shoot(scene, `-${language}`, WINDOW_SIZE, language);
  }
} finally {
  await scope.end();
}
