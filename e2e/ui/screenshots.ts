/**
 * `npm run pictures` runs this: the screens of the window that the documentation shows, in both themes, with two
 * pixels for each and in a font that is the same everywhere.
 *
 *     npx node e2e/ui/screenshots.ts FOLDER    every screen, to look at
 */
import { globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chooseLocale, type LanguageChoice } from '../../desktop/app/messages/translate.ts';
import { Scope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW, type Scene } from './gallery/scripted.ts';
import { buildWindow, openWindow, WINDOW_SIZE } from './support/app-window.ts';
import { fontStyle, IMAGES } from './support/pictures.ts';
import { startBrowser } from '../support/browser.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = process.argv[2] ?? IMAGES;
const THEMES = ['light', 'dark'] as const;
/** Screens of which a wide window shows several side by side. */
const WIDE = new Set(['tunnels', 'log', 'request']);
const WIDE_SIZE = { width: 1200, height: 720 };
/** Screens that are also shown in German. */
const TRANSLATED = new Set(['tunnels', 'request']);

/** Names of the pictures that pages show. */
const shown = new Set(
  ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/images\/([\w-]+\.png)/g)].map(([, name]) => name),
  ),
);
const style = fontStyle();

const scope = new Scope();
try {
  const built = await buildWindow(scope);
  const browser = await startBrowser(scope);
  mkdirSync(folder, { recursive: true });

  async function shoot(
    scene: Scene,
    part: string,
    viewport: typeof WINDOW_SIZE,
    language: LanguageChoice = 'en',
  ): Promise<void> {
    for (const colorScheme of THEMES) {
      const name = `${scene.name}${part}-${colorScheme}.png`;
      if (process.argv[2] === undefined && !shown.has(name)) continue;
      const shot = new Scope();
      try {
        const options = {
          colorScheme,
          viewport,
          deviceScaleFactor: 2,
          // The window allows no font from elsewhere.
          bypassCSP: true,
          reducedMotion: 'reduce',
          timezoneId: 'UTC',
          now: NOW,
        } as const;
        const main = scene.main();
        await main.show({ locale: chooseLocale(language, []) });
        const page = await openWindow(shot, browser, built, main, options);
        await page.addStyleTag({ content: style });
        await scene.go?.(page);
        // No row looks as if the pointer were on it.
        await page.mouse.move(0, 0);
        await page.evaluate('document.fonts.ready');
        await page.screenshot({ path: join(folder, name), caret: 'hide' });
      } finally {
        await shot.end();
      }
    }
  }

  for (const scene of SCENES) {
    await shoot(scene, '', WINDOW_SIZE);
    if (WIDE.has(scene.name)) await shoot(scene, '-wide', WIDE_SIZE);
    if (TRANSLATED.has(scene.name)) await shoot(scene, '-de', WINDOW_SIZE, 'de');
  }
} finally {
  await scope.end();
}
