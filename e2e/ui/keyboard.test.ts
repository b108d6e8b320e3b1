/** The window without a mouse: the main job, the keys of the log and their menu, and the command palette. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { exampleRequest } from '../../desktop/testing/views.ts';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { startSite } from '../support/services/echo.ts';
import { openScene } from './gallery/gallery.ts';
import { detail, live, logOf, NOW, scripted, SHOP } from './gallery/scripted.ts';
import { appScenarios } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';
import { isFirefox, openScripted } from './support/running-app.ts';
import type { ScriptedMain } from './support/scripted-main.ts';
import { focused, focusedName, tabTo, visit } from './support/visit.ts';

appScenarios('the main job without a mouse', (fixture) => {
  it('signs in, exposes a port, copies the address, extends, stops, starts, removes, changes a setting', async () => {
    const account = await createAccount(fixture.relay);
    const { port } = await startSite(fixture.scope);
    const { page, app } = await fixture.open();
    const keys = page.keyboard;
    await focused(page, 'relay');
    await keys.type(fixture.relay.url);
    await keys.press('Tab');
    await keys.type(account.key);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await keys.press('Control+n');
    await focused(page, 'port');
    // The app suggests what listens on this machine.
    await keys.type(String(port).slice(0, 4));
    await page.getByRole('option', { name: String(port) }).waitFor();
    await keys.press('ArrowDown');
    const chosen = await page.getByRole('option', { selected: true }).locator('b').innerText();
    await keys.press('Enter');
    assert.equal(await page.getByLabel('Port', { exact: true }).inputValue(), chosen);
    assert.equal(await page.getByRole('option').count(), 0);
    await keys.press('Control+a');
    await keys.type(String(port));
    await keys.press('Escape');
    await keys.press('Enter');
    // The address is what people need next.
    await focusedName(page, /^Copy the address/);
    await page.locator('.card').getByText('Online').waitFor();
    await keys.press('Enter');
    await eventually(20_000, async () => assert.deepEqual(await app.copied(), [(await app.tunnel()).url]));

    await keys.press('Tab');
    await focusedName(page, /^Who has access/);
    await keys.press('Tab');
    await focusedName(page, /^Extend /);
    await keys.press('Enter');
    await tabTo(page, /^\+1 h$/);
    await keys.press('Space');
    await page.getByTitle(/^1 h 5\d min left/).waitFor();
    await focusedName(page, /^Extend /);

    await tabTo(page, /^Stop /);
    await keys.press('Enter');
    await page.getByText('Stopped', { exact: true }).waitFor();
    await focusedName(page, /^Start again /);
    await keys.press('Enter');
    await focusedName(page, /^Copy the address/);
    await page.locator('.card').getByText('Online').waitFor();
    assert.equal((await visit((await app.tunnel()).url)).status, 200);

    await tabTo(page, /^Stop /);
    await keys.press('Enter');
    await focusedName(page, /^Start again /);
    await keys.press('Tab');
    await focusedName(page, /^Remove /);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await focused(page, 'port');

    await keys.press('Control+,');
    await page.getByRole('heading', { name: 'Settings' }).and(page.locator(':focus')).waitFor();
    await tabTo(page, /^Notifications$/, 'switch');
    await keys.press('Space');
    await keys.press('Tab');
    await focused(page, 'summon-shortcut');
    await keys.type('Off');
    await keys.press('Tab');
    await focused(page, 'language');
    await keys.press('Tab');
    await focused(page, 'theme');
    await keys.type('Dark');
    await page.locator('html[data-theme="dark"]').waitFor();
    assert.equal(await page.getByLabel('Notifications').isChecked(), false);
    assert.equal(await page.getByLabel('Global shortcut').inputValue(), 'off');
    await keys.press('Escape');
    await focused(page, 'port');
  });
});

describe('the keys of the window', () => {
  const scope = testScope();

  async function openLog(main: ScriptedMain): Promise<Page> {
    const page = await openScripted(scope, main, { now: NOW, reducedMotion: 'reduce' });
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    await page.locator('.log .row').first().waitFor();
    return page;
  }

  it('are listed by ?, except while a text is typed, and choose folders and projects without a menu bar', async () => {
    const main = live(SHOP)();
    const page = await openLog(main);
    await page.keyboard.press('ControlOrMeta+o');
    await page.keyboard.press('ControlOrMeta+Shift+O');
    await eventually(20_000, () =>
      assert.deepEqual([asked(main, 'project:choose'), asked(main, 'folder:choose')], [1, 1]),
    );
    await page.keyboard.press('?');
    const sheet = page.getByRole('dialog', { name: 'Keys of the window' });
    await sheet.getByText('Copy as curl').waitFor();
    await assertReadable(page, 'the sheet of keys');
    await sheet.locator('kbd', { hasText: 'Ctrl+O' }).first().waitFor();
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await page.getByLabel('Search requests').focus();
    await page.keyboard.type('?rec');
    assert.equal(await page.getByLabel('Search requests').inputValue(), '?rec');
    assert.equal(await sheet.count(), 0);
  });

  it('replay, copy and edit the focused row of a log', async () => {
    const main = live(SHOP)();
    const page = await openLog(main);
    await page.keyboard.press('r');
    assert.equal(asked(main, 'log:replay'), 0);
    await page.keyboard.press('ArrowDown');
    await page.locator('.log .row:focus').waitFor();
    await page.keyboard.press('r');
    await page.keyboard.press('c');
    await eventually(20_000, () =>
      assert.deepEqual([asked(main, 'log:replay'), asked(main, 'log:copy-curl')], [1, 1]),
    );
    await page.keyboard.press('e');
    await page.getByLabel('Path').waitFor();
  });

  it('do the same with an open request', async () => {
    const main = live(SHOP)();
    const page = await openLog(main);
    await page.locator('.log .row').nth(2).click();
    await page.getByRole('region', { name: 'Response', exact: true }).waitFor();
    await page.keyboard.press('c');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await page.keyboard.press('r');
    await eventually(20_000, () =>
      assert.deepEqual([asked(main, 'log:replay'), asked(main, 'log:copy-curl')], [1, 1]),
    );
    await page.locator('#replay-request:focus').waitFor();
    await page.keyboard.press('e');
    await page.getByLabel('Path').waitFor();
  });

  it('show the focus all around a row of the log: nothing clips its ring', async () => {
    const page = await openLog(live(SHOP)());
    const second = page.locator('.log .row').nth(1);
    await page.getByLabel('Search requests').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await second.and(page.locator(':focus-visible')).waitFor();
    assert.deepEqual(await page.evaluate<string[]>(RING_SIDES), ['top', 'bottom', 'left', 'right']);
  });

  /** A log with two requests, of which the later one is an order. */
  async function openTwo() {
    const requests = [
      exampleRequest({ id: 8, method: 'POST', target: '/order' }),
      exampleRequest({ id: 7, target: '/first?a=1&token=[redacted]' }),
    ];
    const main = scripted(
      { tunnels: [SHOP] },
      {
        'log:changes': logOf(requests),
        'log:detail': ({ id }) => ({ ...detail(id), ...requests.find((request) => request.id === id) }),
        'log:replay': ({ id }) => id,
      },
    )();
    return { main, page: await openLog(main) };
  }

  it('have a menu of the row beside them, for the mouse', async () => {
    const { main, page } = await openTwo();
    await choose(page, /^POST \/order/, 'Replay');
    await choose(page, /^GET \/first/, 'Copy address');
    await page.getByText('Copied the address without its secrets.').waitFor({ state: 'attached' });
    await choose(page, /^POST \/order/, 'Copy as curl');
    await choose(page, /^GET \/first/, 'Only this path');
    await eventually(20_000, async () => assert.equal(await page.locator('.log li').count(), 1));
    assert.equal(await page.getByLabel('Search requests').inputValue(), '/first');
    const acts = main.calls.filter(({ channel }) => /^(log:(replay|copy)|text:copy)/.test(channel));
    assert.deepEqual(acts, [
      { channel: 'log:replay', payload: { key: 'shop', id: 8 } },
      { channel: 'text:copy', payload: { text: `${SHOP.url}/first?a=1&token=[redacted]` } },
      { channel: 'log:copy-curl', payload: { key: 'shop', id: 8, reveal: false } },
    ]);
  });

  it('open the menu of a row, which wraps around and returns the focus', async () => {
    const { page } = await openTwo();
    await row(page, /^GET \/first/).focus();
    await pressMenuKey(page);
    await focusedName(page, /^Open$/, 'menuitem');
    await page.keyboard.press('ArrowUp');
    await focusedName(page, /^Only this path$/, 'menuitem');
    await page.keyboard.press('ArrowDown');
    await focusedName(page, /^Open$/, 'menuitem');
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await focusedName(page, /^GET \/first/);
    await pressMenuKey(page);
    await focusedName(page, /^Open$/, 'menuitem');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Response', exact: true }).waitFor();
  });

  it('are not needed to close the menu: a click beside it does, and nothing else', async () => {
    const { page, main } = await openTwo();
    await row(page, /^GET \/first/).click({ button: 'right' });
    await page.getByRole('menu', { name: /GET \/first/ }).waitFor();
    await page.mouse.click(2, 2);
    await page.getByRole('menu').waitFor({ state: 'detached' });
    assert.equal(asked(main, 'log:detail'), 0);
  });

  it('find a request, read it, send it again, and return step by step', async () => {
    const { page, main } = await openTwo();
    await page.getByRole('heading', { name: 'Requests to shop-demo' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('POST order');
    await eventually(20_000, async () => assert.equal(await page.locator('.log .row').count(), 1));
    await page.keyboard.press('ArrowDown');
    await focusedName(page, /^POST \/order/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'POST /order' }).and(page.locator(':focus')).waitFor();
    await tabTo(page, /^Replay$/);
    await page.keyboard.press('Enter');
    await eventually(20_000, () => assert.equal(asked(main, 'log:replay'), 1));
    await focusedName(page, /^Replay$/);
    await page.keyboard.press('Escape');
    // The search is restored, and the request that was read has the focus.
    await focusedName(page, /^POST \/order/);
    assert.equal(await page.getByLabel('Search requests').inputValue(), 'POST order');
    await page.keyboard.press('/');
    await page.keyboard.press('Escape');
    // The first Escape clears the search, and the second closes the log.
    await eventually(20_000, async () => assert.equal(await page.locator('.log .row').count(), 2));
    assert.equal(await page.getByLabel('Search requests').inputValue(), '');
    await page.keyboard.press('Escape');
    await focusedName(page, /^All requests to /);
  });

  it('collapse what is expanded with Escape, and return to where it was opened', async () => {
    const { page } = await openScene(scope, 'tunnels', { reducedMotion: 'reduce' });
    const keys = page.keyboard;
    const unfolds = async (name: RegExp): Promise<void> => {
      await page.getByRole('button', { name }).focus();
      await keys.press('Enter');
      await page.getByRole('button', { name, expanded: true }).waitFor();
      await keys.press('Escape');
      await page.getByRole('button', { name, expanded: false }).and(page.locator(':focus')).waitFor();
    };
    await unfolds(/^Extend shop/);
    await unfolds(/^Who has access to shop/);
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    await unfolds(/^QR shop/);
    await keys.press('Escape');
    const name = page.getByLabel('Name', { exact: true });
    await page.getByRole('button', { name: 'Options' }).click();
    await name.fill('half-typed');
    await keys.press('Escape');
    await name.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Options' }).and(page.locator(':focus')).waitFor();
    await keys.press('Enter');
    assert.equal(await name.inputValue(), 'half-typed');
  });
});

