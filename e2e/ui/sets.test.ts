import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { Scope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { chooseMore, expose, appScenarios } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';
import { focused, focusedName, reads, visit } from './support/visit.ts';

appScenarios('saved requests', (fixture) => {
  /** A tunnel to a service that accepts orders with a token. Its log has an order and a payment that was refused. */
  async function openShop() {
    const asked: string[] = [];
    const service = new Scope();
    fixture.scope.defer(() => service.end());
    const held: { until: Promise<unknown> } = { until: Promise.resolve() };
    const shop = await startHttpService(
      service,
      (request, response) => {
        let body = '';
        request.on('data', (chunk: Buffer) => (body += chunk.toString()));
        request.on('end', () => {
          asked.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
          response.statusCode = request.url === '/pay' ? 402 : 201;
          void held.until.then(() => response.end());
        });
      },
      await closedPort(),
    );
    const { page, app, directory } = await fixture.openSignedIn();
    const slug = await expose(page, shop.port);
    const address = (await app.tunnel()).url;
    const headers = { authorization: 'Bearer mild-oak' };
    await visit(`${address}/order`, {
      method: 'POST',
      body: '{"mugs":2}',
      type: 'application/json',
      headers,
    });
    await visit(`${address}/pay`, { method: 'POST', body: '{"eur":9}', type: 'application/json' });
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    await row(page, /^POST \/pay/).waitFor();
    return { page, directory, slug, asked, service, held };
  }

  it('can all be sent the next day, with their secrets', async () => {
    const { page, directory, slug, asked } = await openShop();
    await keepInNew(page, /^POST \/order/, 'Orders');
    await reads(
      page.getByRole('complementary', { name: 'Recent changes' }),
      /Saved POST \/order in Orders\./,
    );
    await row(page, /^POST \/pay/).click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Save…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save POST /pay' });
    await dialog.getByLabel('Collection').selectOption({ label: 'Orders' });
    await assertReadable(page, 'the question where to keep a request');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    assertNowhere(directory, 'mild-oak');
    const before = asked.splice(0);

    const { page: tomorrow } = await fixture.open(directory);
    await tomorrow.getByText('Online').waitFor();
    await palette(tomorrow, `saved ${slug}`);
    await tomorrow.getByRole('button', { name: 'Send all Orders' }).click();
    await tomorrow
      .locator('.sender-words', { hasText: '2 requests were sent, and 1 got a 2xx response.' })
      .waitFor();
    assert.deepEqual(asked, before);
    await assertReadable(tomorrow, 'sets that were sent');
    await tomorrow.getByRole('button', { name: /^402: show the result of POST \/pay/ }).click();
    await tomorrow.getByRole('heading', { name: 'POST /pay' }).waitFor();
    await tomorrow.keyboard.press('Escape');
    await tomorrow.getByRole('button', { name: /^201: show the result of POST \/order/ }).waitFor();
  });

  it('are edited, sent individually, renamed and removed by keyboard, and restored', async () => {
    const { page, asked } = await openShop();
    await keepInNew(page, /^POST \/order/, 'Orders');
    await keepInNew(page, /^POST \/pay/, 'Payments');
    await page.getByRole('button', { name: 'Saved', exact: true }).press('Enter');
    await page.getByRole('button', { name: /^Orders 1 request/ }).press('Enter');
    asked.length = 0;
    const send = page.getByRole('button', { name: 'Send POST /order' });
    await send.press('Enter');
    await page.getByRole('button', { name: /^201: show/ }).waitFor();
    assert.deepEqual(asked, ['POST /order Bearer mild-oak {"mugs":2}']);
    await page.getByRole('button', { name: 'Edit POST /order' }).press('Enter');
    await page.getByLabel('Path').fill('/order?gift=1');
    await page.getByRole('button', { name: 'Send', exact: true }).press('Enter');
    await page.locator('.sent-result', { hasText: /^201 · / }).waitFor();
    assert.match(asked[1] ?? '', /^POST \/order\?gift=1 Bearer mild-oak/);
    await page.getByRole('heading', { name: /^Edit request/ }).press('Escape');

    await page.getByRole('button', { name: 'Rename Payments' }).press('Enter');
    await focusedName(page, /^Name of the collection$/, 'textbox');
    await page.keyboard.type('Orders');
    await page.keyboard.press('Enter');
    await page.getByText('A collection named Orders already exists').waitFor();
    await assertReadable(page, 'a name that is taken');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('Refunds');
    await page.keyboard.press('Enter');
    await focusedName(page, /^Rename Refunds$/);

    await page.getByRole('button', { name: 'Remove Refunds' }).press('Enter');
    await focusedName(page, /^Orders 1 request$/);
    await page.getByRole('button', { name: 'Undo: Removed the collection Refunds.' }).press('Enter');
    await page.getByRole('button', { name: /^Refunds 1 request/ }).waitFor();
    await page.getByRole('button', { name: /^Orders 1 request/ }).press('Enter');
    await page.getByRole('button', { name: 'Remove POST /order' }).press('Enter');
    await page.getByRole('button', { name: /^Orders 0 requests/ }).waitFor();
    await focusedName(page, /^Orders 0 requests$/);
  });

  it('are not sent when nothing listens, or after a stop', async () => {
    const { page, service, asked, held } = await openShop();
    await keepInNew(page, /^POST \/order/, 'Orders');
    await row(page, /^POST \/pay/).click();
    await chooseMore(page, 'Save…');
    const dialog = page.getByRole('dialog', { name: 'Save POST /pay' });
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Saved', exact: true }).click();
    asked.length = 0;
    const answer = Promise.withResolvers<void>();
    held.until = answer.promise;
    await page.getByRole('button', { name: 'Send all Orders' }).click();
    await eventually(20_000, () => assert.equal(asked.length, 1));
    await page.getByRole('button', { name: 'Stop Orders' }).press('Enter');
    await page.locator('.sender-words', { hasText: 'Stopped.' }).waitFor();
    await focusedName(page, /^Send all Orders$/);
    answer.resolve();
    await page.getByRole('button', { name: /^201: show the result of POST \/order/ }).waitFor();
    assert.equal(asked.length, 1);

    await service.end();
    await page.getByRole('button', { name: 'Send all Orders' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /^Nothing is listening on port/ })
      .waitFor();
    await focusedName(page, /^Send all Orders$/);
    assert.equal(asked.length, 1);
    assert.equal(await page.getByRole('button', { name: /show the result of/ }).count(), 0);
  });

  it('are beside the log in a wide window, which shows sent requests, and undo on the left restores them', async () => {
    const { page } = await openShop();
    await page.setViewportSize({ width: 1200, height: 800 });
    await keepInNew(page, /^POST \/order/, 'Orders');
    await page.getByRole('button', { name: 'Saved', exact: true }).click();
    await page.getByRole('heading', { name: 'Saved requests' }).waitFor();
    await page.getByRole('button', { name: 'Send all Orders' }).click();
    await page.getByRole('button', { name: /^201: show the result of POST \/order/ }).click();
    await page.getByRole('heading', { name: 'POST /order' }).waitFor();
    await row(page, /^POST\s*imported\s*\/order\s*201/).waitFor();
    assert.equal(await page.locator('.log li').count(), 3);
    await assertReadable(page, 'a request that was kept, beside the log');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Remove POST /order' }).click();
    await page.getByRole('button', { name: /^Orders 0 requests/ }).waitFor();
    await page.getByRole('button', { name: 'Undo: Removed POST /order from Orders.' }).click();
    await page.getByRole('button', { name: /^Orders 1 request$/ }).waitFor();
    await row(page, /^POST \/pay/).click();
    await page.getByRole('heading', { name: 'POST /pay' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.exchange').waitFor({ state: 'detached' });
  });

  it('ask for a name, and for another one if it is taken', async () => {
    const { page } = await openShop();
    await keepInNew(page, /^POST \/order/, 'Orders');
    await row(page, /^POST \/pay/).click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Save…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save POST /pay' });
    await dialog.getByLabel('Collection').selectOption({ label: 'New collection…' });
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('Enter a name for the collection.').waitFor();
    await focused(page, 'keep-name');
    await dialog.getByLabel('Name of the collection').fill('x'.repeat(61));
    await page.keyboard.press('Enter');
    await dialog.getByText('The name of a collection can have at most 60 characters.').waitFor();
    assert.equal(await dialog.getByLabel('Name of the collection').inputValue(), 'x'.repeat(61));
    await assertReadable(page, 'a name that is too long');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await eventually(20_000, () => focusedName(page, /^POST \/pay/));
  });
});

function row(page: Page, name: RegExp) {
  return page.locator('.log').getByRole('button', { name }).last();
}

async function keepInNew(page: Page, request: RegExp, name: string): Promise<void> {
  await row(page, request).click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Save…' }).click();
  const dialog = page.getByRole('dialog', { name: /^Save / });
  await dialog.locator('#keep-set, #keep-name').first().waitFor();
  const set = dialog.getByLabel('Collection', { exact: true });
  if ((await set.count()) > 0) await set.selectOption({ label: 'New collection…' });
  await dialog.getByLabel('Name of the collection').fill(name);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
}

async function palette(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /^Find a tunnel/ }).fill(words);
  await page.keyboard.press('Enter');
}

/** Asserts that no file of the app contains the text in plain. */
function assertNowhere(directory: string, text: string): void {
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const path = join(directory, name);
    if (!name.endsWith('.json')) continue;
    assert.ok(!readFileSync(path, 'utf8').includes(text), `${name} has it in plain`);
  }
}
