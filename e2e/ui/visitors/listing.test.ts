/** What visitors of a shared folder see in a browser (docs/guides/folders.md). */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { spawnCulvert, temporaryDirectory } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { sharedBrowser, sharedRelay } from '../support/running-app.ts';
import { assertPageReadable, openAddress } from '../support/readable.ts';

describe('a shared folder in a browser', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let urls: readonly string[];

  before(async function () {
    const folder = join(temporaryDirectory(suite), 'public');
    mkdirSync(join(folder, 'pics', 'of the sea'), { recursive: true });
    writeFileSync(join(folder, 'pics', 'photo\u202Egpj.exe'), '');
    writeFileSync(join(folder, 'pics', 'new\nline <script>alert(1)<script>'), '');
    writeFileSync(join(folder, 'pics', `${'W'.repeat(251)}.txt`), '');
    writeFileSync(join(folder, 'café.txt'), 'é');
    writeFileSync(join(folder, 'readme.md'), 'read');
    writeFileSync(join(folder, 'report.pdf'), Buffer.alloc(30_000));
    const [relay, shared] = await Promise.all([sharedRelay(), sharedBrowser()]);
    browser = shared;
    const child = spawnCulvert(suite, ['share', folder, '--json'], {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: relay.bootstrapKey,
    });
    const { tunnel } = await child.line((line) => JSON.parse(line) as { tunnel: Tunnel });
    urls = [`${tunnel.urls.subdomain}/`, `${tunnel.urls.path}/`];
  });

  it('is readable in every view and width, self-contained, and without a script', async () => {
    for (const url of urls)
      for (const place of ['', 'pics/', 'pics/of%20the%20sea/', 'nothing']) {
        const { page, requests, errors } = await openAddress(scope, browser, url + place);
        assert.deepEqual(requests, [new URL(url + place).href]);
        assert.deepEqual(
          errors.filter((error) => !error.includes('a status of 404')),
          [],
        );
        await assertPageReadable(page);
      }
  });

  it('names the share, and shows size and day of each file', async () => {
    const { page } = await openAddress(scope, browser, urls[0] ?? '');
    assert.equal(await page.title(), 'public');
    assert.equal(await page.getByRole('heading').innerText(), 'public 4 items');
    const rows = await page.getByRole('listitem').allInnerTexts();
    const facts = ['4 items', '2 B', '4 B', '29.3 KiB'];
    ['pics', 'café.txt', 'readme.md', 'report.pdf'].forEach((name, index) => {
      assert.match(rows[index] ?? '', new RegExp(`^${name}\\s+${facts[index] ?? ''}\\s+\\d+ [A-Z][a-z]+`));
    });
  });

  it('links to each folder and file, to the folders above, and from a wrong address to the folder', async () => {
    for (const url of urls) {
      const { page } = await openAddress(scope, browser, url);
      await page.getByRole('link', { name: 'pics' }).click();
      await page.getByRole('link', { name: 'of the sea' }).click();
      await page.getByText('This folder is empty.').waitFor();
      await page.getByRole('link', { name: 'pics' }).click();
      await page.getByRole('heading', { name: 'public / pics' }).waitFor();
      await page.getByRole('link', { name: 'public' }).click();
      await page.getByRole('link', { name: 'café.txt' }).click();
      await page.getByText('é', { exact: true }).waitFor();
      await page.goto(`${url}pics/of%20the%20sea/nothing/at/all?x=/`);
      await page.getByRole('link', { name: 'Open the shared folder' }).click();
      await page.getByRole('heading', { name: 'public' }).waitFor();
      assert.equal(page.url(), url);
    }
  });

  it('shows hostile names as text', async () => {
    const { page } = await openAddress(scope, browser, `${urls[0] ?? ''}pics/`);
    const names = await page.getByRole('list').getByRole('link').allInnerTexts();
    assert.deepEqual(names, [
      'of the sea',
      String.raw`new\x0aline <script>alert(1)<script>`,
      String.raw`photo\u{202e}gpj.exe`,
      `${'W'.repeat(251)}.txt`,
    ]);
  });
});
