/** From an invitation link to the first tunnel, without anyone handling a key. */
import assert from 'node:assert/strict';
import { signInLink } from '../../shared/team.ts';
import { administer, createAccount } from '../support/accounts.ts';
import type { Relay } from '../support/programs.ts';
import { startHttpService } from '../support/services/listen.ts';
import { card, expose, scenarios } from './support/fixture.ts';

/** @returns the address of an invitation to a new account */
async function invite(relay: Relay, account?: string): Promise<{ account: string; address: string }> {
  const name = account ?? (await createAccount(relay)).name;
  const made = (await administer(relay, 'invite', 'create', '--account', name)) as {
    invites: { url: string }[];
  };
  const { pathname } = new URL(made.invites[0]?.url ?? '');
  return { account: name, address: relay.url + pathname };
}

scenarios('an invitation', (fixture) => {
  it('signs in with two clicks: on its page, and here', async () => {
    const { account, address } = await invite(fixture.relay);
    const { app, page } = await fixture.open();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    // The page's own link, as a browser opens it.
    const html = await (await fetch(address, { headers: { accept: 'text/html' } })).text();
    const [, link = ''] = /href="(culvert:[^"]+)"/.exec(html) ?? [];
    assert.equal(link, signInLink(address));
    await app.openLink(link);
    const dialog = page.getByRole('dialog', { name: new RegExp(`^Sign in to .* as ${account}\\?$`) });
    await dialog.waitFor();
    assert.equal(
      (await page.content()).includes(address.slice(-32)),
      false,
      'the page does not know the token',
    );
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(`${account} · Dev plan`).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    const site = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    await expose(page, site.port);
  });

  it('that is pasted into the field for the relay or the key asks the same question', async () => {
    for (const field of ['Relay', 'API key']) {
      const { account, address } = await invite(fixture.relay);
      const { page } = await fixture.open();
      await page.getByLabel(field).fill(address);
      await page.getByText('so you do not need a key').waitFor();
      await page.getByRole('button', { name: 'Open the invitation' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
      await page.getByText(`${account} · Dev plan`).waitFor();
    }
  });

  it('is not accepted by Enter or Esc, and stays valid', async () => {
    const { account, address } = await invite(fixture.relay);
    const { app, page } = await fixture.open();
    for (const key of ['Enter', 'Escape']) {
      await app.openLink(signInLink(address));
      await page.getByRole('dialog', { name: /^Sign in to/ }).waitFor();
      await page.keyboard.press(key);
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
    }
    await app.openLink(signInLink(address));
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(`${account} · Dev plan`).waitFor();
    await app.openLink(signInLink(address));
    await page.getByRole('dialog').getByText('has already been used').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText(`${account} · Dev plan`).waitFor();
  });

  it('signs out of another account, which can be undone with its tunnels', async () => {
    const { app, page, account } = await fixture.openSignedIn();
    const site = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const slug = await expose(page, site.port);
    const other = await invite(fixture.relay);
    await app.openLink(signInLink(other.address));
    const dialog = page.getByRole('dialog');
    await dialog
      .getByText(
        `as ${account.name}. If you accept, you will be signed out there and your tunnel will be closed`,
      )
      .waitFor();
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(`${other.account} · Dev plan`).waitFor();
    assert.equal(await card(page, slug).count(), 0);
    await page.getByRole('button', { name: /^Undo: You signed out of/ }).click();
    await page.getByText(`${account.name} · Dev plan`).waitFor();
    await card(page, slug).getByText('Online').waitFor();
  });
});
