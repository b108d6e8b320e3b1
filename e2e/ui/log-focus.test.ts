import assert from 'node:assert/strict';
import { testScope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW } from './gallery/scripted.ts';
import { openScripted } from './support/running-app.ts';

describe('the focus in the request log', () => {
  const scope = testScope();

  it('is visible all around the row: nothing clips its ring', async () => {
    const scene = SCENES.find(({ name }) => name === 'log');
    assert.ok(scene);
    const page = await openScripted(scope, scene.main(), { now: NOW, reducedMotion: 'reduce' });
    await scene.go?.(page);
    const row = page.locator('.log .row').nth(1);
    await row.waitFor();
    await page.getByLabel('Search requests').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await row.and(page.locator(':focus-visible')).waitFor();
    assert.deepEqual(await page.evaluate<string[]>(RING_SIDES), ['top', 'bottom', 'left', 'right']);
  });
});

/** The sides on which the outline of the focused element lies within everything that clips it. */
const RING_SIDES = `(() => {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  const reach = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
  const box = element.getBoundingClientRect();
  const ring = { top: box.top - reach, bottom: box.bottom + reach, left: box.left - reach, right: box.right + reach };
  const sides = new Set(style.outlineStyle === 'none' ? [] : ['top', 'bottom', 'left', 'right']);
  for (let around = element.parentElement; around; around = around.parentElement) {
    const { overflowX, contentVisibility, contain } = getComputedStyle(around);
    const clips = overflowX !== 'visible' || contentVisibility !== 'visible' || /paint|strict|content/.test(contain);
    if (!clips) continue;
    const room = around.getBoundingClientRect();
    if (ring.top < room.top) sides.delete('top');
    if (ring.bottom > room.bottom) sides.delete('bottom');
    if (ring.left < room.left) sides.delete('left');
    if (ring.right > room.right) sides.delete('right');
  }
  return [...sides];
})()`;
