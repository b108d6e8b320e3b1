/** The list of tunnels and the form above it, while main says what happens. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { TunnelView } from '../../desktop/app/ipc/snapshot.ts';
import type { ApprovalRequestView } from '../../desktop/app/ipc/tunnel-views.ts';
import { exampleOther, exampleRequest, exampleSnapshot, exampleTunnel } from '../../desktop/testing/views.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { openScene } from './gallery/gallery.ts';
import {
  HERON,
  HOOKS,
  HOUR,
  live,
  NOW,
  openCheckout,
  QUIET_SHOP,
  scripted,
  SHOP,
} from './gallery/scripted.ts';
import { card } from './support/fixture.ts';
import { colorOf } from './support/readable.ts';
import { itInChromium, openScripted } from './support/running-app.ts';
import { Refusal, ScriptedMain, type ScriptedHandlers } from './support/scripted-main.ts';
import { focused, focusedName } from './support/visit.ts';

/** A card asks for the time a few times when it is drawn, and then only at a tick. A hidden window has no ticks. */
const COUNT_QUESTIONS = `
  Object.defineProperty(document, 'hidden', { get: () => true });
  const { now } = Date;
  let questions = 0;
  Date.now = () => ((questions += 1), now());
`;

const STOPPED = { name: 'ended', reason: 'stopped', why: 'You stopped the tunnel.' } as const;
/** Until the page has drawn what has happened so far. */
const DRAWN = 'new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))';

/** The payloads of what main was asked for on a channel, in order. */
function asked(main: ScriptedMain, channel: string): readonly unknown[] {
  return main.calls.filter((call) => call.channel === channel).map(({ payload }) => payload);
}

/** A main process that creates tunnels, and finds these ports listening. */
function creating(...ports: number[]): ScriptedMain {
  const main: ScriptedMain = scripted(
    { ports: ports.map((port) => ({ port, process: 'node', framework: undefined })) },
    {
      'tunnel:create': ({ port }) => {
        void main.show({ tunnels: [exampleTunnel({ localPort: port, expiresAt: NOW + HOUR })] });
        return { key: 'k' };
      },
    },
  )();
  return main;
}

/** A main process with one tunnel, which can be stopped. */
function stopping(): ScriptedMain {
  const main: ScriptedMain = scripted(
    { tunnels: [SHOP] },
    { 'tunnel:stop': () => void main.show({ tunnels: [{ ...SHOP, status: STOPPED }] }) },
  )();
  return main;
}

const ANN: ApprovalRequestView = {
  id: 'n1',
  address: '203.0.113.7',
  agent: 'Mozilla/5.0 (X11; Linux) Firefox/150.0',
};
const BEN: ApprovalRequestView = { id: 'n2', address: '2001:db8::7', agent: 'curl/8.18.0' };
const CLAUDE: ApprovalRequestView = {
  ...ANN,
  client: { name: 'VS Code', host: 'claude.ai', returns_to: 'localhost' },
};
const GUARDED = { ...QUIET_SHOP, lock: { kind: 'knock' } } as const;

/** Sets the visitors who wait from now on. */
async function knocking(main: ScriptedMain, ...knocks: ApprovalRequestView[]): Promise<void> {
  await main.show({ tunnels: [{ ...GUARDED, knocks }] });
}

/** The answers to requests that main received, once there are this many. */
function answers(main: ScriptedMain, count: number): Promise<ScriptedMain['calls']> {
  return eventually(20_000, async () => {
    const given = main.calls.filter(({ channel }) => channel.startsWith('knock:'));
    assert.equal(given.length, count);
    return given;
  });
}

const COUNTED_BY_TIME = 'two clicks are a double click there only within 640 ms';

/** Clicks on a button, and again at the same position as soon as the effect of the first click shows. */
async function doubleClick(page: Page, button: Locator, done: () => Promise<void>): Promise<void> {
  const box = await button.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (const clickCount of [1, 2]) {
    await page.mouse.down({ clickCount });
    await page.mouse.up({ clickCount });
    if (clickCount === 1) await done();
  }
  // The page's calls have been sent before this returns.
  await page.evaluate(DRAWN);
}

