/** The settings, each with what it does, and the people of the account. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../shared/version.ts';
import { createAccount, withNewKey } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { startHttpService } from '../support/services/listen.ts';
import { appScenarios, expose, scenarios, signIn } from './support/fixture.ts';
import { isDark } from './support/readable.ts';
import { visit } from './support/visit.ts';

appScenarios('the settings', (fixture) => {
  it('show relay, account and versions, take effect immediately, and survive a restart', async () => {
    const { page, app, account, directory } = await fixture.openSignedIn();
    const [theme, shortcut] = [page.getByLabel('Theme'), page.getByLabel('Global shortcut')];
    const becomesDark = (expected: boolean) =>
      eventually(20_000, async () => assert.equal(await isDark(page), expected));
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByText(fixture.relay.url).waitFor();
    await page.getByText(`${account.name}, Dev plan`).waitFor();
    await page.getByText('encrypted by the operating system').waitFor();
    // Only an owner has one.
    assert.equal(await page.getByRole('region', { name: 'Team' }).count(), 0);
    for (const scheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await becomesDark(scheme === 'dark');
    }
    await theme.selectOption('dark');
    await becomesDark(true);
    assert.equal(await app.theme(), 'dark');
    await page.getByLabel('Notifications').uncheck();
    await page.getByLabel('Tunnels when Culvert quits').selectOption('leave');
    await page.getByLabel('Recorded part of each body').selectOption('10 MiB');

    const entry = join(directory, 'config/autostart/culvert.desktop');
    await page.getByLabel('Start at login').check();
    await eventually(20_000, () => assert.equal(existsSync(entry), true));
    await page.getByLabel('Start at login').uncheck();
    await eventually(20_000, () => assert.equal(existsSync(entry), false));

    assert.equal(await shortcut.inputValue(), 'CommandOrControl+Alt+Shift+C');
    await shortcut.selectOption('Alt+Shift+C');
    const refusal = page.getByText('Your system did not accept this shortcut');
    await refusal.waitFor();
    await eventually(20_000, async () =>
      assert.equal(await shortcut.inputValue(), 'CommandOrControl+Alt+Shift+C'),
    );
    await shortcut.selectOption('off');
    await refusal.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'About and licences' }).click();
    await page.getByText(`Culvert ${VERSION}`).waitFor();
    await page.getByRole('button', { name: 'Source code' }).click();
    await eventually(20_000, async () => assert.equal((await app.opened()).length, 1));
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
    await page.locator('html[lang="de"]').waitFor();
    // Texts of main are also in German.
    await page.getByRole('button', { name: 'Abmelden' }).click();
    await page.getByText('Sie sind abgemeldet.').waitFor();
    await page.getByRole('button', { name: /^Rückgängig machen: / }).click();
    await eventually(20_000, () =>
      assert.match(
        readFileSync(join(directory, 'culvert.json'), 'utf8'),
        /(?=[^]*"leave")(?=[^]*"language": *"de")/,
      ),
    );

    const { page: again, app: restarted } = await fixture.open(directory);
    await again.locator('html[data-theme="dark"]').waitFor();
    await again.getByRole('button', { name: 'Einstellungen' }).click();
    await again.getByLabel('Sprache').selectOption('en');
    await again.getByRole('heading', { name: 'Settings' }).waitFor();
    await again.locator('html[lang="en"]').waitFor();
    assert.equal(await again.getByLabel('Notifications').isChecked(), false);
    assert.equal(await again.getByLabel('Theme').inputValue(), 'dark');
    assert.equal(await again.getByLabel('Recorded part of each body').inputValue(), '10485760');
    assert.equal(await again.getByLabel('Tunnels when Culvert quits').inputValue(), 'leave');
    assert.equal(await again.getByLabel('Global shortcut').inputValue(), 'off');

    await again.getByRole('button', { name: 'Back' }).click();
    const body = Buffer.alloc(10_000_000, ' ');
    await expose(again, (await startHttpService(fixture.scope, (_, response) => response.end(body))).port);
    await visit((await restarted.tunnel()).url);
    await again.getByRole('button', { name: 'GET / 200' }).click();
    await again.getByText('Start of 9.5 MiB; an export as HAR has all of it').waitFor();
  });
});

scenarios('the team', (fixture) => {
  it('is invited, joins, is revoked by its owner with the keyboard, and left by the owner', async () => {
    const account = await createAccount(fixture.relay, { plan: 'team' });
    const owner = await withNewKey(fixture.relay, account, '--owner', '--label', 'olga');
    const { page, app } = await fixture.open();
    await signIn(page, fixture.relay.url, owner.key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await page.keyboard.press('Control+,');
    const team = page.getByRole('region', { name: 'Team' });
    const rows = team.getByRole('list', { name: 'Keys and invitations' }).getByRole('listitem');
    await rows.filter({ hasText: 'olga' }).getByText('Owner (this app)').waitFor();
    const member = rows.filter({ hasText: /^Key cvt_/ });
    await member.getByText('Member').waitFor();

    await team.getByRole('textbox', { name: 'Name' }).focus();
    await page.keyboard.press('Enter');
    await team.getByText('Enter a name.').waitFor();
    // An address cannot be shown again, so the next invitation does not replace it.
    for (const name of ['ann', 'bob']) {
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await team.getByRole('button', { name: `Copy the invitation for ${name}` }).waitFor();
    }
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

    await team.getByRole('button', { name: 'Revoke olga…' }).click();
    const own = page.getByRole('dialog', { name: 'Revoke the key of olga?' });
    await own.getByText('you are signed out').waitFor();
    await own.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(await own.count(), 0);
  });
});
