/** Requests that are edited in the window and sent again, to a real relay and a real service. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import type { Page } from 'playwright-core';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios } from './support/fixture.ts';
import { focused, visit } from './support/visit.ts';

interface Seen {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly test: string | string[] | undefined;
  readonly body: string;
}

const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true }).click();

scenarios('an edited request', (fixture) => {
  /** Opens the editor on a webhook that the service has refused with 500. */
  async function openEdit() {
    const seen: Seen[] = [];
    const listener: RequestListener = (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { authorization, 'x-test': test } = request.headers;
        seen.push({
          line: `${request.method} ${request.url}`,
          authorization,
          test,
          body: Buffer.concat(chunks).toString(),
        });
        const isRight = request.method === 'PUT';
        response.writeHead(isRight ? 201 : 500, {
          'X-Way': isRight ? 'new' : 'old',
          'Content-Type': 'application/json',
        });
        response.end(JSON.stringify({ tries: 1, right: isRight, text: isRight ? '<b>\u202enew' : 'old' }));
      });
    };
    const service = await startHttpService(fixture.scope, listener);
    const { page, app } = await fixture.openSignedIn();
    await expose(page, service.port);
    const address = (await app.tunnel()).url;
    await visit(`${address}/hook?token=s3cret`, {
      method: 'POST',
      headers: { authorization: 'Bearer s3cret' },
      body: '{"event":"paid"}',
    });
    await page.getByRole('button', { name: /POST \/hook/ }).click();
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Body').waitFor();
    return { page, seen };
  }

  it('is checked, sent with the secrets that the page never had, and compared with the first response', async () => {
    const { page, seen } = await openEdit();
    assert.doesNotMatch(await page.content(), /s3cret/);
    const path = page.getByLabel('Path');
    assert.equal(await path.inputValue(), '/hook?token=[redacted]');
    await path.fill('no path');
    await page.getByRole('button', { name: 'Add a header' }).click();
    const header = page.getByRole('textbox', { name: /^Name of header \d+$/ }).last();
    await header.fill('Host');
    await send(page);
    await page.getByText('The path must begin with /').waitFor();
    await page.getByText('Culvert sets the header Host itself').waitFor();
    assert.equal(await path.getAttribute('aria-invalid'), 'true');
    await focused(page, 'edit-target');
    assert.equal(seen.length, 1);

    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('button', { name: 'Edit and send' }).click();
    assert.equal(await path.inputValue(), 'no path', 'it is still there after a step back');
    await page.getByRole('button', { name: 'Reset' }).click();
    assert.equal(await path.inputValue(), '/hook?token=[redacted]');

    await page.getByLabel('Method').fill('PUT');
    await path.fill('/order?token=[redacted]&a=1');
    await page.getByRole('button', { name: 'Add a header' }).click();
    await header.fill('X-Test');
    await page.getByLabel('Value of X-Test').fill('yes');
    await page.getByLabel('Body').fill('{"event":"open"}');
    await send(page);
    await page.locator('.sent-result', { hasText: /^201 · \d+ m?s · [2-9] lines differ$/ }).waitFor();
    assert.deepEqual(seen.at(-1), {
      line: 'PUT /order?token=s3cret&a=1',
      authorization: 'Bearer s3cret',
      test: 'yes',
      body: '{"event":"open"}',
    });
    const headers = page.getByRole('region', { name: 'Headers: before and now' });
    await headers.locator('del', { hasText: 'X-Way: old' }).waitFor();
    await headers.locator('ins', { hasText: 'X-Way: new' }).waitFor();
    const body = page.getByRole('region', { name: 'Body: before and now' });
    // What a service sends is shown as text, and cannot hide.
    await body.locator('ins', { hasText: String.raw`"text": "<b>\u{202e}new"` }).waitFor();
    assert.equal(await body.locator('del', { hasText: 'tries' }).count(), 0);
    await page.getByRole('button', { name: 'Show request 2' }).click();
    await page.getByText('Replay of request 1.').waitFor();
  });
});
