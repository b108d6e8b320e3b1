/** Into the app: with a key or an invitation, after every mistake, and out again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { signInLink } from '../../shared/team.ts';
import { administer, createAccount } from '../support/accounts.ts';
import { newApiKey, RelayProgram } from '../support/programs.ts';
import { closedPort, startHttpService, startRawService } from '../support/services/listen.ts';
import {
  appScenarios,
  card,
  chooseFromPalette,
  chooseSignIn,
  expose,
  scenarios,
  signedInAs,
  signIn,
} from './support/fixture.ts';
import { focused, focusedName, reads, visit } from './support/visit.ts';

appScenarios('signing in with a key', (fixture) => {
  it('reports at its field what is wrong, and can be cancelled while the relay does not answer', async () => {
    const { page } = await fixture.open();
    const [relay, key] = [page.getByLabel('Relay'), page.getByLabel('API key')];
    await signIn(page, 'my relay', 'cvt_short');
    await page.getByText('This is not the address of a relay').waitFor();
    await page.getByText('The key is incomplete').waitFor();
    await focused(page, 'relay');
    await signIn(page, `http://localhost:${await closedPort()}`, newApiKey());
    await page.getByText('Check the address and your network').waitFor();
    assert.equal(await relay.getAttribute('aria-invalid'), 'true');
    const site = await startHttpService(fixture.scope, (_, response) => response.end('<h1>Hello</h1>'));
    await signIn(page, `http://localhost:${site.port}`, newApiKey());
    await reads(page.locator('#relay-note.problem'), /Check the address(?! and)/);
    const silent = await startRawService(fixture.scope, () => {});
    await signIn(page, `http://127.0.0.1:${silent.port}`, newApiKey());
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await signIn(page, fixture.relay.url, newApiKey());
    await page.getByText('The relay rejected the API key').waitFor();
    assert.equal(await key.getAttribute('aria-invalid'), 'true');
    await focused(page, 'key');
    const account = await createAccount(fixture.relay);
    await key.fill(account.key);
    await page.keyboard.press('Enter');
    await signedInAs(page, account.name);
  });

  it('keeps the key in memory when asked to, and otherwise encrypted, never in the page, across a restart', async () => {
    const account = await createAccount(fixture.relay);
    const { page, directory } = await fixture.open();
    await page.getByLabel('Until Culvert quits').check();
    await signIn(page, fixture.relay.url, account.key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    const { page: second } = await fixture.open(directory);
    await second.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(await second.getByLabel('Relay').inputValue(), fixture.relay.url);
    await signIn(second, fixture.relay.url, account.key);
    await second.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    assert.equal((await second.content()).includes(account.key), false);
    for (const file of ['culvert.json', 'key.json'])
      assert.equal(readFileSync(join(directory, file), 'utf8').includes(account.key), false, file);
    const { page: third } = await fixture.open(directory);
    await signedInAs(third, account.name);
  });
});

scenarios('an invitation', (fixture) => {
  /** @returns the name of a new account, and the address of an invitation to it */
  async function invite(): Promise<{ account: string; address: string }> {
    const { name } = await createAccount(fixture.relay);
    const made = (await administer(fixture.relay, 'invite', 'create', '--account', name)) as {
      invites: { url: string }[];
    };
    const { pathname } = new URL(made.invites[0]?.url ?? '');
    return { account: name, address: fixture.relay.url + pathname };
  }

  it('signs in with two clicks, once, not by Enter or Esc, and beside another account', async () => {
    const { account, address } = await invite();
    const { app, page } = await fixture.open();
    const dialog = page.getByRole('dialog');
    // The page's own link, as a browser opens it.
    const html = await (await fetch(address, { headers: { accept: 'text/html' } })).text();
    const [, link = ''] = /href="(culvert:[^"]+)"/.exec(html) ?? [];
    assert.equal(link, signInLink(address));
    for (const key of ['Enter', 'Escape']) {
      await app.openLink(link);
      await page.getByRole('dialog', { name: new RegExp(`^Sign in to .* as ${account}\\?$`) }).waitFor();
      await page.keyboard.press(key);
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
    }
    await app.openLink(link);
    await dialog.waitFor();
    assert.ok(!(await page.content()).includes(address.slice(-32)), 'the page does not know the token');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await signedInAs(page, account);
    assert.equal(await dialog.count(), 0);
    const site = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const slug = await expose(page, site.port);
    await app.openLink(link);
    await dialog.getByText('was already used').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await signedInAs(page, account);

    const other = await invite();
    await app.openLink(signInLink(other.address));
    await dialog.getByText(`You stay signed in as ${account} · `).waitFor();
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await signedInAs(page, other.account);
    assert.equal(await card(page, slug).count(), 0);
    await chooseSignIn(page, new RegExp(`^${account} `));
    await card(page, slug).getByText('Online').waitFor();
  });

  it('that is pasted into the field for the relay or the key asks the same question', async () => {
    const { account, address } = await invite();
    const { page } = await fixture.open();
    for (const field of ['Relay', 'API key']) {
      await page.getByLabel(field).fill(address);
      await page.getByText('so you do not need a key').waitFor();
      await page.getByRole('button', { name: 'Open the invitation' }).click();
      await page.getByRole('dialog').waitFor();
      if (field === 'API key') break;
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByLabel(field).fill('');
    }
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await signedInAs(page, account);
  });
});

appScenarios('two relays', (fixture) => {
  it('are signed in at the same time, keep their tunnels, and are left one by one', async () => {
    const { app, page, directory, account: work } = await fixture.openSignedIn();
    const relay = await RelayProgram.start(fixture.scope);
    const home = await createAccount(relay);
    const site = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const shop = await expose(page, site.port);
    const { url } = await app.tunnel();

    await chooseSignIn(page, 'Sign in to another relay or account…');
    await page.getByRole('button', { name: `${work.name} · ` }).waitFor();
    // Escape leaves the form, as it leaves every screen.
    await page.getByLabel('Relay').fill('rel');
    await page.keyboard.press('Escape');
    await card(page, shop).getByText('Online').waitFor();
    await chooseFromPalette(page, 'add account');
    await signIn(page, relay.url, home.key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await focused(page, 'port');
    await expose(page, site.port);
    assert.equal(await card(page, shop).count(), 0);
    // The tunnel of the other one has not stopped.
    assert.equal((await visit(url)).body, 'hello');

    await page.locator('#sign-ins').focus();
    await page.keyboard.press('Enter');
    await focusedName(page, new RegExp(`^${work.name} .* \\(1 running\\)$`), 'menuitem');
    await page.keyboard.press('Enter');
    await card(page, shop).getByText('Online').waitFor();

    await chooseFromPalette(page, home.name);
    await signedInAs(page, home.name);
    await chooseFromPalette(page, work.name);
    await signedInAs(page, work.name);

    const { page: again } = await fixture.open(directory);
    await signedInAs(again, work.name);
    await card(again, shop).getByText('Online').waitFor();
    await chooseSignIn(again, `Sign out of ${work.name} `);
    await signedInAs(again, home.name);
    await again.getByRole('button', { name: /^Undo: You signed out/ }).click();
    await signedInAs(again, work.name);
    await card(again, shop).getByText('Online').waitFor();
  });
});
