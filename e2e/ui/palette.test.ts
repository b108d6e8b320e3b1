import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW } from './gallery/scripted.ts';
import { expose, scenarios } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import { focused, focusedName, visit } from './support/visit.ts';

const palette = (page: Page): Locator => page.getByRole('dialog', { name: 'Commands' });
const chosen = (page: Page): Locator => page.getByRole('option', { selected: true });

/** Opens the palette, types, and waits until Enter would choose the entry with this name. */
async function find(page: Page, typed: string, name: string | RegExp): Promise<void> {
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.type(typed);
  await chosen(page).and(page.getByRole('option', { name })).waitFor();
}

scenarios('the command palette', (fixture) => {
  /** Two tunnels to one server. The older one has had a request. */
  async function openWithTunnels() {
    const { port } = await startHttpService(fixture.scope, (_, response) => response.end('ok'));
    const { page, app } = await fixture.openSignedIn();
    const slug = await expose(page, port);
    const tunnel = await app.tunnel();
    await visit(`${tunnel.url}/order?mugs=2`);
    await page.getByRole('button', { name: 'GET /order?mugs=2 200' }).waitFor();
    return { page, app, slug, tunnel };
  }

  it('copies, finds requests, changes the theme, stops and undoes, all without a mouse', async () => {
    const { page, app, slug, tunnel } = await openWithTunnels();
    const keys = page.keyboard;
    await find(page, `copy ${slug}`, `Copy the address of ${slug}`);
    await keys.press('Enter');
    await palette(page).getByText(`Copied ${tunnel.url}.`).waitFor();
    await eventually(20_000, async () => assert.deepEqual(await app.copied(), [tunnel.url]));
    await keys.press('Escape');
    await palette(page).waitFor({ state: 'detached' });

    await find(page, 'order mugs', /^GET \/order\?mugs=2/);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'GET /order?mugs=2' }).and(page.locator(':focus')).waitFor();

    await find(page, 'nothing like it', `Requests to ${slug} with “nothing like it”`);
    await keys.press('Enter');
    await page.getByText('No request matches “nothing like it”.').waitFor();
    assert.equal(await page.getByLabel('Search requests').inputValue(), 'nothing like it');

    await find(page, 'dark', 'Dark theme');
    await keys.press('Enter');
    await page.locator('html[data-theme="dark"]').waitFor();
    await palette(page).waitFor({ state: 'detached' });

    await keys.press('Control+1');
    await focusedName(page, /^Copy the address/);
    await find(page, `stop ${slug}`, `Stop ${slug}`);
    await keys.press('Enter');
    await page.getByText('Stopped', { exact: true }).waitFor();
    await palette(page).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^Undo/ }).waitFor();
    await keys.press('Control+z');
    await page.locator('.card').getByText('Online').waitFor();
  });

  it('fills in the port of a new tunnel, and exposes nothing by itself', async () => {
    const { page } = await openWithTunnels();
    const { port } = await startHttpService(fixture.scope, (_, response) => response.end('ok'));
    // Opened again until the app has detected the port.
    await eventually(20_000, async () => {
      await page.keyboard.press('Control+k');
      await palette(page).waitFor();
      await page.keyboard.type(String(port));
      const isThere = (await page.getByRole('option', { name: `New tunnel to ${port}` }).count()) > 0;
      if (isThere) return;
      await page.keyboard.press('Escape');
      await palette(page).waitFor({ state: 'detached' });
      assert.fail('it is not there yet');
    });
    await page.keyboard.press('Enter');
    await focused(page, 'port');
    assert.equal(await page.getByLabel('Port', { exact: true }).inputValue(), String(port));
    assert.equal(await page.locator('.card').count(), 1);
  });
});

describe('the command palette for keyboard and assistive technology', () => {
  const scope = testScope();

  async function open(width: number, colorScheme: 'light' | 'dark'): Promise<Page> {
    const scene = SCENES.find(({ name }) => name === 'tunnels');
    assert.ok(scene);
    const viewport = { width, height: 640 };
    const page = await openScripted(scope, scene.main(), {
      now: NOW,
      viewport,
      colorScheme,
      reducedMotion: 'reduce',
    });
    await page.getByRole('button', { name: 'Expose' }).waitFor();
    return page;
  }

  it('moves through its results with the arrows, wraps around, and returns the focus', async () => {
    const page = await open(360, 'light');
    const opener = page.getByRole('button', { name: 'Settings' });
    await opener.focus();
    await page.keyboard.press('Control+k');
    const first = await chosen(page).innerText();
    await page.keyboard.press('ArrowUp');
    assert.notEqual(await chosen(page).innerText(), first);
    const box = await chosen(page).boundingBox();
    assert.ok(box && box.y + box.height <= 640);
    await page.keyboard.press('ArrowDown');
    assert.equal(await chosen(page).innerText(), first);
    // Nothing behind it can have the focus.
    await page.keyboard.press('Tab');
    assert.equal(await opener.and(page.locator(':focus')).count(), 0);
    await page.keyboard.press('Escape');
    await opener.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Control+k');
    await palette(page).waitFor({ state: 'detached' });
  });

  it('closes for a shortcut to another place, and leaves the focus there', async () => {
    const page = await open(360, 'light');
    await page.keyboard.press('Control+k');
    await palette(page).waitFor();
    await page.keyboard.press('Control+,');
    await palette(page).waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Settings' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Control+k');
    await palette(page).waitFor();
    await page.keyboard.press('Control+n');
    await palette(page).waitFor({ state: 'detached' });
    await focused(page, 'port');
  });

  it('opens for a shortcut that is pressed the moment another screen shows', async () => {
    const page = await open(360, 'light');
    await page.evaluate(`new Promise((resolve) => {
      const press = (key) => document.body.dispatchEvent(
        new KeyboardEvent('keydown', { key, ctrlKey: true, bubbles: true, cancelable: true }),
      );
      new MutationObserver((_, observer) => {
        observer.disconnect();
        press('k');
        resolve();
      }).observe(document.body, { childList: true, subtree: true });
      press(',');
    })`);
    await palette(page).waitFor();
    await page.getByRole('heading', { name: 'Settings', includeHidden: true }).waitFor();
    await palette(page).waitFor();
  });

  it('has no accessibility violation, light and dark, narrow and wide', async () => {
    for (const [width, theme] of [
      [360, 'light'],
      [1000, 'dark'],
    ] as const) {
      const page = await open(width, theme);
      await page.keyboard.press('Control+k');
      await palette(page).waitFor();
      await assertReadable(page, theme);
      await page.keyboard.type('shop');
      await assertReadable(page, `${theme}, typed`);
      await page.keyboard.type(' nothing');
      await assertReadable(page, `${theme}, nothing found`);
    }
  });
});
