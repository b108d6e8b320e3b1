/** Resizing the window loses nothing that is under way. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { live, NOW, scripted, SHOP } from './gallery/scripted.ts';
import { openScripted } from './support/running-app.ts';
import type { ScriptedMain } from './support/scripted-main.ts';

const WIDTHS = [400, 720, 1100, 1440, 1100, 720, 400];

describe('a window that is resized', () => {
  const scope = testScope();

  async function open(main: ScriptedMain, width = 400): Promise<Page> {
    const viewport = { width, height: 800 };
    return await openScripted(scope, main, { now: NOW, viewport, reducedMotion: 'reduce' });
  }

  it('keeps shown secrets and the view of a body', async () => {
    const main = live(SHOP)();
    const page = await open(main);
    await openRequest(page);
    const response = page.getByRole('region', { name: 'Response', exact: true });
    await response.getByRole('button', { name: 'Hex' }).click();
    await page.getByRole('button', { name: 'More actions', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Show secrets' }).click();
    await eventually(20_000, () => assert.equal(revealed(main), 1));
    await atEveryWidth(page, async () => {
      await response.getByRole('button', { name: 'Hex', pressed: true }).waitFor();
    });
    // Nothing was read again, so the same screen is still there.
    assert.equal(revealed(main), 1);
    await page.getByRole('button', { name: 'More actions', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Hide secrets' }).waitFor();
  });

  it('keeps the difference of an edited request', async () => {
    const main = scripted({ tunnels: [SHOP] }, { 'bench:send': () => ({ sent: { id: 96, status: 500 } }) })();
    const page = await open(main);
    await openRequest(page);
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('.diff').first().waitFor();
    await atEveryWidth(page, async () => {
      await page.locator('.diff').first().waitFor();
    });
  });

  it('keeps an unfinished choice of access, also behind another screen', async () => {
    const main = live(SHOP)();
    const page = await open(main);
    await page.getByRole('button', { name: /^Who has access/ }).click();
    await page.getByRole('radio', { name: 'Password' }).waitFor();
    // Typed before the password that the app generates has arrived.
    await page.evaluate(`(async () => {
      document.getElementById('lock-form-shop-password').click();
      let field;
      while ((field = document.getElementById('lock-form-shop-detail')) === null) await undefined;
      field.value = 'open sesame';
      field.dispatchEvent(new Event('input', { bubbles: true }));
    })()`);
    await eventually(20_000, () => assert.ok(main.calls.some(({ channel }) => channel === 'lock:invent')));
    await main.show({});
    const draft = page.getByRole('textbox', { name: 'Password' });
    await atEveryWidth(page, async () => assert.equal(await draft.inputValue(), 'open sesame'));
    await page.keyboard.press('Control+,');
    await draft.waitFor({ state: 'hidden' });
    await page.setViewportSize({ width: 900, height: 800 });
    await draft.waitFor();
    assert.equal(await draft.inputValue(), 'open sesame');
  });

  it('keeps a paused log paused', async () => {
    const page = await open(live(SHOP)(), 1440);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.log .row').nth(1).click();
    await page.setViewportSize({ width: 800, height: 800 });
    await page.locator('.log').waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 1440, height: 800 });
    await page.getByRole('button', { name: 'Paused', pressed: true }).waitFor();
  });

  it('has dividers for mouse and keyboard, and remembers them', async () => {
    const main: ScriptedMain = scripted(
      { tunnels: [SHOP] },
      {
        'settings:change': (changes) =>
          void main.show({ settings: { ...main.snapshot.settings, ...changes } }),
      },
    )();
    const page = await open(main, 1440);
    const divider = page.getByRole('separator', { name: 'Width of the tunnels' });
    const width = () =>
      page
        .locator('.panes > .screen')
        .first()
        .evaluate((pane) => pane.getBoundingClientRect().width);
    const box = await divider.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x, 300);
    await page.mouse.down();
    await page.mouse.move(450, 300);
    await page.mouse.up();
    await eventually(20_000, async () => assert.equal(Math.round(await width()), 450));
    await divider.focus();
    await page.keyboard.press('ArrowRight');
    await eventually(20_000, async () => assert.equal(Math.round(await width()), 466));
    await page.reload();
    await divider.waitFor();
    assert.equal(Math.round(await width()), 466);
    await divider.dblclick();
    await eventually(20_000, async () => assert.notEqual(Math.round(await width()), 466));
    // Never so narrow that nothing fits.
    await page.mouse.move((await width()) + 1, 300);
    await page.mouse.down();
    await page.mouse.move(10, 300);
    await page.mouse.up();
    assert.equal(Math.round(await width()), 340);
  });
});

async function atEveryWidth(page: Page, check: (width: number) => Promise<void>): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    await check(width);
  }
}

async function openRequest(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /POST \/api\/checkout/ })
    .first()
    .click();
}

/** How often the secrets of a request were asked for. */
function revealed(main: ScriptedMain): number {
  return main.calls.filter(
    ({ channel, payload }) => channel === 'log:detail' && (payload as { reveal: boolean }).reveal,
  ).length;
}
