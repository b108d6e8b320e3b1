import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios } from './support/fixture.ts';
import { visit } from './support/visit.ts';

scenarios('the request log', (fixture) => {
  /** A tunnel to a shop that counts its orders, after three requests; its log is shown. */
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
    const { page, app } = await fixture.openSignedIn();
    const slug = await expose(page, shop.port);
    const address = (await app.tunnel()).url;
    await visit(`${address}/first?a=1`);
    await visit(`${address}/missing`);
    await visit(`${address}/order`, { method: 'POST', body: '{"mugs":2}', type: 'application/json' });
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    await row(page, 'POST /order 200').waitFor();
    return { page, app, address, orders };
  }

  it('lists requests, newest first, and takes in new ones', async () => {
    const { page, address } = await openLog();
    const names = await page.locator('.log .target').allInnerTexts();
    assert.deepEqual(names, ['/order', '/missing', '/first?a=1']);
    await visit(`${address}/late`);
    await row(page, 'GET /late 200').waitFor();
  });

  it('searches by path, method and status', async () => {
    const { page } = await openLog();
    await page.keyboard.press('/');
    await page.keyboard.type('missing');
    await eventually(20_000, async () => assert.equal(await row(page, /./).count(), 1));
    await page.getByLabel('Search requests').fill('POST');
    await eventually(20_000, async () =>
      assert.deepEqual(await page.locator('.log .target').allInnerTexts(), ['/order']),
    );
    await page.getByLabel('Search requests').fill('nothing like it');
    await page.getByText('No request matches').waitFor();
  });

  it('shows a request in full, with bodies laid out, as sent and as bytes', async () => {
    const { page } = await openLog();
    await row(page, 'POST /order 200').click();
    const request = page.getByRole('region', { name: 'Request', exact: true });
    await request.getByText('POST /order HTTP/1.1').waitFor();
    await request.getByText('application/json').waitFor();
    const body = page.getByRole('region', { name: 'Request body' });
    assert.equal(await body.innerText(), '{\n  "mugs": 2\n}');
    await request.getByRole('button', { name: 'As sent' }).click();
    assert.equal(await body.innerText(), '{"mugs":2}');
    await request.getByRole('button', { name: 'Hex' }).click();
    assert.match(await body.innerText(), /^000000 {2}7b 22 6d/);
    const response = page.getByRole('region', { name: 'Response body' });
    assert.match(await response.innerText(), /"orders": 1/);
  });

  it('sends a request again, and shows the result', async () => {
    const { page, orders } = await openLog();
    await row(page, 'POST /order 200').click();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('button', { name: 'Sent again, show it' }).click();
    await page.getByText('Repeats request 3.').waitFor();
    await page.getByRole('region', { name: 'Response body' }).getByText('"orders": 2').waitFor();
    assert.deepEqual(orders, ['{"mugs":2}', '{"mugs":2}']);
  });

  it('copies a request as a curl command', async () => {
    const { page, app } = await openLog();
    await row(page, 'POST /order 200').click();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await eventually(20_000, async () =>
      assert.match((await app.copied())[0] ?? '', /^curl [\s\S]*\/order[\s\S]*mugs/),
    );
  });

  it('can be emptied', async () => {
    const { page } = await openLog();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText('No request yet').waitFor();
  });

  it('gives the focus back to the request that was looked at', async () => {
    const { page } = await openLog();
    await row(page, 'GET /missing 404').click();
    await page.getByRole('heading', { name: 'GET /missing' }).waitFor();
    await page.keyboard.press('Escape');
    await row(page, 'GET /missing 404').and(page.locator(':focus')).waitFor();
  });
});

function row(page: Page, name: string | RegExp) {
  return page.getByRole('list', { name: 'Requests' }).getByRole('button', { name });
}
