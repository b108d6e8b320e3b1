import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { violations } from './axe.ts';

/**
 * Asserts that everybody can read and use what the page shows: axe-core finds nothing, and nothing is cut off.
 *
 * @param view named in the error
 */
export async function assertReadable(page: Page, view: string): Promise<void> {
  assert.deepEqual(await violations(page), [], view);
  await assertNothingCutOff(page, view);
}

/** Asserts that nothing sticks out of the window sideways, where nothing scrolls. */
export async function assertNothingCutOff(page: Page, view: string): Promise<void> {
  assert.deepEqual(await overflowing(page), [], view);
}

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
