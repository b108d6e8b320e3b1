import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/deadline.ts';
import { violations } from './axe.ts';

/** This many pixels of a text that has no room show what it is about: some five letters. */
const SEEN_PX = 40;
/** A page is drawn again for another size or theme a moment after it has that. */
const SETTLE_MS = 20_000;

/**
 * Asserts that everybody can read and use what the page shows: axe-core finds nothing, and nothing is cut off.
 *
 * @param view named in the error
 */
export async function assertReadable(page: Page, view: string): Promise<void> {
  await eventually(SETTLE_MS, async () => assert.deepEqual(await violations(page), [], view));
  await assertNothingCutOff(page, view);
}

/**
 * Asserts that nothing sticks out sideways of the window or its card if that does not scroll, and that no text is squeezed
 * away.
 */
export async function assertNothingCutOff(page: Page, view: string): Promise<void> {
  await eventually(SETTLE_MS, async () => assert.deepEqual(await overflowing(page), [], view));
}

async function overflowing(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`
    [...document.querySelectorAll('button, input, select, textarea, .chip, .from, p, h1, h2, .link-name, .row span, .address *, .meta span')]
      .filter((element) => {
        const { left, right, width } = element.getBoundingClientRect();
        const room = element.closest('.card')?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
        const isOutside = width > 1 && (left < room.left - 1 || right > room.right + 1);
        // Long texts may end in an ellipsis, but a part of them must be visible.
        const isSqueezed = element.scrollWidth > element.clientWidth && element.clientWidth < ${SEEN_PX};
        // What does nothing about a text that is too long lets it stick out.
        const isSpilling = element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX === 'visible';
        if (isSpilling && element.matches('button:not(.icon-button), .chip, .row span:not(.unseen)')) return true;
        return isOutside || (isSqueezed && element.matches('h1, b, .link-name, .target, .status, .took'));
      })
      .map((element) => element.outerHTML.slice(0, 200))
  `);
}
