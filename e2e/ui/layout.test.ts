/** What fits where: without scrolling, beside each other in wide windows, and still there when a window is resized. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { openScene } from './gallery/gallery.ts';
import { HERON, live, NOW, openCheckout, scripted, SHOP } from './gallery/scripted.ts';
import { WINDOW_SIZE } from './support/app-window.ts';
import { assertReadable } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import type { ScriptedMain } from './support/scripted-main.ts';
import { bottomOf, focused } from './support/visit.ts';

const WIDE = { width: 1440, height: 900 };
const RESIZED = { width: 400, height: 800 };
const WIDTHS = [400, 720, 1000, 1440, 1000, 720, 400];

async function topOf(part: Locator): Promise<number> {
  return (await part.boundingBox())?.y ?? assert.fail('it is not shown');
}

/** The number of lines in which elements are. */
async function lines(parts: Locator): Promise<number> {
  const middles = await parts.evaluateAll((all) =>
    all
      .map((part) => part.getBoundingClientRect())
      .filter(({ height }) => height > 0)
      .map(({ top, height }) => Math.round((top + height / 2) / 10)),
  );
  return new Set(middles).size;
}

async function atEveryWidth(page: Page, check: (width: number) => Promise<void>): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    await check(width);
  }
}

/** How often the secrets of a request were asked for. */
function revealed(main: ScriptedMain): number {
  return main.calls.filter(
    ({ channel, payload }) => channel === 'log:detail' && (payload as { reveal: boolean }).reveal,
  ).length;
}

const expose = (page: Page): Locator => page.getByRole('button', { name: 'Expose' });

