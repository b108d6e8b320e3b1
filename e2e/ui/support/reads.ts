import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { eventually } from '../../support/deadline.ts';

/**
 * Brings `part` into view, as a reader would (what is out of view may not be drawn), and waits, at most 20 s, until its
 * text matches `text`; fails with what it shows instead.
 */
export async function reads(part: Locator, text: RegExp): Promise<void> {
  await part.scrollIntoViewIfNeeded();
  await eventually(20_000, async () => assert.match(await part.innerText(), text));
}
