/** Access to a tunnel, chosen in the app: visitors without it are refused, visitors with it are admitted. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { startSite } from '../support/services/echo.ts';
import { appScenarios, expose, type Fixture, scenarios } from './support/fixture.ts';
import { focused, focusedName, tabTo, visit } from './support/visit.ts';

// The password is still known where the app's key store keeps it.
appScenarios('access to a tunnel', (fixture) => {
  it('by password: three generated words, copied with the address, and still known after a restart', async () => {
    const { page, app, directory } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    await page.getByLabel('Port', { exact: true }).fill(String(site.port));
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByRole('radio', { name: 'Password' }).check();
    const field = page.getByRole('textbox', { name: 'Password' });
    await eventually(20_000, async () => assert.match(await field.inputValue(), /^[a-z]+(-[a-z]+){2}$/));
    const words = await field.inputValue();
    await page.getByRole('button', { name: 'New password' }).click();
    await eventually(20_000, async () => assert.notEqual(await field.inputValue(), words));
    await field.fill('open sesame');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.locator('.card').getByText('Online').waitFor();

    const { url, slug } = await app.tunnel();
    assert.equal((await visit(url)).status, 401);
    const { status, cookie } = await typePassword(url, 'open sesame');
    assert.equal(status, 303);
    assert.equal((await visit(url, { cookie })).status, 200);
    const copy = page.getByRole('button', { name: `Copy link and password for ${slug}` });
    await copy.click();
    await page.getByRole('button', { name: `Copied link and password for ${slug}` }).waitFor();
    const sentence = `Open ${url} and enter the password open sesame`;
    assert.deepEqual(await app.copied(), [sentence]);

    const again = await fixture.open(directory);
    await again.page.getByRole('button', { name: `Copy link and password for ${slug}` }).click();
    await eventually(20_000, async () => assert.deepEqual(await again.app.copied(), [sentence]));
  });
});

scenarios('access to a tunnel in any window', (fixture) => {
  it('by links: created with a note, copied, listed, and revoked individually', async () => {
    const { page, app } = await online(fixture);
    const { url, slug } = await app.tunnel();
    assert.equal((await visit(url)).status, 200);
    await lock(page, slug, 'Only with a link');
    await becomes(url, 401);
    await page.getByText('You have no links yet').waitFor();

    const links = page.getByRole('list', { name: `Links to ${slug}` }).getByRole('listitem');
    const made: string[] = [];
    for (const note of ['for Ann', 'for Ben']) {
      await page.getByLabel('Note for the link').fill(note);
      await page.getByLabel('How long the link is valid').selectOption('7 days');
      await page.getByRole('button', { name: 'Create and copy link' }).click();
      await links.filter({ hasText: note }).getByText('Copied').waitFor();
      made.push((await app.copied()).at(-1) ?? '');
    }
    const [ann = '', ben = ''] = made;
    assert.notEqual(ann, ben);
    const cookies = [await follow(ann), await follow(ben)];
    for (const cookie of cookies) assert.equal((await visit(url, { cookie })).status, 200);

    await page.getByRole('button', { name: 'Revoke the link for Ann' }).click();
    await links.filter({ hasText: 'for Ann' }).waitFor({ state: 'detached' });
    await eventually(20_000, async () =>
      assert.deepEqual(
        await Promise.all(cookies.map(async (cookie) => (await visit(url, { cookie })).status)),
        [401, 200],
      ),
    );
    // The relay stores them, so they are listed when the panel is opened again.
    await page.getByRole('button', { name: `Who has access to ${slug}` }).click();
    await page.getByRole('button', { name: `Create a link to ${slug}` }).click();
    await links.filter({ hasText: 'for Ben' }).getByText('6 d 23 h left').waitFor();
    assert.equal(await links.count(), 1);
  });

  it('by a link for the first device, whose code is shown where it is created', async () => {
    const { page, app } = await online(fixture);
    const { url, slug } = await app.tunnel();
    await lock(page, slug, 'Only with a link');
    await becomes(url, 401);
    await page.getByLabel('Note for the link').fill('phone');
    await page.getByLabel('Only for the first device').check();
    await page.getByRole('button', { name: 'Create and copy link' }).click();
    const row = page.getByRole('list', { name: `Links to ${slug}` }).getByRole('listitem');
    await row.getByText('not opened yet').waitFor();
    const link = (await app.copied()).at(-1) ?? '';
    await page.getByRole('img', { name: `QR code for ${link}` }).waitFor();

    const navigates = { 'sec-fetch-mode': 'navigate' };
    const first = await visit(link, { headers: navigates });
    const cookie = (await visit(link, { headers: navigates, cookie: first.cookie })).cookie;
    assert.equal((await visit(url, { cookie })).status, 200);
    assert.equal((await visit(link)).status, 401);
    await page.getByRole('button', { name: `Who has access to ${slug}` }).click();
    await page.getByRole('button', { name: `Create a link to ${slug}` }).click();
    await row.getByText('opened just now').waitFor();
    await page.getByRole('button', { name: 'Revoke the link phone' }).click();
    await eventually(20_000, async () => assert.equal((await visit(url, { cookie })).status, 401));
  });

  it('by tokens: created with a name, copied once, shown with their last use, and revoked individually', async () => {
    const { page, app } = await online(fixture);
    const { url, slug } = await app.tunnel();
    await choose(page, slug, 'Tokens');
    const first = page.getByLabel('Name of the first token');
    await first.fill('CI');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Enter a name of 1 to 32 lowercase letters, digits and hyphens.').waitFor();
    await first.fill('ci');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Only programs with a token').waitFor();
    await becomes(url, 401);

    const rows = page.getByRole('list', { name: `Tokens of ${slug}` }).getByRole('listitem');
    const ci = rows.filter({ hasText: 'ci' });
    await page.getByRole('button', { name: 'Revoke the token ci' }).click();
    await page.getByText('Without its last token, the tunnel would be open to anyone.').waitFor();
    await page.getByLabel('Name of the token').fill('agent');
    await page.getByRole('button', { name: 'Create token' }).click();
    const agent = rows.filter({ hasText: 'agent' });
    const tokens: string[] = [];
    for (const row of [ci, agent]) {
      await row.getByRole('button', { name: 'Copy once' }).click();
      await row.getByText('never used').waitFor();
      tokens.push((await app.copied()).at(-1) ?? '');
    }
    const statuses = () =>
      Promise.all(
        tokens.map(async (token) => {
          const { status } = await visit(url, { headers: { authorization: `Bearer ${token}` } });
          return status;
        }),
      );
    assert.deepEqual(await statuses(), [200, 200]);
    for (const row of [ci, agent]) await row.getByText('used just now').waitFor();
    await page.getByRole('button', { name: 'GET / 200' }).first().click();
    await page.getByText(/^The visitor used the token “(?:ci|agent)”\.$/).waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Revoke the token ci' }).click();
    await ci.waitFor({ state: 'detached' });
    await eventually(20_000, async () => assert.deepEqual(await statuses(), [401, 200]));
  });

  it('by addresses, after invalid ones; for anyone again; and as another program sets it', async () => {
    const { page, app, account } = await online(fixture);
    const { url, slug } = await app.tunnel();
    await choose(page, slug, 'These addresses');
    const field = page.getByLabel('IP addresses and ranges');
    await field.fill('10.0.0.0/33');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('the part after the slash must be a number up to 32').waitFor();
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    await focusedName(page, /^IP addresses and ranges/, 'textbox');
    await field.fill('10.0.0.0/8, 192.0.2.7');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Only from 10.0.0.0/8 and 192.0.2.7').waitFor();
    await field.waitFor({ state: 'detached' });
    await becomes(url, 403);
    await lock(page, slug, 'Anyone');
    await becomes(url, 200);

    const [tunnel] = await account.api.list();
    const { status } = await account.api.send('PUT', `/v1/tunnels/${tunnel?.id}/access`, {
      json: { basic: [{ user: 'ann', password: 'secret' }], allow: ['127.0.0.1'] },
    });
    assert.equal(status, 200);
    await page.getByText('Addresses · Users, set by a project or another program').waitFor();
  });

  it('by approval: asked individually, admitted for a while, removed, or refused', async () => {
    const { page, app } = await online(fixture);
    const { url, slug } = await app.tunnel();
    await lock(page, slug, 'Ask me');
    await becomes(url, 401);
    const knock = async (agent: string): Promise<string | undefined> => {
      const { status, cookie } = await visit(`${url}/?culvert_gate=knock`, {
        method: 'POST',
        headers: { 'user-agent': agent },
      });
      assert.equal(status, 202);
      return cookie;
    };

    const ann = await knock('Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/150.0');
    await page.getByText('Firefox on Windows is asking for access from 127.0.0.1').waitFor();
    await page.getByRole('button', { name: 'Approve Firefox on Windows' }).click();
    await page.getByText('is asking for access from').waitFor({ state: 'detached' });
    await becomes(`${url}/hello`, 200, ann);
    // The log shows how the visitor got access.
    await page.getByRole('button', { name: 'GET /hello 200' }).first().click();
    await page.getByText('You approved the visitor.').waitFor();
    await page.keyboard.press('Escape');

    const ben = await knock('curl/8.18.0');
    await page.getByRole('button', { name: 'Deny curl' }).click();
    await page.getByText('is asking for access from').waitFor({ state: 'detached' });
    await becomes(`${url}/hello`, 401, ben);

    await page.getByRole('button', { name: `Who has access to ${slug}` }).click();
    await page
      .getByText(/5\d min left/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Revoke access for Firefox on Windows, 127.0.0.1' }).click();
    await page.getByText('No visitors are approved at the moment.').waitFor();
    await becomes(`${url}/hello`, 401, ann);
  });

  it('can be chosen with the keyboard alone', async () => {
    const { page, app } = await online(fixture);
    const { slug } = await app.tunnel();
    const keys = page.keyboard;
    await page.locator(`.card[data-slug="${slug}"] .card-top .copy`).focus();
    await keys.press('Tab');
    await focusedName(page, /: Anyone$/);
    await keys.press('Enter');
    await keys.press('Tab');
    await focusedName(page, /^Anyone$/, 'radio');
    await keys.press('ArrowRight');
    await focusedName(page, /^Password$/, 'radio');
    const field = page.getByRole('textbox', { name: 'Password' });
    await eventually(20_000, async () => assert.notEqual(await field.inputValue(), ''));
    const words = await field.inputValue();
    await keys.press('Tab');
    await focusedName(page, /^Password$/, 'textbox');
    // Nothing has changed so far: the arrow keys move over every choice.
    assert.equal((await app.tunnel()).lock.kind, 'anyone');
    await keys.press('Enter');
    // The address and the password are what people need next.
    await focusedName(page, /^Copy link and password/);
    assert.deepEqual((await app.tunnel()).lock, { kind: 'password', password: words });
    await keys.press('Enter');
    await eventually(20_000, async () =>
      assert.match((await app.copied()).join(), new RegExp(`enter the password ${words}$`)),
    );
    await keys.press('Shift+Tab');
    await focusedName(page, /: Password$/);
    await keys.press('Enter');
    await tabTo(page, /^Password$/, 'radio');
    await keys.press('ArrowLeft');
    await focusedName(page, /^Anyone$/, 'radio');
    await keys.press('Enter');
    await focused(page, `lock-${(await app.tunnel()).key}`);
    assert.equal((await app.tunnel()).lock.kind, 'anyone');
  });
});

/** Waits until a visitor gets a response with that status. */
async function becomes(url: string, status: number, cookie?: string): Promise<void> {
  await eventually(20_000, async () => assert.equal((await visit(url, { cookie })).status, status));
}

