/** What a screen shows without scrolling, and how many clicks the most frequent tasks take. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { TunnelView } from '../../desktop/app/ipc/snapshot.ts';
import { exampleRequest, exampleTunnel } from '../../desktop/testing/views.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { HERON, HOOKS, HOUR, live, NOW, scripted, SHOP } from './gallery/scripted.ts';
import { WINDOW_SIZE } from './support/app-window.ts';
import { assertReadable } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import type { ScriptedMain } from './support/scripted-main.ts';
import { bottomOf, focused, focusedName } from './support/visit.ts';

const WIDE = { width: 1440, height: 900 };

describe('at first sight, the window', () => {
  const scope = testScope();

  async function open(main: ScriptedMain, viewport = WINDOW_SIZE): Promise<Page> {
    return await openScripted(scope, main, { now: NOW, viewport, reducedMotion: 'reduce' });
  }

  async function openRequest(viewport = WINDOW_SIZE, main = live(SHOP)()): Promise<Page> {
    const page = await open(main, viewport);
    await page
      .getByRole('button', { name: /POST \/api\/checkout/ })
      .first()
      .click();
    await page.getByRole('region', { name: 'Response', exact: true }).waitFor();
    return page;
  }

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

  it('shows a response and its request side by side if both have room', async () => {
    const page = await openRequest(WIDE);
    const boxOf = (name: string) => page.getByRole('region', { name, exact: true }).boundingBox();
    const [response, request] = await Promise.all([boxOf('Response'), boxOf('Request')]);
    assert.ok(response !== null && request !== null && request.x >= response.x + response.width);
    await page.setViewportSize({ width: 1200, height: 900 });
    await page.getByRole('region', { name: 'Request', exact: true }).waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Request', exact: true }).click();
    await page.getByRole('region', { name: 'Request', exact: true }).waitFor();
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
    await assertReadable(page, 'the result of an edited request');
  });

  it('shows the verdict of diagnostics, and how to close them', async () => {
    const scene = SCENES.find(({ name }) => name === 'checkup');
    assert.ok(scene);
    const page = await open(scene.main());
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
    await assertReadable(page, 'a log that opened by itself');
  });

  it('has the header of a log in one line', async () => {
    const page = await open(live(SHOP)());
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    const [title, actions] = await Promise.all([
      page.locator('.bar:visible h1').boundingBox(),
      page.locator('#more-log').boundingBox(),
    ]);
    assert.ok(title !== null && actions !== null && Math.abs(title.y - actions.y) < 20);
  });

  it('exposes and copies with Enter and Enter at the start', async () => {
    const main: ScriptedMain = scripted(
      { ports: [{ port: 4321, process: 'node', framework: 'Astro' }] },
      {
        'tunnel:create': ({ port }) => {
          void main.show({ tunnels: [exampleTunnel({ localPort: port, expiresAt: NOW + HOUR })] });
          return { key: 'k' };
        },
      },
    )();
    const page = await open(main);
    await focused(page, 'port');
    await page.keyboard.press('Enter');
    await focusedName(page, /^Copy the address/);
    await page.keyboard.press('Enter');
    await eventually(20_000, () =>
      assert.deepEqual(
        main.calls.map(({ channel }) => channel).filter((channel) => channel.startsWith('tunnel:')),
        ['tunnel:create', 'tunnel:copy-url'],
      ),
    );
  });

  it('takes a first suggestion that arrives later, and keeps what is typed', async () => {
    const main = scripted({ ports: [] })();
    const page = await open(main);
    const port = page.getByLabel('Port', { exact: true });
    await focused(page, 'port');
    await main.show({ ports: [{ port: 5173, process: 'node', framework: 'Vite' }] });
    await eventually(20_000, async () => assert.equal(await port.inputValue(), '5173'));
    await page.keyboard.type('80');
    await main.show({ ports: [{ port: 9000, process: 'node', framework: undefined }] });
    assert.equal(await port.inputValue(), '80');
  });

  it('opens an address that is clicked, but not one that is selected', async () => {
    const main = live(SHOP)();
    const page = await open(main);
    const address = page.locator('.card .address a');
    const opened = () => main.calls.filter(({ channel }) => channel === 'tunnel:open-url').length;
    await address.click();
    await eventually(20_000, () => assert.equal(opened(), 1));
    const box = await address.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 5, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + 60, box.y + 8);
    await page.mouse.up();
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    assert.equal(opened(), 1);
  });

  it('names the project of a tunnel', async () => {
    const project = { name: 'shop', label: 'web' };
    const page = await open(live({ ...HOOKS, project })());
    await page.getByTitle('Tunnel web of project shop').getByText('shop / web').waitFor();
  });

  it('folds untouched options once a tunnel was made in another way', async () => {
    const main = scripted({ tunnels: [] })();
    const page = await open(main);
    await page.getByRole('button', { name: 'Options' }).click();
    await page.locator('#options').waitFor();
    await main.show({ tunnels: [SHOP] });
    await page.locator('#options').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Name', { exact: true }).fill('mine');
    await main.show({ tunnels: [SHOP, HERON] });
    await page.locator('.card').nth(1).waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'mine');
  });
});

describe('a stopped tunnel', () => {
  const scope = testScope();

  it('is announced once', async () => {
    const status = { name: 'ended', reason: 'stopped', why: 'You stopped it.' } as const;
    const main: ScriptedMain = scripted(
      { tunnels: [SHOP] },
      { 'tunnel:stop': () => void main.show({ tunnels: [{ ...SHOP, status }] }) },
    )();
    const page = await openScripted(scope, main, { now: NOW, reducedMotion: 'reduce' });
    await page.locator('.card').waitFor();
    await page.evaluate(`{
      globalThis.told = [];
      const region = document.querySelector('.unseen[role=status]');
      new MutationObserver(() => told.push(region.textContent)).observe(region, {
        characterData: true, childList: true, subtree: true,
      });
    }`);
    await page.getByRole('button', { name: 'Stop shop-demo' }).click();
    await focusedName(page, /^Start again/);
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    assert.deepEqual(await page.evaluate('told'), ['shop-demo has ended. You stopped it.']);
  });
});

describe('a long list of tunnels', () => {
  const scope = testScope();

  it('folds idle ones to a line below the busy ones', async () => {
    const busy = exampleRequest({ id: 1, startedAt: NOW - 1000 });
    const tunnels = ['a', 'b', 'c', 'd'].map(idle);
    const main = live(...tunnels)();
    const page = await openScripted(scope, main, { now: NOW, reducedMotion: 'reduce' });
    const slugs = () =>
      page.locator('.card').evaluateAll((cards) => cards.map((card) => card.dataset['slug']));
    await page.locator('.card-folded').nth(3).waitFor();
    assert.ok(((await page.locator('.card').first().boundingBox())?.height ?? 99) <= 48);
    await main.show({
      tunnels: tunnels.map((each) => (each.key === 'd' ? { ...each, recent: [busy] } : each)),
    });
    await page.getByRole('button', { name: 'Extend app-d' }).waitFor();
    assert.deepEqual(await slugs(), ['app-d', 'app-a', 'app-b', 'app-c']);
    await assertReadable(page, 'folded tunnels');
    await page.getByRole('button', { name: 'More about app-b' }).click();
    await page.getByRole('button', { name: 'Extend app-b' }).waitFor();
    // The palette unfolds what it needs.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('password app-c');
    await page.keyboard.press('Enter');
    await page.getByRole('form', { name: 'Who has access to app-c' }).waitFor();
  });
});

describe('the access panel', () => {
  const scope = testScope();

  async function open(main: ScriptedMain): Promise<Page> {
    const page = await openScripted(scope, main, { now: NOW, reducedMotion: 'reduce' });
    await page.getByRole('button', { name: /^Who has access/ }).click();
    return page;
  }

  it('follows its button for the keyboard', async () => {
    const page = await open(live(SHOP)());
    await page.keyboard.press('Tab');
    await focusedName(page, /^Everyone$/, 'radio');
  });

  it('moves the focus to the new link after Apply', async () => {
    const main: ScriptedMain = scripted(
      { tunnels: [SHOP] },
      { 'lock:set': () => void main.show({ tunnels: [{ ...SHOP, lock: { kind: 'links' } }] }) },
    )();
    const page = await open(main);
    await page.getByRole('radio', { name: 'Only with a link' }).check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await focused(page, 'link-note-shop');
  });

  it('applies the choice with the link that is created', async () => {
    const main: ScriptedMain = scripted(
      { tunnels: [SHOP] },
      {
        'lock:set': () => void main.show({ tunnels: [{ ...SHOP, lock: { kind: 'links' } }] }),
        'link:list': () => [],
      },
    )();
    const page = await open(main);
    await page.getByRole('radio', { name: 'Only with a link' }).check();
    await page.getByRole('button', { name: 'Create and copy link' }).click();
    await page.getByRole('list', { name: 'Links to shop-demo' }).getByText('Copied').waitFor();
    const asked = main.calls
      .map(({ channel }) => channel)
      .filter((channel) => /^(lock:set|link:create)/.test(channel));
    assert.deepEqual(asked, ['lock:set', 'link:create']);
  });
});

/** A tunnel without requests, half an hour old. */
function idle(key: string): TunnelView {
  return exampleTunnel({ key, slug: `app-${key}`, ttl: 3600, expiresAt: NOW + HOUR / 2 });
}

async function topOf(part: Locator): Promise<number> {
  const box = await part.boundingBox();
  assert.ok(box);
  return box.y;
}