function row(page: Page, name: RegExp) {
  return page.locator('.log').getByRole('button', { name }).last();
}

/** Opens the menu of what has the focus with the keys for that, which the driver of Firefox presses without effect. */
async function pressMenuKey(page: Page): Promise<void> {
  const event = "new MouseEvent('contextmenu', { bubbles: true, cancelable: true })";
  if (isFirefox) await page.evaluate(`document.activeElement.dispatchEvent(${event})`);
  else await page.keyboard.press('Shift+F10');
}

async function choose(page: Page, request: RegExp, item: string): Promise<void> {
  await row(page, request).click({ button: 'right' });
  await page.getByRole('menuitem', { name: item }).click();
  await page.getByRole('menu').waitFor({ state: 'detached' });
}

function asked(main: ScriptedMain, channel: string): number {
  return main.calls.filter((call) => call.channel === channel).length;
}

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

const palette = (page: Page): Locator => page.getByRole('dialog', { name: 'Commands' });
const chosen = (page: Page): Locator => page.getByRole('option', { selected: true });

/** Opens the palette, types, and waits until Enter would choose the entry with this name. */
async function find(page: Page, typed: string, name: string | RegExp): Promise<void> {
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.type(typed);
  await chosen(page).and(page.getByRole('option', { name })).waitFor();
}

