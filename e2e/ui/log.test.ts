import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { startHttpService } from '../support/services/listen.ts';
import { chooseMore, showRequest, expose, appScenarios } from './support/fixture.ts';
import { assertReadable, colorOf } from './support/readable.ts';
import { focused, reads, visit } from './support/visit.ts';

appScenarios('the request log', (fixture) => {
  /** Opens the log of a tunnel to a shop that counts its orders, after three requests. */
  async function openLog() {
    const orders: string[] = [];
    const shop = await startHttpService(fixture.scope, (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        if (request.method === 'POST') orders.push(body);
        response.statusCode = request.url === '/missing' ? 404 : 200;
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ path: request.url, orders: orders.length }));
      });
    });
    const { page, app, directory } = await fixture.openSignedIn();
    const slug = await expose(page, shop.port);
    const address = (await app.tunnel()).url;
    await visit(`${address}/first?a=1`);
    await visit(`${address}/missing`);
    await visit(`${address}/order`, { method: 'POST', body: '{"mugs":2}', type: 'application/json' });
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    await row(page, 'POST /order 200').waitFor();
    return { page, app, address, orders, directory };
  }

  it('searches headers and bodies, but not the values of secrets', async () => {
    const { page, address } = await openLog();
    await visit(`${address}/login?token=s3cretword`, {
      method: 'POST',
      body: 'name=ann',
      type: 'text/x-form',
    });
    await row(page, 'POST /login').waitFor();
    const targets = page.locator('.log .target');
    for (const [words, found] of [
      ['mugs', ['/order']],
      ['text/x-form NAME=ann', ['/login?token=[redacted]']],
      ['s3cretword', []],
    ] as const) {
      await page.getByLabel('Search requests').fill(words);
      await eventually(20_000, async () => assert.deepEqual(await targets.allInnerTexts(), found));
    }
  });

  it('shows a request in full, with bodies as a tree, formatted, raw and as bytes', async () => {
    const { page } = await openLog();
    await row(page, 'POST /order 200').click();
    await reads(page.getByRole('region', { name: 'Response body' }), /"orders": 1/);
    const request = await showRequest(page);
    await request.getByText('POST /order HTTP/1.1').waitFor();
    await request.getByRole('cell', { name: 'application/json' }).waitFor();
    const body = page.getByRole('region', { name: 'Request body' });
    await body.getByText('"mugs": 2').waitFor();
    await request.getByRole('button', { name: 'Pretty' }).click();
    await reads(body, /^\{\n {2}"mugs": 2\n\}$/);
    await request.getByRole('button', { name: 'Text' }).click();
    await reads(body, /^\{"mugs":2\}$/);
    await request.getByRole('button', { name: 'Hex' }).click();
    await reads(body, /^000000 {2}7b 22 6d/);
  });

  it('shows the parameters of an address decoded, and executes none of them', async () => {
    const { page, address } = await openLog();
    await visit(`${address}/find?q=caf%C3%A9+au+lait&q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E`);
    await row(page, /^GET \/find/).click();
    await showRequest(page);
    const table = page.getByRole('table', { name: 'Parameters' });
    await table.waitFor();
    assert.deepEqual(await table.getByRole('cell').allInnerTexts(), [
      'café au lait',
      '<img src=x onerror=alert(1)>',
    ]);
    assert.equal(await page.locator('img').count(), 0);
    await assertReadable(page, 'parameters');
  });

  it('sends a request again, and shows the result', async () => {
    const { page, orders } = await openLog();
    await row(page, 'POST /order 200').click();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByRole('region', { name: 'Response body' }).getByText('"orders": 2').waitFor();
    // The button keeps the focus, to send it once more.
    await focused(page, 'replay-request');
    await page.getByRole('button', { name: 'Replay of request 3.' }).click();
    await page.getByRole('region', { name: 'Response body' }).getByText('"orders": 1').waitFor();
    assert.deepEqual(orders, ['{"mugs":2}', '{"mugs":2}']);
  });

  it('offers no replay of a request whose body was not kept, by a button that looks disabled', async () => {
    const { page, address } = await openLog();
    await visit(`${address}/large`, { method: 'POST', body: 'x'.repeat(300_000) });
    await row(page, 'POST /large 200').click();
    await page.getByText("Only the start of this request's body was recorded").waitFor();
    assert.equal(await page.getByRole('button', { name: 'Replay', exact: true }).isDisabled(), true);
    const background = (selector: string) => colorOf(page, selector, 'backgroundColor');
    assert.equal(await background('#replay-request'), await background('#edit-request'));
  });

  it('copies a request without its secrets, with a notice, and with them once they are shown', async () => {
    const { page, app, address } = await openLog();
    await visit(`${address}/secret?token=hush`, { headers: { authorization: 'Bearer s3cret' } });
    await row(page, 'GET /secret').click();
    await page.getByText('2 secrets are left out of copies and exports').waitFor();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await chooseMore(page, 'Show secrets');
    await showRequest(page);
    await page.getByText('Bearer s3cret').waitFor();
    await page.getByRole('button', { name: /^Cop(y as curl|ied)$/ }).click();
    await eventually(20_000, async () => {
      const [hidden = '', shown = ''] = await app.copied();
      assert.match(hidden, /Bearer \[redacted\]/);
      assert.match(shown, /token=hush[\s\S]*Bearer s3cret/);
    });
    await chooseMore(page, 'Hide secrets');
    await page.getByText('Bearer s3cret').waitFor({ state: 'detached' });
  });

  it('remembers the part and the search of a tunnel, across reloads and restarts', async () => {
    const { page, app, address, directory } = await openLog();
    const { slug } = await app.tunnel();
    await page.getByRole('button', { name: 'Errors 1' }).click();
    await page.getByLabel('Search requests').fill('miss');
    await eventually(20_000, () => {
      const file = readFileSync(join(directory, 'culvert.json'), 'utf8');
      assert.match(file, /"search": "miss"/);
      return Promise.resolve();
    });
    const openAgain = async (again: Page): Promise<void> => {
      await again.getByRole('button', { name: `All requests to ${slug}` }).click();
      await again.getByRole('button', { name: 'Errors 1', pressed: true }).waitFor();
      assert.equal(await again.getByLabel('Search requests').inputValue(), 'miss');
    };
    await page.reload();
    await openAgain(page);

    const { page: restarted } = await fixture.open(directory);
    await restarted.locator('.card').getByText('Online').waitFor();
    await visit(`${address}/missing`);
    await visit(`${address}/first`);
    await openAgain(restarted);
    await eventually(20_000, async () =>
      assert.deepEqual(await restarted.locator('.log .target').allInnerTexts(), ['/missing']),
    );
  });

  it('shows who sent a webhook, and can filter for webhooks', async () => {
    const { page, address } = await openLog();
    await visit(`${address}/hook`, { method: 'POST', body: '{}', headers: { 'x-github-event': 'push' } });
    await row(page, /^POST GitHub \/hook 200/).waitFor();
    await page.getByRole('button', { name: 'Webhooks 1' }).click();
    await eventually(20_000, async () => assert.equal(await row(page, /./).count(), 1));
  });

  it('stands still while it is paused, and counts new requests', async () => {
    const { page, address } = await openLog();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await visit(`${address}/late`);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    assert.equal(await row(page, 'GET /late').count(), 0);
    await page.getByRole('button', { name: '1 new' }).click();
    await row(page, 'GET /late 200').waitFor();
  });

  it('clears the search at the first Escape, and closes at the second', async () => {
    const { page } = await openLog();
    await page.keyboard.press('/');
    await page.keyboard.type('missing');
    await eventually(20_000, async () => assert.equal(await row(page, /./).count(), 1));
    await page.keyboard.press('Escape');
    await eventually(20_000, async () => assert.equal(await row(page, /./).count(), 3));
    assert.equal(await page.getByLabel('Search requests').inputValue(), '');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Expose' }).waitFor();
  });
});

function row(page: Page, name: string | RegExp) {
  return page.getByRole('list', { name: 'Requests' }).getByRole('button', { name });
}
