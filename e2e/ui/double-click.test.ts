import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { exampleSnapshot, exampleTunnel } from '../../desktop/testing/views.ts';
import { testScope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW } from './gallery/scripted.ts';
import { openScripted } from './support/running-app.ts';
import { ScriptedMain } from './support/scripted-main.ts';

const STOPPED = { name: 'ended', reason: 'stopped', why: 'You stopped the tunnel.' } as const;

describe('a double click', () => {
  const scope = testScope();

  async function open(main: ScriptedMain): Promise<Page> {
    return await openScripted(scope, main, { now: NOW });
  }

  it('on Expose publishes one port', async () => {
    const main = twoPorts();
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
    const main = twoPorts();
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
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    assert.equal(asked(main, 'tunnel:create').length, 1);
    // A port that is chosen explicitly is exposed.
    await page.getByLabel('Port', { exact: true }).fill('8080');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    assert.equal(asked(main, 'tunnel:create').length, 2);
  });

  it('on Stop neither removes the stopped tunnel nor starts it again', async () => {
    const tunnel = exampleTunnel({ expiresAt: NOW + 3_600_000 });
    const main: ScriptedMain = new ScriptedMain(exampleSnapshot({ tunnels: [tunnel] }), {
      'tunnel:stop': () => void main.show({ tunnels: [{ ...tunnel, status: STOPPED }] }),
    });
    const page = await open(main);
    await doubleClick(page, page.getByRole('button', { name: /^Stop/ }), () =>
      page.getByRole('button', { name: /^Remove/ }).waitFor(),
    );
    assert.deepEqual(
      main.calls.map(({ channel }) => channel),
      ['tunnel:stop'],
    );
  });

  it('on Replay repeats a request once, and so does a held key', async () => {
    const main = SCENES.find(({ name }) => name === 'request')?.main();
    assert.ok(main);
    const page = await open(main);
    await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
    const replay = page.getByRole('button', { name: 'Replay', exact: true });
    await doubleClick(page, replay, () => replay.and(page.locator(':focus')).waitFor());
    assert.equal(asked(main, 'log:replay').length, 1);
    await replay.focus();
    for (let repeats = 0; repeats < 5; repeats += 1) await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    assert.equal(asked(main, 'log:replay').length, 2);
  });
});

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
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
}

function asked(main: ScriptedMain, channel: string): readonly unknown[] {
  return main.calls.filter((call) => call.channel === channel).map(({ payload }) => payload);
}

/** Two suggested ports, of which nobody chose the second. */
function twoPorts(): ScriptedMain {
  const main: ScriptedMain = new ScriptedMain(
    exampleSnapshot({
      ports: [3000, 8080].map((port) => ({ port, process: 'node', framework: undefined })),
    }),
    {
      'tunnel:create': ({ port }) => {
        void main.show({ tunnels: [exampleTunnel({ localPort: port, expiresAt: NOW + 3_600_000 })] });
        return { key: 'k' };
      },
    },
  );
  return main;
}