describe('the window,', () => {
  const scope = testScope();

  async function open(main: ScriptedMain, viewport = WINDOW_SIZE): Promise<Page> {
    return await openScripted(scope, main, { now: NOW, viewport, reducedMotion: 'reduce' });
  }

  async function openRequest(viewport = WINDOW_SIZE, main = live(SHOP)()): Promise<Page> {
    const page = await open(main, viewport);
    await openCheckout(page);
    await page.getByRole('region', { name: 'Response', exact: true }).waitFor();
    return page;
  }

  async function openAt(width: number): Promise<Page> {
    return (await openScene(scope, 'tunnels', { viewport: { width, height: 700 } })).page;
  }

  describe('at first sight,', () => {
    for (const viewport of [WINDOW_SIZE, { width: 900, height: 640 }, WIDE]) {
      it(`shows the body of a response without scrolling, at ${viewport.width} px`, async () => {
        const page = await openRequest(viewport);
        const body = page.getByRole('tree', { name: 'Response body as a tree' });
        assert.ok((await bottomOf(body.getByRole('treeitem').last())) <= viewport.height);
        // All actions are in one row.
        const tops = await page
          .locator('.request-actions > button')
          .evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().top));
        assert.equal(new Set(tops.map(Math.round)).size, 1);
      });
    }

    it('shows a response and its request side by side if both have room, else one below the other', async () => {
      const page = await openRequest(WIDE);
      const boxes = async () => {
        const [response, request] = await Promise.all(
          ['Response', 'Request'].map((name) =>
            page.getByRole('region', { name, exact: true }).boundingBox(),
          ),
        );
        assert.ok(response && request);
        return { response, request };
      };
      const { response, request } = await boxes();
      assert.ok(request.x >= response.x + response.width);
      await page.setViewportSize({ width: 1200, height: 900 });
      await eventually(20_000, async () => {
        const narrow = await boxes();
        assert.ok(narrow.request.y >= narrow.response.y + narrow.response.height);
        assert.ok(narrow.request.y + narrow.request.height <= 900);
      });
    });

    it('shows Send, the result and the first difference of an edited request', async () => {
      const page = await openRequest();
      await page.getByRole('button', { name: 'Edit and send' }).click();
      const send = page.getByRole('button', { name: 'Send', exact: true });
      assert.ok((await bottomOf(send)) <= WINDOW_SIZE.height);
      await page.getByLabel('Body').fill('{"mugs":3}');
      await page.keyboard.press('Control+Enter');
      const result = page.locator('.sent-result', { hasText: /^201 · 12 ms · \d+ lines differ$/ });
      await result.waitFor();
      assert.ok((await bottomOf(result)) <= WINDOW_SIZE.height);
      assert.ok((await bottomOf(page.locator('.diff').first())) > 0);
      assert.ok((await topOf(page.locator('.responses'))) < WINDOW_SIZE.height / 2);
      // Only the content has scrolled.
      assert.ok((await topOf(page.locator('h1:visible'))) > 0);
      assert.equal(await page.evaluate('scrollY'), 0);
    });

    it('shows the verdict of diagnostics, and how to close them', async () => {
      const { page } = await openScene(scope, 'checkup', { reducedMotion: 'reduce' });
      const dialog = page.getByRole('dialog');
      await dialog.waitFor();
      assert.ok((await bottomOf(dialog.getByRole('status'))) < 200);
      assert.ok((await bottomOf(dialog.getByRole('button', { name: 'Close' }))) <= WINDOW_SIZE.height);
    });

    it('shows the requests of the newest tunnel beside the list', async () => {
      const page = await open(live(SHOP, HERON)(), { width: 1000, height: 700 });
      await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Back' }).count(), 0);
      // The focus stays where a port is typed.
      await focused(page, 'port');
      await page.locator('.log .row').nth(1).click();
      await page.getByRole('region', { name: 'Response', exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
    });

    it('has the header of a log in one line, all of it in the largest window, and the form of the rail', async () => {
      const wide = await openRequest(WIDE);
      for (const line of ['.controls > .meta', '.create-row']) {
        const parts = wide.locator(`${line} > :is(button, .chip, .actions, .port-field)`);
        const middles = await parts.evaluateAll((all) =>
          all.map((part) => part.getBoundingClientRect()).map(({ top, height }) => top + height / 2),
        );
        assert.ok(middles.length >= 3 && Math.max(...middles) - Math.min(...middles) < 3, line);
      }
      const page = await open(live(SHOP)());
      await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
      const [title, actions] = await Promise.all([
        page.locator('.bar:visible h1').boundingBox(),
        page.locator('#more-log').boundingBox(),
      ]);
      assert.ok(title !== null && actions !== null && Math.abs(title.y - actions.y) < 20);
    });
  });

  describe('in a narrow pane,', () => {
    it('has all filters of a log in two lines', async () => {
      const viewport = { width: 320, height: 640 };
      const { page } = await openScene(scope, 'log-marked', { viewport });
      await page.locator('#log-shop').click();
      const chips = page.locator('.log-bar button');
      await page.getByRole('button', { name: /^Live/ }).waitFor();
      assert.equal(await chips.count(), 8);
      assert.ok((await lines(chips)) <= 2);
    });

    for (const viewport of [WIDE, { width: 320, height: 640 }])
      it(`has all five tabs of a request in one line, at ${viewport.width} px`, async () => {
        const { page } = await openScene(scope, 'request-parts', { viewport });
        await openCheckout(page);
        const tabs = page.getByRole('region', { name: 'Request', exact: true }).getByRole('tab');
        await tabs.last().waitFor();
        assert.equal(await tabs.count(), 5);
        assert.equal(await lines(tabs), 1);
      });

    it('shows which account and which relay it is about, one below the other', async () => {
      const { page } = await openScene(scope, 'sign-ins', { viewport: { width: 1000, height: 700 } });
      const parts = page.locator('.who-lines > *');
      await parts.last().waitFor();
      assert.equal(await lines(parts), 2);
      for (const part of [parts.first(), ...(await parts.last().locator('.cut').all())])
        assert.ok(await part.evaluate((text) => text.clientWidth >= 30));
      assert.equal(await page.locator('#sign-ins').getAttribute('title'), 'acme · tunnels.example.com');
    });
  });

  /** Opens a log with three panes. */
  async function openLog() {
    const page = await openAt(1000);
    const row = (id: number): Locator => page.locator(`.log #request-shop-${id}`);
    await page.locator('#log-shop').click();
    await row(95).waitFor();
    return { page, row, keys: page.keyboard, focus: page.locator(':focus') };
  }

  describe('when it is wide,', () => {
    it('shows the tunnels on the left, and the opened screen beside them', async () => {
      const page = await openAt(900);
      await page.getByRole('button', { name: /^stripe-hooks/ }).click();
      await page.getByRole('heading', { name: 'Requests to stripe-hooks' }).waitFor();
      await page.locator('[data-slug=stripe-hooks] [aria-current]').waitFor();
      await page.getByRole('button', { name: /^shop-demo/ }).click();
      await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
      assert.equal(await expose(page).isVisible(), true);
      await page
        .getByRole('list', { name: 'Requests', exact: true })
        .getByRole('button', { name: '/api/checkout 500' })
        .first()
        .click();
      await page.getByRole('region', { name: 'Response body' }).waitFor();
      assert.equal(await expose(page).isVisible(), true);
      await page.keyboard.press('Escape');
      await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
      await page.keyboard.press('Control+,');
      await page.getByRole('heading', { name: 'Settings' }).waitFor();
      assert.equal(await expose(page).isVisible(), true);
    });

    it('has three panes when it is even wider: tunnels, requests, and one request, reachable by keys', async () => {
      const { page, keys, row, focus } = await openLog();
      await keys.press('ArrowDown');
      await keys.press('ArrowDown');
      await row(94).and(focus).waitFor();
      await keys.press('Enter');
      await page.getByRole('region', { name: 'Response body' }).waitFor();
      await row(94).and(focus).waitFor();
      assert.equal(await row(94).getAttribute('aria-current'), 'true');
      assert.equal(await expose(page).isVisible(), true);
      await assertReadable(page, 'three panes');

      await keys.press('F6');
      await page.locator('h1').and(focus).waitFor();
      await page.locator('.screen').nth(2).locator(':focus').waitFor();
      await keys.press('F6');
      await page.locator('.screen').nth(0).locator(':focus').waitFor();
      await keys.press('Shift+F6');
      await keys.press('Shift+F6');
      await row(94).and(focus).waitFor();

      // A replay of the open request shows its answer.
      await keys.press('r');
      await page.locator('.log [aria-current]').and(row(95)).waitFor();
      await row(94).and(focus).waitFor();
      await keys.press('ArrowUp');
      await keys.press('Enter');
      await keys.press('Escape');
      await page.getByRole('region', { name: 'Response body' }).waitFor({ state: 'detached' });
      await row(95).and(focus).waitFor();
      await keys.press('Escape');
      await page.locator('#log-shop').and(focus).waitFor();
    });

    it('shows the request that is reached by key beside the list, but not over one being edited', async () => {
      const { page, keys, row, focus } = await openLog();
      await keys.press('End');
      const last = page.locator('.log li:last-child button');
      await last.and(focus).waitFor();
      // Nothing is open yet.
      assert.equal(await page.locator('.exchange').count(), 0);
      await keys.press('Enter');
      await page.locator('.log [aria-current]').and(last).waitFor();
      await keys.press('Home');
      await page.locator('.log [aria-current]').and(row(95)).waitFor();
      await row(95).and(focus).waitFor();
      await keys.press('j');
      await page.locator('.log [aria-current]').and(row(94)).waitFor();
      await row(94).and(focus).waitFor();
      // One step back, no matter how many were shown.
      await keys.press('Escape');
      await page.locator('.exchange').waitFor({ state: 'detached' });
      await row(94).and(focus).waitFor();

      await keys.press('Enter');
      await page.getByRole('button', { name: 'Edit and send' }).click();
      await page.getByLabel('Body').fill('mine');
      await row(94).focus();
      await keys.press('End');
      await last.and(focus).waitFor();
      await keys.press('Home');
      await row(95).and(focus).waitFor();
      assert.equal(await page.getByLabel('Body').inputValue(), 'mine');
    });

    it('becomes one column again when it is narrowed, at the same place', async () => {
      const page = await openAt(720);
      await page.getByRole('button', { name: /^shop-demo/ }).click();
      await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
      await page.setViewportSize({ width: 719, height: 700 });
      await expose(page).waitFor({ state: 'detached' });
      await page.getByRole('heading', { name: 'Requests to shop-demo' }).waitFor();
      await page.getByRole('button', { name: 'Back' }).click();
      await expose(page).waitFor();
    });
  });

  describe('when it is resized,', () => {
    it('keeps shown secrets and the view of a body', async () => {
      const main = live(SHOP)();
      const page = await openRequest(RESIZED, main);
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
      const main = scripted({ tunnels: [SHOP] }, { 'log:edit': () => 96 })();
      const page = await openRequest(RESIZED, main);
      await page.getByRole('button', { name: 'Edit and send' }).click();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.locator('.diff').first().waitFor();
      await atEveryWidth(page, async () => {
        await page.locator('.diff').first().waitFor();
      });
    });

    it('keeps an unfinished choice of access, also behind another screen', async () => {
      const main = live(SHOP)();
      const page = await open(main, RESIZED);
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
      await page.keyboard.press('Escape');
      await draft.waitFor();
      assert.equal(await draft.inputValue(), 'open sesame');
    });

    it('keeps a paused log paused', async () => {
      const page = await open(live(SHOP)(), WIDE);
      await page.getByRole('button', { name: 'Freeze' }).click();
      await page.locator('.log .row').nth(1).click();
      await page.setViewportSize({ width: 800, height: 800 });
      await page.locator('.log').waitFor({ state: 'detached' });
      await page.setViewportSize({ width: 1440, height: 800 });
      await page.getByRole('button', { name: 'Frozen', pressed: true }).waitFor();
    });

    it('has dividers for mouse and keyboard, and remembers them', async () => {
      const main: ScriptedMain = scripted(
        { tunnels: [SHOP] },
        {
          'settings:change': (changes) =>
            void main.show({ settings: { ...main.snapshot.settings, ...changes } }),
        },
      )();
      const page = await open(main, WIDE);
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
      assert.equal(Math.round(await width()), 220);
    });
  });
});