async function drag(page: Page, type: string, relatedTarget: string): Promise<void> {
  await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([], 'nothing'));
    const relatedTarget = ${relatedTarget};
    document.querySelector('main, [role=main]').dispatchEvent(
      new DragEvent(${JSON.stringify(type)}, { bubbles: true, cancelable: true, dataTransfer, relatedTarget }),
    );
  }`);
}

/** A tunnel without requests, half an hour old. */
function idle(key: string): TunnelView {
  return exampleTunnel({ key, slug: `app-${key}`, ttl: 3600, expiresAt: NOW + HOUR / 2 });
}

describe('the list of tunnels:', () => {
  const scope = testScope();

  async function open(main: ScriptedMain): Promise<Page> {
    return await openScripted(scope, main, { now: NOW, reducedMotion: 'reduce' });
  }

  describe('fifty tunnels', () => {
    it('are searched, scrolled, and redrawn only where one has changed', async () => {
      const { page, main } = await openScene(scope, 'many');
      const { tunnels } = main.snapshot;
      const cards = page.locator('.card');
      await cards.nth(tunnels.length - 1).waitFor({ state: 'attached' });
      assert.equal(await cards.count(), tunnels.length);
      await page.evaluate(`{${COUNT_QUESTIONS} globalThis.questions = () => questions; }`);

      await main.show({
        tunnels: tunnels.map((tunnel, n) => (n === 45 ? { ...tunnel, requests: 4711 } : tunnel)),
      });
      await page.locator('.card', { hasText: 'service-45' }).getByText('4,711').waitFor();
      const questions = await page.evaluate<number>('questions()');
      assert.ok(questions > 0 && questions < tunnels.length / 2, `${questions} questions for the time`);

      const lastY = async (): Promise<number> => (await cards.last().boundingBox())?.y ?? 0;
      assert.ok((await lastY()) > 640);
      await page.getByRole('main').hover();
      await page.mouse.wheel(0, 100_000);
      await eventually(20_000, async () => assert.ok((await lastY()) < 640));
      await page.getByLabel('Search tunnels').fill('service-37');
      await card(page, 'service-1').waitFor({ state: 'detached' });
      assert.deepEqual(await page.locator('.card .tunnel-name').allTextContents(), ['service-37']);
      await page.getByLabel('Search tunnels').fill('nothing like it');
      await page.getByText('No tunnel matches “nothing like it”.').waitFor();
    });
  });

  describe('a kept name', () => {
    it('is paused, gets a message, and is resumed', async () => {
      const named = { ...QUIET_SHOP, name: QUIET_SHOP.slug };
      const kept = { key: named.slug, isLive: false, away: undefined, until: undefined };
      const main: ScriptedMain = scripted(
        { tunnels: [named] },
        {
          'tunnel:pause': () => void main.show({ tunnels: [{ ...named, status: STOPPED }], names: [kept] }),
          'name:away': ({ away }) => void main.show({ names: [{ ...kept, away: away ?? undefined }] }),
          'tunnel:start': () =>
            void main.show({ tunnels: [named], names: [{ ...kept, isLive: true, away: 'Later.' }] }),
        },
      )();
      const page = await open(main);
      await page.getByRole('button', { name: `Pause ${named.slug}` }).click();
      await focused(page, `start-${named.key}`);
      await card(page, named.slug).getByText('Visitors are told that it is offline.').waitFor();
      await page.getByRole('button', { name: `Message ${named.slug}` }).click();
      await page.getByLabel('What visitors read').fill('Back after lunch.\nCall me.');
      await page.getByLabel('When you are back').selectOption('In an hour');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await focused(page, `away-${named.key}`);
      await card(page, named.slug).getByText('Visitors read: Back after lunch. …').waitFor();
      const [change] = asked(main, 'name:away') as { away: string; until: number }[];
      assert.equal(change?.away, 'Back after lunch.\nCall me.');
      assert.ok(Math.abs((change?.until ?? 0) - NOW - HOUR) < HOUR / 2, String(change?.until));
      // The tray asks for the form.
      await main.push('message:show', { key: named.key });
      await focused(page, `away-form-${named.key}-text`);
      await page.keyboard.press('Escape');
      await page.getByLabel('What visitors read').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: `Resume ${named.slug}` }).click();
      await page.getByRole('button', { name: `Pause ${named.slug}` }).waitFor();
      assert.equal(await page.getByText('Visitors read').count(), 0);
      // What they read the next time.
      await page.getByRole('button', { name: `Message ${named.slug}` }).click();
      await page.getByRole('button', { name: 'Remove message' }).click();
      await eventually(20_000, () =>
        assert.deepEqual(asked(main, 'name:away').at(-1), { name: named.slug, away: null, until: null }),
      );
    });

    it('may say that the computer sleeps, which the window asks once', async () => {
      const named = { ...QUIET_SHOP, name: QUIET_SHOP.slug };
      const kept = { key: named.slug, isLive: true, away: undefined, until: undefined };
      const main: ScriptedMain = scripted(
        { tunnels: [named], names: [kept] },
        {
          'settings:change': (change) =>
            void main.show({ settings: { ...main.snapshot.settings, ...change } }),
        },
      )();
      const page = await open(main);
      await page.getByText(`visitors of ${named.slug} read that it is offline`).waitFor();
      await page.getByRole('button', { name: 'Show “Asleep”' }).click();
      await page.getByRole('button', { name: 'Show “Asleep”' }).waitFor({ state: 'detached' });
      assert.deepEqual(asked(main, 'settings:change'), [{ saysAsleep: 'yes' }]);
      await page.getByRole('button', { name: 'Settings' }).click();
      const setting = page.getByRole('switch', { name: 'Show “Asleep” while this computer sleeps' });
      assert.equal(await setting.isChecked(), true);
      await setting.uncheck();
      await eventually(20_000, () =>
        assert.deepEqual(asked(main, 'settings:change').at(-1), { saysAsleep: 'no' }),
      );
    });

    it('without a tunnel of this app is let go', async () => {
      const { page, main } = await openScene(scope, 'names');
      const names = page.getByRole('region', { name: 'Kept names' });
      assert.equal(await names.getByRole('listitem').count(), 2);
      await names.getByRole('button', { name: 'Let go invoices' }).click();
      await eventually(20_000, () => {
        assert.deepEqual(asked(main, 'name:release'), [{ name: 'invoices' }]);
      });
    });

    it('cannot be that of a tunnel with a random name', async () => {
      const page = await open(scripted({ tunnels: [{ ...QUIET_SHOP, name: '' }] })());
      await page.getByRole('button', { name: `Stop ${QUIET_SHOP.slug}` }).waitFor();
      assert.equal(await page.getByRole('button', { name: `Pause ${QUIET_SHOP.slug}` }).count(), 0);
    });
  });

  describe('the port field', () => {
    it('accepts no suggestion once it was emptied, because that would end up in front of what is typed', async () => {
      const { page, main } = await openScene(scope, 'ports');
      const { ports } = main.snapshot;
      assert.ok(ports.length > 0);
      const field = page.getByLabel('Port', { exact: true });
      await eventually(20_000, async () => assert.notEqual(await field.inputValue(), ''));
      await field.fill('');
      await main.show({ ports: [] });
      await main.show({ ports });
      await eventually(20_000, async () => assert.equal(await field.inputValue(), ''));
      await field.press('ArrowDown');
      await page.getByRole('option').first().waitFor();
      await page.keyboard.type('39');
      assert.equal(await field.inputValue(), '39');
    });

    it('drops a suggestion whose server has ended, unless somebody has typed it', async () => {
      const main = scripted({ tunnels: [] })();
      const page = await open(main);
      const listens = async (port: number): Promise<void> => {
        await main.show({ ports: [{ port, process: 'node', framework: undefined }] });
      };
      const field = page.getByLabel('Port', { exact: true });
      await focused(page, 'port');
      for (const port of [4001, 4002]) {
        await listens(port);
        await eventually(20_000, async () => assert.equal(await field.inputValue(), String(port)));
      }
      await main.show({ ports: [] });
      await eventually(20_000, async () => assert.equal(await field.inputValue(), ''));
      await field.fill('4002');
      await listens(4002);
      await listens(4003);
      assert.equal(await field.inputValue(), '4002');
    });

    it('does not call a window empty in which others are listed', async () => {
      const main = scripted({ tunnels: [] })();
      const page = await open(main);
      await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
      await main.show({ others: [exampleOther()] });
      await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor({ state: 'detached' });
    });

    it('takes a first suggestion that arrives late, and exposes what is typed, whatever starts to listen in between', async () => {
      const refused = { code: 'none', text: 'Only what was asked for matters.' };
      const main = new ScriptedMain(exampleSnapshot(), {
        'tunnel:create': () => {
          throw new Refusal(refused);
        },
      });
      const page = await open(main);
      const listens = async (port: number): Promise<void> => {
        await main.show({ ports: [{ port, process: 'node', framework: undefined }] });
      };
      const field = page.getByLabel('Port', { exact: true });
      const button = page.getByRole('button', { name: 'Expose' });
      await focused(page, 'port');
      await listens(4001);
      await eventually(20_000, async () => assert.equal(await field.inputValue(), '4001'));
      await field.selectText();
      await page.keyboard.insertText('4711');
      await listens(4002);
      await button.hover();
      await listens(4003);
      await page.mouse.down();
      await listens(4004);
      await page.mouse.up();
      await page.getByText(refused.text).waitFor();
      assert.deepEqual(
        asked(main, 'tunnel:create').map((form) => (form as { port: number }).port),
        [4711],
      );
    });

    it('keeps the chosen port when another one is listed before it', async () => {
      const { page, main } = await openScene(scope, 'ports');
      const { ports } = main.snapshot;
      const field = page.getByLabel('Port', { exact: true });
      await field.fill('');
      await page.keyboard.press('ArrowDown');
      const chosen = page.getByRole('option', { selected: true }).locator('b');
      const port = await chosen.innerText();
      await main.show({ ports: [{ port: 1234, process: 'late', framework: undefined }, ...ports] });
      await page.getByRole('option', { name: '1234' }).waitFor();
      assert.equal(await chosen.innerText(), port);
      await page.keyboard.press('Enter');
      assert.equal(await field.inputValue(), port);
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

  describe('a card', () => {
    it('has a sparkline, which is amber for a refused request, red for a failed one, and missing without any', async () => {
      const main = live({ ...QUIET_SHOP, pulse: [] })();
      const page = await open(main);
      const pulse = card(page, SHOP.slug).getByRole('img', { name: 'in the last minute' });
      for (const [refused, errors, words] of [
        [1, 0, '2 requests in the last minute, 1 failed'],
        [0, 1, '2 requests in the last minute, 1 failed'],
      ] as const) {
        await main.show({ tunnels: [{ ...QUIET_SHOP, pulse: [] }] });
        await pulse.waitFor({ state: 'detached' });
        await main.show({
          tunnels: [{ ...QUIET_SHOP, pulse: [{ id: NOW / 1000 - 5, requests: 2, refused, errors }] }],
        });
        await pulse.and(page.getByLabel(words)).waitFor();
        assert.equal((await pulse.locator('.pulse-refused').getAttribute('d')) !== '', refused > 0);
        assert.equal((await pulse.locator('.pulse-errors').getAttribute('d')) !== '', errors > 0);
      }
    });

    it('opens an address that is clicked, but not one that is selected', async () => {
      const main = live(SHOP)();
      const page = await open(main);
      const address = page.locator('.card .address a');
      const opened = () => asked(main, 'tunnel:open-url').length;
      await address.click();
      await eventually(20_000, () => assert.equal(opened(), 1));
      const box = await address.boundingBox();
      assert.ok(box);
      await page.mouse.move(box.x + 5, box.y + 8);
      await page.mouse.down();
      await page.mouse.move(box.x + 60, box.y + 8);
      await page.mouse.up();
      await page.evaluate(DRAWN);
      assert.equal(opened(), 1);
    });

    it('shows how to be its first visitor, until one comes', async () => {
      const main = live(QUIET_SHOP)();
      const page = await open(main);
      await page.getByText('Waiting for the first request').waitFor();
      await page.getByRole('img', { name: `QR code for ${SHOP.url}` }).waitFor();
      await page.getByRole('button', { name: 'Copy command' }).click();
      await eventually(20_000, () =>
        assert.deepEqual(asked(main, 'text:copy'), [{ text: `curl ${SHOP.url}` }]),
      );
      await main.show({ tunnels: [SHOP] });
      await page.getByText('Waiting for the first request').waitFor({ state: 'detached' });
    });

    it('names its project', async () => {
      const project = { name: 'shop', label: 'web' };
      const page = await open(live({ ...HOOKS, project })());
      await page.getByTitle('Tunnel web of project shop').getByText('shop / web').waitFor();
    });

    it('is folded to a line below the busy ones while it is idle, in a long list', async () => {
      const busy = exampleRequest({ id: 1, startedAt: NOW - 1000 });
      const tunnels = ['a', 'b', 'c', 'd'].map(idle);
      const main = live(...tunnels)();
      const page = await open(main);
      const slugs = () =>
        page.locator('.card').evaluateAll((cards) => cards.map((each) => each.dataset['slug']));
      await page.locator('.card-folded').nth(3).waitFor();
      assert.ok(((await page.locator('.card').first().boundingBox())?.height ?? 99) <= 56);
      await main.show({
        tunnels: tunnels.map((each) => (each.key === 'd' ? { ...each, recent: [busy] } : each)),
      });
      await page.getByRole('button', { name: 'Extend app-d' }).waitFor();
      assert.deepEqual(await slugs(), ['app-d', 'app-a', 'app-b', 'app-c']);
      const row = page.getByRole('button', { name: /^app-b/, expanded: false });
      await row.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Extend app-b' }).waitFor();
      await focused(page, 'copy-b');
      await page.getByRole('button', { name: 'Less about app-b' }).press('Enter');
      await row.and(page.locator(':focus')).waitFor();
      // The palette unfolds what it needs.
      await page.keyboard.press('Control+k');
      await page.keyboard.type('password app-c');
      await page.keyboard.press('Enter');
      await page.getByRole('form', { name: 'Who has access to app-c' }).waitFor();
    });

    it('is announced once when it is stopped', async () => {
      const main = stopping();
      const page = await open(main);
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
      await page.evaluate(DRAWN);
      assert.deepEqual(await page.evaluate('told'), ['shop-demo has ended. You stopped the tunnel.']);
    });

    it('shows its state, its traffic and the focus in high contrast', async () => {
      const page = await open(live(SHOP)());
      await page.emulateMedia({ forcedColors: 'active' });
      const ground = await colorOf(page, '.card', 'backgroundColor');
      assert.notEqual(await colorOf(page, '.card .shape', 'color'), ground);
      assert.notEqual(await colorOf(page, '.card .pulse svg', 'fill'), ground);
      // What is chosen has another colour, not only bolder letters.
      await page.keyboard.press('ControlOrMeta+k');
      await page.getByRole('option', { selected: true }).waitFor();
      const chosen = await colorOf(page, '[role=option][aria-selected=true]', 'backgroundColor');
      assert.notEqual(chosen, await colorOf(page, '[role=option][aria-selected=false]', 'backgroundColor'));
      await page.keyboard.press('Escape');
      await page.keyboard.press('Tab');
      assert.equal(await colorOf(page, ':focus-visible', 'outlineStyle'), 'solid');
      assert.notEqual(await colorOf(page, ':focus-visible', 'outlineColor'), ground);
    });

    it('has the focus after the global shortcut on any screen, and is copied the second time', async () => {
      const main = live(SHOP)();
      const page = await open(main);
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByRole('heading', { name: 'Settings' }).waitFor();
      // Also if it is not in view.
      await main.push('address:show', { key: 'shop', copies: true });
      await eventually(20_000, () => assert.equal(asked(main, 'tunnel:copy-url').length, 1));
      await page.keyboard.press('Control+,');
      await main.push('address:show', { key: 'shop', copies: false });
      await focused(page, 'copy-shop');
      assert.equal(asked(main, 'tunnel:copy-url').length, 1);
      await main.push('address:show', { key: 'shop', copies: true });
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      assert.equal(asked(main, 'tunnel:copy-url').length, 2);
    });
  });

  describe('the access panel', () => {
    it('applies a choice alone or with the link that is created, and moves the focus to that', async () => {
      const set: ScriptedHandlers['lock:set'] = () =>
        void main.show({ tunnels: [{ ...SHOP, lock: { kind: 'links' } }] });
      const main: ScriptedMain = scripted(
        { tunnels: [SHOP] },
        { 'lock:set': (...given) => set(...given), 'link:list': () => [] },
      )();
      const page = await open(main);
      await page.getByRole('button', { name: /^Who has access/ }).click();
      await page.getByRole('radio', { name: 'Only with a link' }).check();
      await page.getByRole('button', { name: 'Apply' }).click();
      await focused(page, 'link-note-shop');
      await main.show({ tunnels: [SHOP] });
      await page.getByRole('radio', { name: 'Only with a link' }).check();
      await page.getByRole('button', { name: 'Create and copy link' }).click();
      await page.getByRole('list', { name: 'Links to shop-demo' }).getByText('Copied').waitFor();
      const calls = main.calls
        .map(({ channel }) => channel)
        .filter((name) => /^(lock:set|link:create)/.test(name));
      assert.deepEqual(calls, ['lock:set', 'lock:set', 'link:create']);
    });

    it('loads its links again after a failure, and keeps the focus in the card', async () => {
      let fails = true;
      const main: ScriptedMain = scripted(
        { tunnels: [{ ...SHOP, lock: { kind: 'links' } }] },
        {
          'link:list': () => {
            if (fails) throw new Refusal({ code: 'unreachable', text: 'The relay does not respond.' });
            return [{ id: 'l', note: 'for Ann', expiresAt: NOW + HOUR }];
          },
        },
      )();
      const page = await open(main);
      await page.getByRole('button', { name: /^Who has access/ }).click();
      const problem = page.getByText('The relay does not respond.');
      await problem.waitFor();
      fails = false;
      await page.getByRole('button', { name: 'Try again' }).press('Enter');
      await page.getByRole('list', { name: 'Links to shop-demo' }).getByText('for Ann').waitFor();
      await problem.waitFor({ state: 'detached' });
      await page.locator('.card :focus').waitFor();
    });
  });

  describe('approval requests', () => {
    it('show who asks, are announced to screen readers, and are answered individually', async () => {
      const main = live(GUARDED)();
      const page = await open(main);
      await page.getByLabel('Port', { exact: true }).focus();
      await knocking(main, ANN);
      await page.getByText('Firefox on Linux is asking for access from 203.0.113.7').waitFor();
      // They do not move the focus.
      await focused(page, 'port');
      await page
        .getByRole('status')
        .getByText('Firefox on Linux is asking for access to shop-demo.')
        .waitFor();
      await knocking(main, ANN, BEN);
      await page.getByRole('button', { name: 'Deny curl, 2001:db8::7' }).click();
      await answers(main, 1);
      await knocking(main, ANN);
      await page.getByLabel('Duration of access for Firefox on Linux').selectOption('for today');
      await page.getByRole('button', { name: 'Approve Firefox on Linux, 203.0.113.7' }).click();
      assert.deepEqual(await answers(main, 2), [
        { channel: 'knock:refuse', payload: { key: 'shop', id: 'n2' } },
        { channel: 'knock:admit', payload: { key: 'shop', id: 'n1', ttl: '810m' } },
      ]);
      await knocking(main);
      await page.getByText('is asking for access from').waitFor({ state: 'detached' });
    });

    it('of agents name their hosts, and last until they are revoked', async () => {
      const main = live({ ...QUIET_SHOP, lock: { kind: 'agents' }, knocks: [CLAUDE] })();
      const page = await open(main);
      const row = page.getByRole('list', { name: 'Visitors waiting' }).getByRole('listitem');
      await row.getByText('An agent of claude.ai is asking for access from 203.0.113.7').waitFor();
      await row.getByText('Calls itself “VS Code”, returns to localhost').waitFor();
      assert.equal(await row.getByRole('combobox').count(), 0);
      await page.getByRole('button', { name: 'Approve An agent of claude.ai' }).click();
      assert.equal((await answers(main, 1))[0]?.channel, 'knock:admit');
    });

    it('of agents become rows, which the owner revokes', async () => {
      const main = live({ ...QUIET_SHOP, lock: { kind: 'agents' } })();
      const page = await open(main);
      await page.getByRole('button', { name: 'Who has access to shop-demo: Agents (MCP)' }).click();
      const rows = page
        .getByRole('list', { name: 'Agents that have access to shop-demo' })
        .getByRole('listitem');
      await rows
        .filter({ hasText: 'For ann.the-first@example.com' })
        .getByText('Approved 2 h ago, never used')
        .waitFor();
      await rows.getByRole('button', { name: 'Revoke the agent of vscode.dev' }).click();
      await page.getByRole('status').getByText('Revoked the agent of vscode.dev.').waitFor();
      assert.deepEqual(asked(main, 'agent:revoke'), [{ key: 'shop', id: 'a2' }]);
      assert.equal(await rows.count(), 2);
    });

    it('are reached from their notification, from any screen, and answered with the keyboard', async () => {
      const main = live({ ...GUARDED, knocks: [ANN, BEN] })();
      const page = await open(main);
      const keys = page.keyboard;
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByRole('heading', { name: 'Settings' }).waitFor();
      await main.push('tunnel:show', { key: 'shop' });
      await focusedName(page, /^Approve Firefox/);
      await keys.press('Enter');
      assert.deepEqual((await answers(main, 1))[0]?.payload, { key: 'shop', id: 'n1', ttl: '1h' });
      // When one is answered, the focus moves to the next one, and after the last one to a nearby element.
      await knocking(main, BEN);
      await focusedName(page, /^Approve curl/);
      await keys.press('Enter');
      await answers(main, 2);
      await knocking(main);
      await focused(page, 'lock-shop');
    });
  });

  describe('a double click', () => {
    itInChromium(COUNTED_BY_TIME, 'on Expose publishes one port', async () => {
      const main = creating(3000, 8080);
      const page = await open(main);
      await doubleClick(page, page.getByRole('button', { name: 'Expose' }), async () => {
        await page.locator('.card').waitFor();
        await page
          .locator('#port')
          .and(page.getByLabel('Port', { exact: true }))
          .waitFor();
      });
      assert.deepEqual(
        asked(main, 'tunnel:create').map((form) => (form as { port: number }).port),
        [3000],
      );
    });

    it('on Expose publishes one port, even if it is slow enough to be two clicks', async () => {
      const main = creating(3000, 8080);
      const page = await open(main);
      // The second click happens in the page as soon as the card appears: from outside, a busy machine might delay it.
      await page.evaluate(`
      new MutationObserver((_changes, observer) => {
        if (document.querySelector('.card') === null) return;
        observer.disconnect();
        document.querySelector('.create button[type=submit]').click();
        document.body.dataset.again = '';
      }).observe(document.body, { childList: true, subtree: true })
    `);
      await page.getByRole('button', { name: 'Expose' }).click();
      await page.locator('body[data-again]').waitFor();
      await page.evaluate(DRAWN);
      assert.equal(asked(main, 'tunnel:create').length, 1);
      // A port that is chosen explicitly is exposed.
      await page.getByLabel('Port', { exact: true }).fill('8080');
      await page.getByRole('button', { name: 'Expose' }).click();
      await page.evaluate(DRAWN);
      assert.equal(asked(main, 'tunnel:create').length, 2);
    });

    itInChromium(
      COUNTED_BY_TIME,
      'on Stop neither removes the stopped tunnel nor starts it again',
      async () => {
        const main = stopping();
        const page = await open(main);
        await doubleClick(page, page.getByRole('button', { name: /^Stop/ }), () =>
          page.getByRole('button', { name: /^Remove/ }).waitFor(),
        );
        assert.deepEqual(
          main.calls.map(({ channel }) => channel).filter((channel) => channel.startsWith('tunnel:')),
          ['tunnel:stop'],
        );
      },
    );

    it('on Replay repeats a request once, and so does a held key', async () => {
      const main = live(SHOP)();
      const page = await open(main);
      await openCheckout(page);
      const replay = page.getByRole('button', { name: 'Replay', exact: true });
      await doubleClick(page, replay, () => replay.and(page.locator(':focus')).waitFor());
      assert.equal(asked(main, 'log:replay').length, 1);
      await replay.focus();
      for (let repeats = 0; repeats < 5; repeats += 1) await page.keyboard.down('Enter');
      await page.keyboard.up('Enter');
      await page.evaluate(DRAWN);
      assert.equal(asked(main, 'log:replay').length, 2);
    });
  });

  describe('the hint while something is dragged over the window', () => {
    it('describes the effect of dropping, until the drag leaves the window or ends', async () => {
      const { page } = await openScene(scope, 'tunnels');
      await page.getByRole('main').waitFor();
      const words = page.getByText('Drop a folder to share it or to open the project in it');
      await drag(page, 'dragover', 'null');
      await words.waitFor();
      // To another part of the window.
      await drag(page, 'dragleave', 'document.body');
      await drag(page, 'dragleave', 'null');
      await words.waitFor({ state: 'detached' });
      await drag(page, 'dragover', 'null');
      await words.waitFor();
      await drag(page, 'drop', 'null');
      await words.waitFor({ state: 'detached' });
    });

    it('works from the first moment at which the window shows anything', async () => {
      const { page } = await openScene(scope, 'tunnels', { isOwn: true });
      await page.addInitScript(`new MutationObserver((_changes, observer) => {
      const main = document.querySelector('main, [role=main]');
      if (main === null) return;
      observer.disconnect();
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([], 'nothing'));
      main.dispatchEvent(new DragEvent('dragover', { bubbles: true, cancelable: true, dataTransfer }));
    }).observe(document, { childList: true, subtree: true });`);
      await page.reload();
      await page.getByText('Drop a folder to share it').waitFor();
    });
  });
});
