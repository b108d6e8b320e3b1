/** The page on which a person decides about an agent, in a browser (protocol.md section 11.6). */
import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { Knock } from '../../../shared/knocks.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { OAuthClient } from '../../support/agents.ts';
import { Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { type HttpService, startHttpService } from '../../support/services/listen.ts';
import { SpecClient } from '../../support/spec-client/client.ts';
import { assertPageReadable, openAddress } from '../support/readable.ts';
import { sharedBrowser } from '../support/running-app.ts';

const LONG = 'A-client-with-a-name-that-is-as-long-as-it-can-be-and-has-no-blank-to-break-it-a';

describe('the page that asks about an agent', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let relay: Relay;
  let account: TestAccount;
  /** where the client is */
  let back: HttpService;

  before(async () => {
    [relay, browser] = await Promise.all([Relay.start(suite), sharedBrowser()]);
    account = await createAccount(relay, { subdomain: 'acme' });
    back = await startHttpService(suite, (_request, response) => {
      response
        .setHeader('Content-Type', 'text/html')
        .end('<!doctype html><title>Back</title><link rel="icon" href="data:,">');
    });
  });

  async function clientFor({ slug }: Tunnel, name = 'Claude'): Promise<OAuthClient> {
    const client = new OAuthClient(
      relay.port,
      `http://${slug}.localhost:${relay.port}/mcp`,
      `http://127.0.0.1:${back.port}/back`,
    );
    assert.equal((await client.register({ client_name: name })).status, 201);
    return client;
  }

  it('leads back to the client once the owner has approved it, by itself up to the last click', async () => {
    const tunnel = await account.api.create({ local_port: 9, access: { oauth: true } });
    const client = await clientFor(tunnel, LONG);
    const { page, errors } = await openAddress(scope, browser, client.authorizeAddress());
    await assertPageReadable(page);
    await page.getByRole('button', { name: 'Ask the owner' }).click();
    await page.getByText('Keep this page open').waitFor();
    const { json } = await account.api.send('GET', `/v1/tunnels/${tunnel.id}/knocks`);
    const [knock] = (json as { knocks: Knock[] }).knocks;
    await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/knocks/${knock?.id}`, { json: { admit: true } });
    await page.getByText('has approved this agent').waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(/\/back\?code=cvc_/);
    assert.equal(await page.title(), 'Back');
    assert.deepEqual(errors, []);
  });

  it('is calm and readable with many ways, in every view and width', async () => {
    const access = { oauth: true, password: 'mild oak fern', links: true, knock: true };
    const tunnel = await account.api.create({ local_port: 9, access });
    const client = await clientFor(tunnel);
    const { page } = await openAddress(scope, browser, client.authorizeAddress());
    assert.equal(await page.getByRole('button', { name: 'Ask the owner' }).isVisible(), false);
    await assertPageReadable(page);
    await page.getByText('Other ways').click();
    await assertPageReadable(page);
    await page.getByLabel('Password of this address').fill('wrong');
    await page.getByRole('button', { name: 'Allow' }).first().click();
    await page.getByRole('alert').waitFor();
    await assertPageReadable(page);
    await page.getByLabel('Password of this address').fill('mild oak fern');
    await page.getByRole('button', { name: 'Allow' }).first().click();
    await page.waitForURL(/\/back\?code=cvc_/);
  });

  describe('when a page of another tunnel wants to decide for the visitor', () => {
    let evil: HttpService;

    before(async () => {
      evil = await startHttpService(suite, (_request, response) => {
        response.setHeader('Content-Type', 'text/html');
        response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
        response.end('<!doctype html><title>Evil</title><link rel="icon" href="data:,">');
      });
      await SpecClient.start(suite, relay, account.key, { local_port: evil.port, name: 'evil' });
    });

    for (const [place, address] of [
      ['on the same origin', () => `http://localhost:${relay.port}/t/evil/`],
      ['on the same site', () => `http://evil.localhost:${relay.port}/`],
    ] as const)
      it(`${place}, neither frames, nor requests, nor windows, nor forms let it`, async () => {
        const tunnel = await account.api.create({ local_port: 9, access: { oauth: true } });
        const client = await clientFor(tunnel);
        const { page } = await openAddress(scope, browser, address());
        const target = client.authorizeAddress();
        assert.equal(await attempt(page, FRAME, target), 'blocked');
        assert.equal(await attempt(page, FETCH, target), 'blocked');
        assert.equal(await attempt(page, WINDOW, target), 'blocked');
        await page.evaluate(`(${FORM})(${JSON.stringify(target)})`);
        await page.waitForURL(/\/oauth\/authorize/);
        const { json } = await account.api.send('GET', `/v1/tunnels/${tunnel.id}/knocks`);
        assert.deepEqual((json as { knocks: Knock[] }).knocks, []);
      });
  });
});

async function attempt(page: Page, script: string, address: string): Promise<string> {
  return await page.evaluate<string>(`(${script})(${JSON.stringify(address)})`);
}

/** Each resolves to the text of the page if it gets it. */
const FRAME = `async (address) => {
  const frame = document.createElement('iframe');
  const loaded = new Promise((resolve) => (frame.onload = resolve));
  frame.src = address;
  document.body.append(frame);
  await loaded;
  try { return frame.contentDocument.querySelector('form') ? 'got it' : 'blocked'; } catch { return 'blocked'; }
}`;
const FETCH = `async (address) => {
  try {
    const response = await fetch(address, { credentials: 'include' });
    return (await response.text()).includes('<form') ? 'got it' : 'blocked';
  } catch { return 'blocked'; }
}`;
const WINDOW = `async (address) => {
  const opened = window.open(address);
  const until = Date.now() + 3000;
  while (Date.now() < until) {
    if (opened === null || opened.closed) return 'blocked';
    try { if (opened.document.querySelector('form') !== null) return 'got it'; } catch {}
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return 'blocked';
}`;
const FORM = `(address) => {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = address;
  for (const [name, value] of [['culvert_way', 'knock'], ['culvert_form', '']]) {
    const input = document.createElement('input');
    Object.assign(input, { name, value });
    form.append(input);
  }
  document.body.append(form);
  form.submit();
}`;
