/** Requests that are exported in the window. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Har } from '../../desktop/client/inspector/har.ts';
import { startHttpService } from '../support/services/listen.ts';
import { chooseMore, chooseOfLog, expose, appScenarios } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';
import { visit } from './support/visit.ts';

appScenarios('an export', (fixture) => {
  async function openLog() {
    const service = await startHttpService(fixture.scope, (_request, response) => response.end('hello'));
    const { page, app, directory } = await fixture.openSignedIn();
    await expose(page, service.port);
    const { url, slug } = await app.tunnel();
    await visit(`${url}/one?token=s3cret`);
    await visit(`${url}/two`);
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    const path = join(directory, `${slug}.har`);
    const exported = async (): Promise<string[]> => {
      const har = JSON.parse(await readFile(path, 'utf8')) as Har;
      return har.log.entries.map(({ request }) => request.url.slice(url.length));
    };
    return { page, path, exported };
  }

  it('is a HAR of the shown requests, without secrets, and its path is shown', async () => {
    const { page, path, exported } = await openLog();
    await chooseOfLog(page, 'Export as HAR');
    await page.locator('.file-words', { hasText: `Saved 2 requests to ${path}, without secrets.` }).waitFor();
    assert.deepEqual(await exported(), ['/one?token=[redacted]', '/two']);
    await assertReadable(page, 'a log that was exported');
    await page.getByLabel('Search requests').fill('two');
    await chooseOfLog(page, 'Export as HAR');
    await page.locator('.file-words', { hasText: `Saved 1 request to ${path}.` }).waitFor();
    assert.deepEqual(await exported(), ['/two']);
  });

  it('of one request contains its secrets once they are shown', async () => {
    const { page, exported } = await openLog();
    await page.getByRole('button', { name: /GET \/one/ }).click();
    await chooseMore(page, 'Export as HAR');
    await page.locator('.file-words', { hasText: 'without secrets' }).waitFor();
    assert.deepEqual(await exported(), ['/one?token=[redacted]']);
    await chooseMore(page, 'Show secrets');
    await chooseMore(page, 'Export as HAR');
    await page.locator('.file-words:not(:has-text("without"))').waitFor();
    assert.deepEqual(await exported(), ['/one?token=s3cret']);
  });
});
