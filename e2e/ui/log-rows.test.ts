import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { RequestSummary } from '../../desktop/client/inspector/records.ts';
import { exampleDetail, exampleSnapshot, exampleTunnel } from '../../desktop/testing/views.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import type { WindowOptions } from './support/app-window.ts';
import { assertReadable } from './support/readable.ts';
import { itInChromium, openScripted } from './support/running-app.ts';
import { ScriptedLog, ScriptedMain } from './support/scripted-main.ts';

const COUNT = 10_000;
/** Enough for what does not depend on their number. */
const FEW = 2000;
/** Rows that fit into the tallest window, and a few around them. */
const MOST_ROWS = 80;

describe('a log of up to ten thousand requests', () => {
  const scope = testScope();

  async function open(
    options: WindowOptions = {},
    count = FEW,
    from?: (id: number) => RequestSummary['from'],
  ) {
    const log = new ScriptedLog();
    log.add(count, (id) => ({
      status: id % 10 === 0 ? 500 : 200,
      durationMs: id === count ? undefined : 12,
      from: from?.(id),
    }));
    const tunnel = () => exampleTunnel({ log: log.point, recent: log.recent, requests: log.point.revision });
    const main = new ScriptedMain(exampleSnapshot({ tunnels: [tunnel()] }), {
      'log:changes': ({ since }) => log.update(since),
      'log:detail': ({ id }) => exampleDetail({ id, target: `/${id}` }),
    });
    const page = await openScripted(scope, main, options);
    await page.getByRole('button', { name: 'All requests to quiet-heron' }).click();
    await page.locator(`.log li[aria-posinset="1"][aria-setsize="${count}"]`).waitFor();
    const come = async (more: number): Promise<void> => {
      log.add(more, (id) => ({ from: from?.(id) }));
      await main.show({ tunnels: [tunnel()] });
    };
    return { page, come };
  }

  it('has few rows in the page, each in its position, wherever it is scrolled to', async () => {
    const { page } = await open({}, COUNT);
    await page.getByRole('main').hover();
    for (const [by, place] of [
      [0, 1],
      [100_000, 3340],
      [1_000_000, COUNT],
      [-2_000_000, 1],
    ] as const) {
      await page.mouse.wheel(0, by);
      await page.locator(`.log li[aria-posinset="${place}"]`).waitFor({ state: 'attached' });
      assert.ok((await page.locator('.log li').count()) <= MOST_ROWS);
    }
  });

  itInChromium('it has no heap snapshot', 'keeps no request in memory that was removed from it', async () => {
    const { page, come } = await open({}, COUNT);
    // The prepared search must not keep the requests of the previous one.
    await page.getByLabel('Search requests').fill('/');
    await come(COUNT);
    await page
      .locator('.log li[aria-posinset="1"]')
      .getByText(`/${2 * COUNT}`, { exact: true })
      .waitFor();
    await eventually(60_000, async () => assert.ok((await requestsInMemory(page)) < 1.1 * COUNT));
  });

  it('supports the keys of a list, and is a single stop of Tab', async () => {
    const { page } = await open();
    const { keyboard: keys } = page;
    await keys.press('ArrowDown');
    await isAt(page, FEW);
    await keys.press('End');
    await isAt(page, 1);
    await keys.press('k');
    await isAt(page, 2);
    // Also from a button above the list, which needs no arrow keys.
    await page.getByRole('button', { name: 'Freeze' }).focus();
    await keys.press('Home');
    await isAt(page, FEW);
    await keys.press('j');
    await isAt(page, FEW - 1);
    await keys.press('PageDown');
    const paged = await page.evaluate<number>(FOCUSED);
    assert.ok(paged < FEW - 5 && paged > FEW - 40, `${paged}`);
    await assertReadable(page, 'scrolled');
    await keys.press('PageUp');
    await isAt(page, FEW - 1);
    await keys.press('Tab');
    assert.equal(await page.locator('.log :focus').count(), 0);
    await keys.press('Shift+Tab');
    await isAt(page, FEW - 1);
  });

  it('keeps the scroll position when new requests arrive, and shows them at its top', async () => {
    const { page, come } = await open();
    await come(3);
    await page
      .locator(`#request-k-${FEW + 3}`)
      .and(page.locator(':visible'))
      .waitFor();
    await page.getByRole('main').hover();
    await page.mouse.wheel(0, 30_011);
    const row = page.locator('.log li[aria-posinset="1010"] .row');
    await row.waitFor();
    const before = await rested(row);
    const id = await row.getAttribute('id');
    await come(57);
    await page.locator(`.log li[aria-posinset="1067"] #${id}`).waitFor();
    assert.deepEqual(await rested(page.locator(`#${id}`)), before);
  });

  it('has a second line where the visitor changes, without gaps, also while others come', async () => {
    // Two requests of one device, and then two of the other.
    const agents = ['curl/8.1', 'Mozilla/5.0 (Windows NT 10.0) Firefox/140.0'];
    const of = (id: number) => ({
      address: `203.0.113.${(id % 4) >> 1}`,
      agent: agents[(id % 4) >> 1] ?? '',
    });
    const { page, come } = await open({}, FEW, of);
    await page.getByRole('button', { name: /^GET .2000 500.*curl, 203.0.113.0$/ }).waitFor();
    await page.getByRole('button', { name: /^GET .1999 .*Firefox on Windows, 203.0.113.1$/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^GET .1998 .*Windows/ }).count(), 0);
    await page.getByRole('main').hover();
    await page.mouse.wheel(0, 30_011);
    const row = page.locator('.log li[aria-posinset="850"] .row');
    await row.waitFor();
    assert.deepEqual(await page.evaluate(GAPS), []);
    const before = await rested(row);
    const id = await row.getAttribute('id');
    await come(5);
    await page.locator(`.log li[aria-posinset="855"] #${id}`).waitFor();
    assert.deepEqual(await rested(page.locator(`#${id}`)), before);
    assert.deepEqual(await page.evaluate(GAPS), []);
    await page.mouse.wheel(0, 1_000_000);
    const last = page.locator('.log li').last();
    await last.and(page.locator(`[aria-posinset="${FEW + 5}"]`)).waitFor();
    const ends = await page.evaluate<number>(ENDS);
    assert.equal(ends, 0);
  });

  it('keeps the focus in its row, even out of view, and continues from there', async () => {
    const { page, come } = await open();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await isAt(page, FEW - 1);
    await page.getByRole('main').hover();
    await page.mouse.wheel(0, 30_000);
    await page.locator('.log li[aria-posinset="1010"]').waitFor();
    await come(2);
    await page.locator(`.log li[aria-posinset="4"] #request-k-${FEW - 1}`).waitFor({ state: 'attached' });
    await isAt(page, FEW - 1);
    await page.keyboard.press('ArrowDown');
    await isAt(page, FEW - 2);
    assert.equal(await page.evaluate<boolean>(IN_VIEW), true);
  });

  it('moves the focus to a neighbour of a row that is filtered out', async () => {
    const { page } = await open();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await isAt(page, FEW - 1);
    await page.evaluate(
      `[...document.querySelectorAll('.filter-chip')].find((chip) => /5xx/.test(chip.textContent)).click()`,
    );
    await isAt(page, FEW - 10);
  });

  it('returns to the request that was open, however far down', async () => {
    const { page } = await open();
    await page.keyboard.press('End');
    await page.keyboard.press('k');
    await isAt(page, 2);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'GET /2', exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await isAt(page, 2);
    assert.equal(await page.evaluate<boolean>(IN_VIEW), true);
  });

  it('can be searched beyond the rendered rows, also with Ctrl+F', async () => {
    const { page } = await open();
    await page.keyboard.press('Control+f');
    await page.keyboard.type('/1321');
    await eventually(20_000, async () => assert.equal(await page.locator('.log li').count(), 1));
    await page.keyboard.press('ArrowDown');
    await isAt(page, 1321);
  });

  it('animates rows whose response is still arriving, unless reduced motion is preferred', async () => {
    for (const [reducedMotion, name] of [
      ['no-preference', 'pulse'],
      ['reduce', 'none'],
    ] as const) {
      const { page } = await open({ reducedMotion }, 3);
      const live = page.getByRole('button', { name: 'GET /3 200 live' });
      await live.waitFor();
      const shown = await page.evaluate<string>(PULSE);
      assert.equal(shown, name);
    }
  });
});