describe('the command palette', () => {
  const scope = testScope();

  async function open(): Promise<Page> {
    const viewport = { width: 360, height: 640 };
    const { page } = await openScene(scope, 'tunnels', { viewport, reducedMotion: 'reduce' });
    await page.getByRole('button', { name: 'Expose' }).waitFor();
    return page;
  }

  it('copies, finds requests, changes the theme, stops, and fills in a port, all by what is typed', async () => {
    const main: ScriptedMain = scripted(
      { tunnels: [SHOP] },
      {
        'settings:change': (changes) =>
          void main.show({ settings: { ...main.snapshot.settings, ...changes } }),
      },
    )();
    const page = await openScripted(scope, main, { now: NOW, reducedMotion: 'reduce' });
    await page.getByRole('button', { name: 'Expose' }).waitFor();
    const keys = page.keyboard;
    await find(page, 'copy shop', 'Copy the address of shop-demo');
    await keys.press('Enter');
    await palette(page).getByText(`Copied ${SHOP.url}.`).waitFor();
    assert.equal(asked(main, 'tunnel:copy-url'), 1);
    await keys.press('Escape');
    await palette(page).waitFor({ state: 'detached' });

    await find(page, 'checkout post', /^POST \/api\/checkout/);
    await keys.press('Enter');
    await page
      .getByRole('heading', { name: /^POST \/api\/checkout/ })
      .and(page.locator(':focus'))
      .waitFor();
    await find(page, 'nothing like it', 'Requests to shop-demo with “nothing like it”');
    await keys.press('Enter');
    await page.getByText('No request matches “nothing like it”.').waitFor();
    assert.equal(await page.getByLabel('Search requests').inputValue(), 'nothing like it');

    await find(page, 'dark', 'Dark theme');
    await keys.press('Enter');
    await page.locator('html[data-theme="dark"]').waitFor();
    await palette(page).waitFor({ state: 'detached' });
    await keys.press('Control+1');
    await focusedName(page, /^Copy the address/);
    await find(page, 'stop shop', 'Stop shop-demo');
    await keys.press('Enter');
    await eventually(20_000, () => assert.equal(asked(main, 'tunnel:stop'), 1));
    await palette(page).waitFor({ state: 'detached' });

    await find(page, '8000', 'New tunnel to 8000');
    await keys.press('Enter');
    await focused(page, 'port');
    assert.equal(await page.getByLabel('Port', { exact: true }).inputValue(), '8000');
    assert.equal(asked(main, 'tunnel:create'), 0);
  });

  it('moves through its results with the arrows, wraps around, and returns the focus', async () => {
    const page = await open();
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
    const page = await open();
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
    const page = await open();
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
});
