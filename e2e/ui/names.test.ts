/** Names that the account keeps: the window pauses and resumes their tunnels, and the app says when the computer sleeps. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { KeptName } from '../../shared/names.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { codeIn, OAuthClient, submit, tokensIn } from '../support/agents.ts';
import { CookieBrowser } from '../support/cookie-browser.ts';
import { eventually } from '../support/deadline.ts';
import { BROWSER } from '../support/locked-tunnels.ts';
import { type Response, visit as visitRaw } from '../support/raw-http.ts';
import { startHttpService } from '../support/services/listen.ts';
import { appScenarios, card, signIn } from './support/fixture.ts';
import { visit } from './support/visit.ts';

appScenarios('a kept name', (fixture) => {
  /** @param access the choice in the form */
  async function openTunnel(page: Page, name: string, access: string): Promise<void> {
    const { port } = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    await page.getByLabel('Port', { exact: true }).fill(String(port));
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByRole('radio', { name: access, exact: true }).check();
    await page.getByRole('button', { name: 'Expose' }).click();
    await card(page, name).getByText('Online').waitFor();
  }

  /** An agent that the owner has approved in the window. @returns its token */
  async function approvedAgent(page: Page, url: string): Promise<string> {
    const client = new OAuthClient(fixture.relay.port, `${url}/mcp`);
    assert.equal((await client.register()).status, 201);
    const browser = new CookieBrowser();
    const asked = await submit(browser, await browser.step(client.authorizeAddress()), 'Ask the owner');
    const waiting = new URL(asked.head.field('location') ?? assert.fail(asked.text), asked.url);
    await browser.step(waiting);
    await page.getByRole('button', { name: /^Approve An agent/ }).click();
    const approved = await eventually(20_000, async () => {
      const shown = await browser.step(waiting);
      assert.match(shown.text, /Allow/);
      return shown;
    });
    const code = codeIn(await submit(browser, approved, 'Allow'), client);
    return tokensIn(await client.redeem(code)).access_token;
  }

  function at(name: string, asPerson: boolean): Promise<Response> {
    const host = `${name}.localhost:${fixture.relay.port}`;
    return visitRaw(fixture.relay.port, { host, headers: asPerson ? [BROWSER] : [] });
  }

  it('has words for visitors while it is paused, and comes back with its address, access and agents', async () => {
    const { page, app, account } = await fixture.openSignedIn();
    await openTunnel(page, 'paused-shop', 'Agents (MCP)');
    const { url } = await app.tunnel();
    const headers = { authorization: `Bearer ${await approvedAgent(page, url)}` };
    assert.equal((await visit(url, { headers })).body, 'hello');

    await page.getByRole('button', { name: 'Pause paused-shop' }).click();
    await page.getByRole('button', { name: 'Message paused-shop' }).click();
    await page.getByLabel('What visitors read').fill('Back <soon>.');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await card(page, 'paused-shop').getByText('Visitors read: Back <soon>.').waitFor();
    // A pause that can still be undone has not ended the tunnel.
    await eventually(30_000, async () => assert.deepEqual(await account.api.list(), []));
    const shown = await at('paused-shop', true);
    assert.deepEqual([shown.status, shown.head.field('culvert-error')], [503, 'away']);
    assert.match(shown.text, /<h1 [^>]*>Back &lt;soon&gt;\.<\/h1>/);
    assert.deepEqual(JSON.parse((await at('paused-shop', false)).text), {
      error: 'Back <soon>.',
      code: 'away',
      until: null,
    });

    await page.getByRole('button', { name: 'Resume paused-shop' }).click();
    await card(page, 'paused-shop').getByText('Online').waitFor();
    assert.equal((await app.tunnel()).url, url);
    assert.equal((await visit(url)).status, 401);
    assert.equal((await visit(url, { headers })).body, 'hello');
  });

  it('says that the computer sleeps, until it is awake or the app starts again', async () => {
    const account = await createAccount(fixture.relay);
    await account.api.send('POST', '/v1/names', { json: { name: 'sleepy-shop' } });
    const { page, app, directory } = await fixture.open();
    await signIn(page, fixture.relay.url, account.key);
    await openTunnel(page, 'sleepy-shop', 'Anyone');
    await page.getByRole('button', { name: 'Show “Asleep”' }).click();
    const says = (away: string | null): Promise<void> =>
      eventually(20_000, async () => assert.equal((await keptName(account))?.away, away));
    await app.suspend();
    await says('Asleep');
    assert.match((await at('sleepy-shop', true)).text, /<h1 [^>]*>Asleep<\/h1>/);
    await app.wake();
    await card(page, 'sleepy-shop').getByText('Online').waitFor();
    assert.equal((await at('sleepy-shop', false)).text, 'hello');
    await says(null);
    await app.suspend();
    await says('Asleep');
    const { page: again } = await fixture.open(directory);
    await card(again, 'sleepy-shop').getByText('Online').waitFor();
    await says(null);
  });
});

async function keptName({ api }: TestAccount): Promise<KeptName | undefined> {
  return ((await api.send('GET', '/v1/names')).json as { names: KeptName[] }).names[0];
}
