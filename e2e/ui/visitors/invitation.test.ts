/** The page of an invitation, and the relay's address (protocol.md section 13). */
import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { signInLink } from '../../../shared/team.ts';
import { administer } from '../../support/accounts.ts';
import { Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { sharedBrowser } from '../support/running-app.ts';
import { assertPageReadable, openAddress } from '../support/readable.ts';

describe('builtin pages of the relay:', () => {
  const suite = suiteScope();
  const scope = testScope();
  let relay: Relay;
  let browser: Browser;

  before(async () => {
    [relay, browser] = await Promise.all([Relay.start(suite), sharedBrowser()]);
  });

  async function invitation(at = relay): Promise<string> {
    const made = await administer(at, 'invite', 'create', '--account', 'A team with a <b>long</b> name');
    // The command does not know on which free port this relay listens.
    const { pathname } = new URL((made as { invites: { url: string }[] }).invites[0]?.url ?? '');
    return at.url + pathname;
  }

  it('an invitation is readable, explains what to do, opens in the app, and its address goes nowhere else', async () => {
    const address = await invitation();
    const { page } = await openAddress(scope, browser, address);
    assert.equal(await page.title(), 'You are invited');
    assert.ok((await page.locator('main').innerText()).includes(`culvert login ${address}`));
    assert.ok((await page.locator('strong').allInnerTexts()).includes('A team with a <b>long</b> name'));
    const open = page.getByRole('link', { name: 'Open in Culvert' });
    assert.equal(await open.getAttribute('href'), signInLink(address));
    assert.equal(await page.locator('[href], [src], form').count(), 1);
    await page.getByText('Ask the person who sent you this address where to download it.').waitFor();
    await assertPageReadable(page);
  });

  it('an invitation links to a download of Culvert if that is configured', async () => {
    const downloads = 'https://downloads.example.com/culvert?for="us"&x=1';
    const other = await Relay.start(scope, { CULVERT_DOWNLOAD_PAGE: downloads });
    const { page } = await openAddress(scope, browser, await invitation(other));
    const get = page.getByRole('link', { name: 'Get Culvert' });
    assert.equal(await get.getAttribute('href'), new URL(downloads).href);
    const response = await fetch(page.url(), { headers: { accept: 'text/html' } });
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    await assertPageReadable(page);
  });

  it('an invitation shows that it was used', async () => {
    const address = await invitation();
    await fetch(address.replace('/invite/', '/v1/invites/'), { method: 'POST' });
    const { page } = await openAddress(scope, browser, address);
    assert.equal(await page.title(), 'This invitation is no longer valid');
    await assertPageReadable(page);
  });

  it("the relay's address shows what it is", async () => {
    const { page } = await openAddress(scope, browser, `${relay.url}/`);
    assert.equal(await page.title(), 'A Culvert relay');
    await assertPageReadable(page);
  });
});
