/** Letters as commands, and the sheet that lists them. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { live, NOW, SHOP } from './gallery/scripted.ts';
import { assertReadable } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import type { ScriptedMain } from './support/scripted-main.ts';

describe('the keys of the window', () => {
  const scope = testScope();

  async function openLog(main: ScriptedMain): Promise<Page> {
    const page = await openScripted(scope, main, { now: NOW, reducedMotion: 'reduce' });
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    await page.locator('.log .row').first().waitFor();
    return page;
  }

  it('are listed by ?, except while a text is typed', async () => {
    const page = await openLog(live(SHOP)());
    await page.keyboard.press('?');
    const sheet = page.getByRole('dialog', { name: 'Keys of the window' });
    await sheet.getByText('Replay the request.').waitFor();
    await assertReadable(page, 'the sheet of keys');
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
});

function asked(main: ScriptedMain, channel: string): number {
  return main.calls.filter((call) => call.channel === channel).length;
}
