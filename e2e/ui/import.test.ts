/** Requests that are imported in the window. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { expose, appScenarios } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';

const entry = (path: string, body = '') => ({
  request: {
    method: 'POST',
    url: `https://elsewhere.example${path}`,
    headers: [],
    postData: { text: body },
  },
});

appScenarios('an import', (fixture) => {
  async function openLog() {
    const seen: string[] = [];
    const listener: RequestListener = (request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.end();
    };
    const service = await startHttpService(fixture.scope, listener, await closedPort());
    const { page, app, directory } = await fixture.openSignedIn();
    const slug = await expose(page, service.port);
    return { page, app, slug, seen, har: join(directory, 'import.har') };
  }

  it('of a curl command is not sent before it is edited and sent, and does not count as a visitor', async () => {
    const { page, app, slug, seen } = await openLog();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Find a tunnel/ }).fill(`import ${slug}`);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `Import into ${slug}` });
    await dialog.getByLabel('curl command').fill('wget https://x.example');
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await dialog.getByRole('alert').waitFor();
    await assertReadable(page, 'an import that is refused');
    await dialog.getByLabel('curl command').fill("curl -d 'a=1' https://elsewhere.example/hook");
    await dialog.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('This request has not been sent to your server yet.').waitFor();
    await assertReadable(page, 'an imported request');
    assert.deepEqual((await app.tunnel()).pulse, []);
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Path').fill('/other');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('.sent-result', { hasText: /^200 · / }).waitFor();
    assert.deepEqual(seen, ['POST /other']);
  });

  it('of a HAR reports what was left out, and opens the log', async () => {
    const { page, slug, har } = await openLog();
    await writeFile(
      har,
      JSON.stringify({ log: { entries: [entry('/a'), entry('/b', 'x'.repeat(70_000)), entry('/c')] } }),
    );
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Find a tunnel/ }).fill(`import ${slug}`);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `Import into ${slug}` });
    await dialog.getByRole('button', { name: 'Choose a HAR file…' }).click();
    await dialog.getByText('2 requests were imported.').waitFor();
    await dialog.getByText('Request 2 was left out: The body can be at most 64 KiB').waitFor();
    await assertReadable(page, 'what an import says');
    await page.keyboard.press('Enter');
    const log = page.locator('.log');
    await log.getByRole('button', { name: /POST imported\s*\/a not sent/ }).waitFor();
    await log.getByRole('button', { name: /\/c not sent/ }).waitFor();
    await assertReadable(page, 'a log with imported requests');
  });
});
