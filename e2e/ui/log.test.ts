/** The requests of a tunnel, recorded from real visitors: found, read, sent again, copied, exported and imported. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Har } from '../../desktop/client/inspector/har.ts';
import { eventually } from '../support/deadline.ts';
import { startHttpService } from '../support/services/listen.ts';
import { appScenarios, chooseFromPalette, chooseMore, chooseOfLog, expose } from './support/fixture.ts';
import { focused, reads, visit } from './support/visit.ts';

/** Waits until the log lists these addresses. */
async function lists(page: Page, found: RegExp): Promise<void> {
  await eventually(20_000, async () =>
    assert.match((await page.locator('.log .target').allInnerTexts()).join(), found),
  );
}

const entry = (path: string, text = '') => ({
  request: { method: 'POST', url: `https://elsewhere.example${path}`, headers: [], postData: { text } },
});

appScenarios('the request log', (fixture) => {
  /** Opens the log of a tunnel to a shop that counts its orders, after three requests. */
  async function openLog() {
    const asked: string[] = [];
    const shop = await startHttpService(fixture.scope, (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { authorization = '', 'x-test': test = '' } = request.headers;
        asked.push(`${request.method} ${request.url} ${authorization} ${String(test)} ${body}`);
        const isEdited = request.method === 'PUT';
        response.statusCode = isEdited ? 201 : request.url === '/missing' ? 404 : 200;
        response.setHeader('Content-Type', 'application/json').setHeader('X-Way', isEdited ? 'new' : 'old');
        const text = isEdited ? '<b>\u202enew' : 'old';
        response.end(JSON.stringify({ tries: 1, asked: asked.length, text }));
      });
    });
    const opened = await fixture.openSignedIn();
    const slug = await expose(opened.page, shop.port);
    const address = (await opened.app.tunnel()).url;
    await visit(`${address}/first?a=1`);
    await visit(`${address}/missing`);
    const headers = { authorization: 'Bearer s3cret' };
    const order = { method: 'POST', body: '{"mugs":2}', type: 'application/json', headers };
    await visit(`${address}/order?token=hush&q=caf%C3%A9+au+lait&q=%3Cimg%20src%3Dx%3E`, order);
    await opened.page.getByRole('button', { name: `All requests to ${slug}` }).click();
    await row(opened.page, /^POST \/order/).waitFor();
    return { ...opened, slug, address, asked };
  }

  it('is searched and filtered, stands still while paused, and remembers that, across restarts', async () => {
    const { page, address, slug, directory } = await openLog();
    const search = page.getByLabel('Search requests');
    await visit(`${address}/hook`, { method: 'POST', body: '{}', headers: { 'x-github-event': 'push' } });
    await row(page, /^POST GitHub \/hook 200/).waitFor();
    await page.getByRole('button', { name: 'Webhooks 1' }).click();
    await lists(page, /^GitHub \/hook$/);
    await page.getByRole('button', { name: 'Webhooks 1' }).click();
    for (const [words, found] of [
      ['x-GITHUB-event push', /^GitHub \/hook$/],
      ['mugs', /^\/order\?token=\[redacted\]&q=[^,]+$/],
      ['s3cret', /^$/],
      ['hush', /^$/],
    ] as const) {
      await search.fill(words);
      await lists(page, found);
    }
    await search.fill('');
    await page.getByRole('button', { name: 'Freeze' }).click();
    await visit(`${address}/late`);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    assert.equal(await row(page, 'GET /late').count(), 0);
    await page.getByRole('button', { name: '1 new' }).click();
    await row(page, 'GET /late 200').waitFor();

    await page.getByRole('button', { name: '4xx 1' }).click();
    await search.fill('miss');
    await eventually(20_000, () =>
      assert.match(readFileSync(join(directory, 'culvert.json'), 'utf8'), /"search": "miss"/),
    );
    const openAgain = async (again: Page): Promise<void> => {
      await again.getByRole('button', { name: `All requests to ${slug}` }).click();
      await again.getByRole('button', { name: '4xx 1', pressed: true }).waitFor();
      assert.equal(await again.getByLabel('Search requests').inputValue(), 'miss');
    };
    await page.reload();
    await openAgain(page);
    const { page: restarted } = await fixture.open(directory);
    await restarted.locator('.card').getByText('Online').waitFor();
    await visit(`${address}/missing`);
    await visit(`${address}/first`);
    await openAgain(restarted);
    await lists(restarted, /^\/missing$/);
  });

  it('has each request in full, which is sent again, copied, and exported with its secrets only once shown', async () => {
    const { page, app, slug, address, asked, directory } = await openLog();
    const exported = (): string[] => {
      const har = JSON.parse(readFileSync(join(directory, `${slug}.har`), 'utf8')) as Har;
      return har.log.entries.map(({ request }) => request.url.slice(address.length));
    };
    const saved = (words: string) => page.locator('.file-words', { hasText: words }).waitFor();
    await page.getByLabel('Search requests').fill('first');
    await chooseOfLog(page, 'Export as HAR');
    await saved(`Saved 1 request to ${join(directory, `${slug}.har`)}.`);
    assert.deepEqual(exported(), ['/first?a=1']);
    await page.getByLabel('Search requests').fill('');
    await row(page, /^POST \/order/).click();
    await reads(page.getByRole('region', { name: 'Response body' }), /"asked": 3/);
    const request = page.getByRole('region', { name: 'Request', exact: true });
    await page.getByRole('region', { name: 'Request body' }).getByText('"mugs": 2').waitFor();
    await request.getByRole('tab', { name: 'Query 3' }).click();
    const table = page.getByRole('table', { name: 'Query' });
    assert.deepEqual(await table.getByRole('cell').allInnerTexts(), [
      '[redacted]',
      'café au lait',
      '<img src=x>',
    ]);
    await request.getByRole('tab', { name: /^Headers/ }).click();
    await request.getByRole('cell', { name: 'application/json' }).waitFor();

    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied as a curl command, without secrets.').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await chooseMore(page, 'Export as HAR');
    await saved('without secrets');
    assert.match(exported().join(), /^\/order\?token=\[redacted\]&/);
    await chooseMore(page, 'Show secrets');
    await page.getByText('Bearer s3cret').waitFor();
    await page.getByRole('button', { name: /^Cop(y as curl|ied)$/ }).click();
    await eventually(20_000, async () => {
      const [hidden = '', shown = ''] = await app.copied();
      assert.match(hidden, /Bearer \[redacted\]/);
      assert.match(shown, /token=hush[\s\S]*Bearer s3cret/);
    });
    await chooseMore(page, 'Export as HAR');
    await page.locator('.file-words:not(:has-text("without"))').waitFor();
    assert.match(exported().join(), /^\/order\?token=hush&/);
    await chooseMore(page, 'Hide secrets');
    await page.getByText('Bearer s3cret').waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByRole('region', { name: 'Response body' }).getByText('"asked": 4').waitFor();
    // The button keeps the focus, to send it once more.
    await focused(page, 'replay-request');
    assert.equal(asked[3], asked[2]);
    const tries = page.getByRole('group', { name: 'Tries' }).getByRole('button');
    assert.equal(await tries.count(), 2);
    await tries.first().click();
    await page.getByRole('region', { name: 'Response body' }).getByText('"asked": 3').waitFor();
    assert.equal(await tries.first().and(page.locator(':focus[aria-pressed=true]')).count(), 1);
    // The log has one row for both, which shows the last one.
    await page.keyboard.press('Escape');
    await row(page, /^POST \/order.*2 tries: 200, 200$/).click();
    await page.getByRole('region', { name: 'Response body' }).getByText('"asked": 4').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await row(page, /^POST \/order/).count(), 1);
  });

  it('has an editor, which checks a request, sends it with secrets that the page never had, and compares the responses', async () => {
    const { page, asked } = await openLog();
    await row(page, /^POST \/order/).click();
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Body').waitFor();
    assert.doesNotMatch(await page.content(), /s3cret|hush/);
    const path = page.getByLabel('Path');
    const shown = '/order?token=[redacted]&q=caf%C3%A9+au+lait&q=%3Cimg%20src%3Dx%3E';
    const send = page.getByRole('button', { name: 'Send', exact: true });
    assert.equal(await path.inputValue(), shown);
    await path.fill('no path');
    const headers = page.getByLabel('Headers', { exact: true });
    const recorded = await headers.inputValue();
    await headers.fill(`${recorded}\nHost: x`);
    await send.click();
    await page.getByText('The path must begin with /').waitFor();
    await page.getByText(/^Line \d+: Culvert sets the header Host itself/).waitFor();
    assert.equal(await path.getAttribute('aria-invalid'), 'true');
    await focused(page, 'edit-target');
    assert.equal(asked.length, 3);

    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('button', { name: 'Edit and send' }).click();
    assert.equal(await path.inputValue(), 'no path', 'it is still there after a step back');
    await page.getByRole('button', { name: 'Reset' }).click();
    assert.equal(await path.inputValue(), shown);

    await page.getByLabel('Method').fill('PUT');
    await path.fill('/order?token=[redacted]&a=1');
    await headers.fill(`${recorded}\nX-Test: yes`);
    const body = page.getByLabel('Body');
    assert.equal(await body.inputValue(), '{\n  "mugs": 2\n}');
    await body.fill('{"event":"open"}');
    await page.getByRole('button', { name: 'Format' }).click();
    assert.equal(await body.inputValue(), '{\n  "event": "open"\n}');
    await body.fill('{"event":"open"}');
    await body.press('ControlOrMeta+Enter');
    await page.locator('.sent-result', { hasText: /^201 · \d+ m?s · [2-9] lines differ$/ }).waitFor();
    assert.equal(asked.at(-1), 'PUT /order?token=hush&a=1 Bearer s3cret yes {"event":"open"}');
    const answered = page.getByRole('region', { name: 'Headers: before and now' });
    await answered.locator('del', { hasText: 'X-Way: old' }).waitFor();
    await answered.locator('ins', { hasText: 'X-Way: new' }).waitFor();
    const answer = page.getByRole('region', { name: 'Body: before and now' });
    // What a service sends is shown as text, and cannot hide.
    await answer.locator('ins', { hasText: String.raw`"text": "<b>\u{202e}new"` }).waitFor();
    assert.equal(await answer.locator('del', { hasText: 'tries' }).count(), 0);
    await page.getByRole('button', { name: 'Show this request' }).click();
    await page.getByText('Replay. Show the original.').waitFor();
  });

  it('imports a curl command and a HAR, reports what it left out, and sends nothing by itself', async () => {
    const { page, app, slug, asked, directory } = await openLog();
    const before = (await app.tunnel()).pulse.length;
    asked.length = 0;
    const dialog = page.getByRole('dialog', { name: `Import into ${slug}` });
    await chooseFromPalette(page, `import ${slug}`);
    await dialog.getByLabel('curl command').fill('wget https://x.example');
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await dialog.getByRole('alert').waitFor();
    const entries = [entry('/a'), entry('/b', 'x'.repeat(300_000)), entry('/c')];
    writeFileSync(join(directory, 'import.har'), JSON.stringify({ log: { entries } }));
    await dialog.getByRole('button', { name: 'Choose a HAR file…' }).click();
    await dialog.getByText('2 requests were imported.').waitFor();
    await dialog.getByText('Request 2 was left out: The body can be at most 256 KiB').waitFor();
    await page.keyboard.press('Enter');
    await row(page, /POST imported\s*\/a not sent/).waitFor();
    await row(page, /\/c not sent/).waitFor();

    await chooseFromPalette(page, `import ${slug}`);
    await dialog.getByLabel('curl command').fill("curl -d 'a=1' https://elsewhere.example/hook");
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('This request has not been sent to your server yet.').waitFor();
    // It is no visitor.
    assert.equal((await app.tunnel()).pulse.length, before);
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Path').fill('/other');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('.sent-result', { hasText: /^200 · / }).waitFor();
    assert.deepEqual(asked, ['POST /other   a=1']);
  });
});

function row(page: Page, name: string | RegExp) {
  return page.getByRole('list', { name: 'Requests' }).getByRole('button', { name });
}
