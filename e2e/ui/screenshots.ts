/** `npm run screenshots`: every screen of the window, in both themes, as small pictures for the docs. */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { Scope } from '../support/scope.ts';
import { openWindow } from './support/app-window.ts';
import { startBrowser } from './support/browser.ts';
import { buildWindow } from './support/build.ts';
import { NOW, SCENES } from './support/gallery.ts';

const IMAGES = process.argv[2] ?? fileURLToPath(new URL('../../docs/images/', import.meta.url));
const THEMES = ['light', 'dark'] as const;

const scope = new Scope();
try {
  const built = await buildWindow(scope);
  const browser = await startBrowser(scope);
  mkdirSync(IMAGES, { recursive: true });
  for (const scene of SCENES) {
    for (const theme of THEMES) {
      const shot = new Scope();
      try {
        const page = await openWindow(shot, browser, built, scene.main(), {
          colorScheme: theme,
          reducedMotion: 'reduce',
          timezoneId: 'UTC',
          now: NOW,
        });
        await scene.go?.(page);
        await page.screenshot({ path: join(IMAGES, `${scene.name}-${theme}.png`), caret: 'hide' });
      } finally {
        await shot.end();
      }
    }
  }
} finally {
  await scope.end();
}