/** Heights of gaps between rows that follow each other. */
const GAPS = `[...document.querySelectorAll('.log li')]
  .filter((li) => li.nextElementSibling?.ariaPosInSet === String(Number(li.ariaPosInSet) + 1))
  .map((li) => li.nextElementSibling.getBoundingClientRect().top - li.getBoundingClientRect().bottom)
  // Far down, numbers of 32 bits are exact to a hundredth at best.
  .filter((gap) => Math.abs(gap) > 0.01)`;
/** px between the end of the last row and that of the list. */
const ENDS = `document.querySelector('.log').getBoundingClientRect().bottom -
  [...document.querySelectorAll('.log li')].at(-1).getBoundingClientRect().bottom`;
/** The number of the request whose row has the focus. */
const FOCUSED = `Number(document.activeElement.id.replace('request-k-', ''))`;
/** The animation of a row that is live. */
const PULSE = `getComputedStyle(document.querySelector('.row-live .took'), '::before').animationName`;
/** Whether the focused element is entirely in view. */
const IN_VIEW = `(() => {
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
})()`;

async function isAt(page: Page, id: number): Promise<void> {
  await page.locator(`#request-k-${id}`).and(page.locator(':focus')).waitFor();
}

/** Where an element is once it no longer moves: smooth scrolling may take several steps. */
async function rested(element: Locator): ReturnType<Locator['boundingBox']> {
  let last: Awaited<ReturnType<Locator['boundingBox']>> | undefined;
  return await eventually(20_000, async () => {
    const before = last;
    last = await element.boundingBox();
    assert.deepEqual(last, before);
    return last;
  });
}

/** Requests that the page holds anywhere, after a garbage collection. */
async function requestsInMemory(page: Page): Promise<number> {
  const tab = await page.context().newCDPSession(page);
  try {
    await tab.send('HeapProfiler.collectGarbage');
    const { result: all } = await tab.send('Runtime.evaluate', { expression: 'Object.prototype' });
    const { objects } = await tab.send('Runtime.queryObjects', { prototypeObjectId: all.objectId ?? '' });
    const { result } = await tab.send('Runtime.callFunctionOn', {
      objectId: objects.objectId ?? '',
      functionDeclaration: `function () { return this.filter((object) => Object.hasOwn(object, 'startedAt')).length; }`,
      returnByValue: true,
    });
    return Number(result.value);
  } finally {
    await tab.detach();
  }
}
