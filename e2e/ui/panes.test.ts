import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { testScope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW } from './gallery/scripted.ts';
import { assertReadable } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';

const expose = (page: Page): Locator => page.getByRole('button', { name: 'Expose' });

describe('a wide window', () => {
  const scope = testScope();

  async function open(width: number): Promise<Page> {
    const scene = SCENES.find(({ name }) => name === 'tunnels');
    assert.ok(scene);
    const viewport = { width, height: 700 };
    return await openScripted(scope, scene.main(), { now: NOW, viewport });
  }

  it('shows the tunnels on the left, and the opened screen beside them', async () => {
    const page = await open(1000);
    await assertReadable(page, 'nothing opened');
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
    assert.equal(await expose(page).isVisible(), true);
    await assertReadable(page, 'the log');
    await page
      .getByRole('list', { name: 'Requests', exact: true })
      .getByRole('button', { name: '/api/checkout 500' })
      .first()
      .click();
    await page.getByRole('region', { name: 'Response body' }).waitFor();
    assert.equal(await expose(page).isVisible(), true);
    await assertReadable(page, 'a request');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
    await page.keyboard.press('Control+,');
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    assert.equal(await expose(page).isVisible(), true);
  });

  it('has three panes when it is even wider: tunnels, requests, and one request, reachable by keys', async () => {
    const page = await open(1200);
    const keys = page.keyboard;
    const focused = page.locator(':focus');
    const row = (id: number): Locator => page.locator(`.log #request-shop-${id}`);
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    await row(95).waitFor();
    await assertReadable(page, 'tunnels and requests');
    await keys.press('ArrowDown');
    await keys.press('ArrowDown');
    await row(94).and(focused).waitFor();
    await keys.press('Enter');
    await page.getByRole('region', { name: 'Response body' }).waitFor();
    await row(94).and(focused).waitFor();
    assert.equal(await row(94).getAttribute('aria-current'), 'true');
    assert.equal(await expose(page).isVisible(), true);
    await assertReadable(page, 'three panes');

    await keys.press('F6');
    await page.locator('h1').and(focused).waitFor();
    await page.locator('.screen').nth(2).locator(':focus').waitFor();
    await keys.press('F6');
    await page.locator('.screen').nth(0).locator(':focus').waitFor();
    await keys.press('Shift+F6');
    await keys.press('Shift+F6');
    await row(94).and(focused).waitFor();

    await keys.press('ArrowUp');
    await keys.press('Enter');
    await page.locator('.log [aria-current]').and(row(95)).waitFor();
    await keys.press('Escape');
    await page.getByRole('region', { name: 'Response body' }).waitFor({ state: 'detached' });
    await row(95).and(focused).waitFor();
    await keys.press('Escape');
    await page.locator('#log-shop').and(focused).waitFor();
  });

  it('shows the request that is reached by key beside the list, but not over one being edited', async () => {
    const page = await open(1200);
    const keys = page.keyboard;
    const focused = page.locator(':focus');
    const row = (id: number): Locator => page.locator(`.log #request-shop-${id}`);
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    await row(95).waitFor();
    await keys.press('End');
    const last = page.locator('.log li:last-child button');
    await last.and(focused).waitFor();
    // Nothing is open yet.
    assert.equal(await page.locator('.exchange').count(), 0);
    await keys.press('Enter');
    await page.locator('.log [aria-current]').and(last).waitFor();
    await keys.press('Home');
    await page.locator('.log [aria-current]').and(row(95)).waitFor();
    await row(95).and(focused).waitFor();
    await keys.press('j');
    await page.locator('.log [aria-current]').and(row(94)).waitFor();
    await row(94).and(focused).waitFor();
    // One step back, no matter how many were shown.
    await keys.press('Escape');
    await page.locator('.exchange').waitFor({ state: 'detached' });
    await row(94).and(focused).waitFor();

    await keys.press('Enter');
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Body').fill('mine');
    await row(94).focus();
    await keys.press('End');
    await last.and(focused).waitFor();
    await keys.press('Home');
    await row(95).and(focused).waitFor();
    assert.equal(await page.getByLabel('Body').inputValue(), 'mine');
  });

  it('becomes one column again when it is narrowed, at the same place', async () => {
    const page = await open(720);
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
    await page.setViewportSize({ width: 719, height: 700 });
    await expose(page).waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
    await page.getByRole('button', { name: 'Back' }).click();
    await expose(page).waitFor();
  });
});