async function online(fixture: Fixture) {
  const opened = await fixture.openSignedIn();
  await expose(opened.page, (await startSite(fixture.scope)).port);
  return opened;
}

async function choose(page: Page, slug: string, choice: string): Promise<void> {
  await page.getByRole('button', { name: `Who has access to ${slug}` }).click();
  await page.getByRole('radio', { name: choice }).check();
}

async function lock(page: Page, slug: string, choice: string): Promise<void> {
  await choose(page, slug, choice);
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: `Who has access to ${slug}: ${choice}` }).waitFor();
  await page.getByRole('button', { name: 'Apply' }).waitFor({ state: 'detached' });
  // Links are created in the form. Otherwise it closes, but only after the name has changed, and until then its button
  // would close it.
  if (choice !== 'Only with a link')
    await page.getByRole('form', { name: `Who has access to ${slug}` }).waitFor({ state: 'detached' });
}

/** Submits the form of the password page. */
function typePassword(url: string, password: string): ReturnType<typeof visit> {
  return visit(`${url}/?culvert_gate`, {
    method: 'POST',
    type: 'application/x-www-form-urlencoded',
    body: new URLSearchParams({ culvert_password: password }).toString(),
    headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin' },
  });
}

/** @returns the cookie of a visitor who opens a link */
async function follow(link: string): Promise<string | undefined> {
  const { status, cookie } = await visit(link, { headers: { 'sec-fetch-mode': 'navigate' } });
  assert.equal(status, 303);
  return cookie;
}
