import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { violations } from '../../support/axe.ts';

/** How people may look at a page. */
export const VIEWS = {
  light: { colorScheme: 'light', forcedColors: 'none' },
  dark: { colorScheme: 'dark', forcedColors: 'none' },
  'high contrast': { colorScheme: 'dark', forcedColors: 'active' },
} as const;

/** A small phone, a window at a zoom of 200 %, a wide one. */
const WIDTHS_PX = [320, 640, 1280];
/** The font with which browsers show text by default. */
const READABLE_PX = 16;

/** A page of the relay can be read in every view and width, and loads and runs nothing. */
export async function assertReadable(page: Page): Promise<void> {
  assert.equal(await page.locator('script, link, img, iframe, object').count(), 0);
  const papers = new Set<string>();
  for (const [view, media] of Object.entries(VIEWS)) {
    await page.emulateMedia(media);
    assert.deepEqual(await violations(page), [], view);
    papers.add(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'));
    for (const width of WIDTHS_PX) {
      await page.setViewportSize({ width, height: 640 });
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(wide <= width, `${view}: ${wide} px in a window of ${width} px`);
    }
  }
  assert.equal(papers.size, Object.keys(VIEWS).length, [...papers].join('; '));
  const size = await page.evaluate<string>("getComputedStyle(document.querySelector('p')).fontSize");
  assert.ok(Number.parseFloat(size) >= READABLE_PX, size);
}
