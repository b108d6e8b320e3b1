/** The people of an account, as an owner manages them in the settings. */
import assert from 'node:assert/strict';
import { createAccount, withNewKey } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { newProfile, openLink, startUi } from './support/app-window.ts';
import { scenarios, signIn } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';
import { sharedBrowser, sharedRelay } from './support/running-app.ts';
import { temporaryDirectory } from '../support/programs.ts';

scenarios('the team', (fixture) => {
  it('is invited, joins, and is revoked by its owner, with the keyboard', async () => {
    const account = await createAccount(fixture.relay, { plan: 'team' });
    const owner = await withNewKey(fixture.relay, account, '--owner', '--label', 'olga');
    const { page, app } = await fixture.open();
    await signIn(page, fixture.relay.url, owner.key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await page.keyboard.press('Control+,');
    const team = page.getByRole('region', { name: 'Team' });
    const rows = team.getByRole('list', { name: 'Keys and invitations' }).getByRole('listitem');
    await rows.filter({ hasText: 'olga' }).getByText('Owner (this app)').waitFor();
    await rows
      .filter({ hasText: /^Key cvt_/ })
      .getByText('Member')
      .waitFor();
    await assertReadable(page, 'the team');

    await team.getByRole('textbox', { name: 'Name' }).focus();
    await page.keyboard.press('Enter');
    await team.getByText('Enter a name.').waitFor();
    await page.keyboard.type('ann');
    await page.keyboard.press('Enter');
    await team.getByRole('button', { name: 'Copy the invitation for ann' }).click();
    const [address = ''] = await eventually(20_000, async () => {
      const copied = await app.copied();
      assert.equal(copied.length, 1);
      return copied;
    });
    const ann = rows.filter({ hasText: 'ann' });
    await ann.getByText('Invited, valid until').waitFor();

    const { pathname } = new URL(address);
    const taken = await fetch(`${fixture.relay.url}/v1/invites/${pathname.split('/').at(-1)}`, {
      method: 'POST',
    });
    assert.equal(taken.status, 201);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+,');
    await ann.getByText('Member').waitFor();
    const acts = team.getByRole('list', { name: 'Latest activity' });
    await acts.getByText('ann accepted an invitation.').waitFor();
    assert.equal(await page.getByText(address).count(), 0, 'the address is shown only once');

    const revoke = ann.getByRole('button', { name: 'Revoke ann…' });
    const question = page.getByRole('dialog', { name: 'Revoke the key of ann?' });
    // Neither Enter nor Esc confirms.
    for (const key of ['Enter', 'Escape']) {
      await revoke.focus();
      await page.keyboard.press('Enter');
      await question.waitFor();
      await page.keyboard.press(key);
      await question.waitFor({ state: 'detached' });
    }
    await page.keyboard.press('Enter');
    await question.getByRole('button', { name: 'Revoke' }).focus();
    await page.keyboard.press('Enter');
    await ann.waitFor({ state: 'detached' });
    await acts.getByText('olga revoked the key of ann.').waitFor();
    // The focus stays in the list.
    await team.locator('.team-list button:focus').waitFor();
    const { key } = (await taken.json()) as { key: string };
    const refused = await fetch(`${fixture.relay.url}/v1/account`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(refused.status, 401);
  });

  it('is not shown to a member', async () => {
    const { page } = await fixture.openSignedIn();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Team' }).count(), 0);
  });

  it('is left by an owner who revokes the own key', async () => {
    const account = await createAccount(fixture.relay, { plan: 'team' });
    const owner = await withNewKey(fixture.relay, account, '--owner', '--label', 'olga');
    const { page } = await fixture.open();
    await signIn(page, fixture.relay.url, owner.key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Revoke olga…' }).click();
    const question = page.getByRole('dialog', { name: 'Revoke the key of olga?' });
    await question.getByText('you are signed out').waitFor();
    await question.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(await question.count(), 0);
  });
});

describe('the team, in the window of culvert ui', () => {
  const scope = testScope();

  it('is invited with an address that the browser copies', async () => {
    const [browser, relay] = await Promise.all([sharedBrowser(), sharedRelay()]);
    const owner = await withNewKey(relay, await createAccount(relay, { plan: 'team' }), '--owner');
    const program = await startUi(scope, temporaryDirectory(scope));
    const page = await openLink(scope, await newProfile(scope, browser), program.link);
    await signIn(page, relay.url, owner.key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('bob');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('button', { name: 'Copy the invitation for bob' }).waitFor();
    // An address cannot be shown again, so the next invitation does not replace it.
    await page.getByRole('textbox', { name: 'Name' }).fill('carl');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('button', { name: 'Copy the invitation for carl' }).waitFor();
    await page.getByRole('button', { name: 'Copy the invitation for bob' }).click();
    await page.getByRole('button', { name: 'Copied the invitation for bob' }).waitFor();
    const copied = await page.evaluate<string[]>('outside.copied');
    assert.match(copied.at(-1) ?? '', /\/invite\/[\w-]{32}$/);
  });
});
