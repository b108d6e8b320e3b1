import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../support/accounts.ts';
import { newApiKey } from '../support/programs.ts';
import { closedPort, startHttpService, startRawService } from '../support/services/listen.ts';
import { appScenarios, signIn } from './support/fixture.ts';
import { reads } from './support/visit.ts';

appScenarios('signing in', (fixture) => {
  it('stores the key encrypted, never in the page, and is signed in after a restart', async () => {
    const { page, account, directory } = await fixture.openSignedIn();
    assert.equal((await page.content()).includes(account.key), false);
    for (const file of ['culvert.json', 'key.json']) {
      assert.equal(readFileSync(join(directory, file), 'utf8').includes(account.key), false, file);
    }
    const again = await fixture.open(directory);
    await again.page.getByText(`${account.name} · Dev plan`).waitFor();
  });

  it('keeps the key only in memory when asked to', async () => {
    const account = await createAccount(fixture.relay);
    const { page, directory } = await fixture.open();
    await page.getByLabel('Until Culvert quits').check();
    await signIn(page, fixture.relay.url, account.key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    const again = await fixture.open(directory);
    await again.page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(await again.page.getByLabel('Relay').inputValue(), fixture.relay.url);
  });

  it('reports at the key that the relay does not know it, and allows another attempt', async () => {
    const { page } = await fixture.open();
    await signIn(page, fixture.relay.url, newApiKey());
    await page.getByText('The relay does not recognize this key').waitFor();
    const key = page.getByLabel('API key');
    assert.equal(await key.getAttribute('aria-invalid'), 'true');
    await page.locator('#key:focus').waitFor();
    const account = await createAccount(fixture.relay);
    await key.fill(account.key);
    await page.keyboard.press('Enter');
    await page.getByText(`${account.name} · Dev plan`).waitFor();
  });

  it('reports an invalid key or address without a request', async () => {
    const { page } = await fixture.open();
    await signIn(page, 'my relay', 'cvt_short');
    await page.getByText('This is not the address of a relay').waitFor();
    await page.getByText('The key is incomplete').waitFor();
    await page.locator('#relay:focus').waitFor();
  });

  it('reports at the address that nothing answers there', async () => {
    const { page } = await fixture.open();
    await signIn(page, `http://localhost:${await closedPort()}`, newApiKey());
    await page.getByText('Check the address and your network').waitFor();
    assert.equal(await page.getByLabel('Relay').getAttribute('aria-invalid'), 'true');
  });

  it('reports at the address that the answering server is not a relay', async () => {
    const site = await startHttpService(fixture.scope, (_, response) => response.end('<h1>Hello</h1>'));
    const { page } = await fixture.open();
    await signIn(page, `http://localhost:${site.port}`, newApiKey());
    await page.locator('#relay-note.problem').waitFor();
    await reads(page.locator('#relay-note'), /Check the address/);
  });

  it('can be cancelled while the relay does not answer', async () => {
    const silent = await startRawService(fixture.scope, () => {});
    const account = await createAccount(fixture.relay);
    const { page } = await fixture.open();
    await signIn(page, `http://127.0.0.1:${silent.port}`, account.key);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.getByLabel('Relay').fill(fixture.relay.url);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
  });
});
