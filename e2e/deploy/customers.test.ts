/**
 * An app that serves each customer at a subdomain, as multi-tenant apps do: a Koa app that looks only at the host, and
 * an API at a host of its own, through one tunnel with one password. Chromium visits it, with certificates from an
 * authority that it trusts.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Koa from 'koa';
import type { Browser, BrowserContext } from 'playwright-core';
import type { Domain } from '../../shared/domains.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { type CertifiedRelay, hostRecords, startCertifiedRelay } from '../support/certified-relay.ts';
import { eventually } from '../support/deadline.ts';
import { type Environment, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { launchTrustingBrowser } from '../support/browser.ts';

const LOOKUP = new URL('../support/lookup-at-resolver.mjs', import.meta.url).href;
const RECORDS = ['_acme-challenge.tunnels NS relay'];
const PASSWORD = 'mild oak fern';

/** Opens a page in a browser that has visited nothing, and enters the password. */
async function enter(context: BrowserContext, url: string): Promise<string> {
  const page = await context.newPage();
  const response = await page.goto(url, { timeout: 120_000 });
  assert.match((await response?.securityDetails())?.issuer ?? '', /Pebble/);
  assert.equal(response?.status(), 401);
  await page.getByRole('textbox').fill(PASSWORD);
  await page.getByRole('button').click();
  await page.waitForURL(url);
  return await page.title();
}

async function titleAt(context: BrowserContext, url: string): Promise<string> {
  const page = await context.newPage();
  await page.goto(url, { timeout: 120_000 });
  return await page.title();
}

describe('an app with a subdomain for each customer', () => {
  const scope = suiteScope();
  let world: CertifiedRelay;
  let browser: Browser;
  let account: TestAccount;
  let client: Environment;
  let port: string;

  before(async () => {
    world = await startCertifiedRelay(scope, { records: RECORDS });
    browser = await launchTrustingBrowser(scope, world.root, world.address);
    account = await createAccount(world.relay);
    port = String(world.pebble.tlsPort);
    const folder = temporaryDirectory(scope);
    writeFileSync(join(folder, 'authority.pem'), world.root);
    client = {
      CULVERT_RELAY: `https://relay.test:${port}`,
      CULVERT_API_KEY: account.key,
      CULVERT_CA: join(folder, 'authority.pem'),
      CULVERT_TEST_RESOLVER: world.unbound.address,
      NODE_OPTIONS: `--import=${LOOKUP}`,
    };
  });

  /** The app finds the customer in the host, and counts visits in a cookie. */
  async function startApp(): Promise<number> {
    const app = new Koa();
    // As behind any proxy: the visitor's scheme is in X-Forwarded-Proto.
    app.proxy = true;
    app.use((ctx) => {
      if (ctx.path === '/favicon.ico') return;
      const customer = ctx.hostname.split(/--|\./, 1)[0] ?? '';
      const visits = Number(ctx.cookies.get('visits') ?? 0) + 1;
      ctx.cookies.set('visits', String(visits));
      if (ctx.path === '/login') return ctx.redirect(`${ctx.protocol}://${ctx.host}/home`);
      ctx.type = 'html';
      ctx.body = `<!doctype html><title>${customer} ${visits}</title>`;
    });
    return await listen(app.callback());
  }

  async function startApi(): Promise<number> {
    const app = new Koa();
    app.use((ctx) => {
      ctx.body = { host: ctx.host };
    });
    return await listen(app.callback());
  }

  async function listen(handle: ReturnType<Koa['callback']>): Promise<number> {
    const server = createServer((request, response) => void handle(request, response));
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    scope.defer(() => {
      server.close();
      server.closeAllConnections();
    });
    return (server.address() as AddressInfo).port;
  }

  async function start(fields: string): Promise<void> {
    const file = join(temporaryDirectory(scope), 'culvert.yml');
    writeFileSync(file, `tunnels:\n  shop:\n${fields}`);
    const child = spawnCulvert(scope, ['start', '--json', '--config', file], client);
    await child.line((line) => (line.includes('"event":"online"') ? true : undefined), 60_000);
  }

  it('is served at every host of the tunnel, with an API, sessions and a password for each', async () => {
    const [app, api] = await Promise.all([startApp(), startApi()]);
    await start(`    name: shop\n    hosts: { api: ${api}, "*": ${app} }\n    password: ${PASSWORD}\n`);
    const [ann, bob] = ['ann', 'bob'].map((name) => `https://${name}--shop.tunnels.test:${port}`);
    assert.ok(ann !== undefined && bob !== undefined);
    const context = await browser.newContext();
    await eventually(60_000, async () =>
      assert.equal(await world.namesAt('ann--shop.tunnels.test'), 'DNS:*.tunnels.test'),
    );
    assert.equal(await enter(context, `${ann}/`), 'ann 1');
    assert.equal(await titleAt(context, `${ann}/`), 'ann 2');
    // Neither the session nor the right to enter is valid at another customer's host.
    assert.equal(await enter(context, `${bob}/`), 'bob 1');
    assert.equal(await titleAt(context, `${bob}/login`), 'bob 3');
    assert.equal(await titleAt(context, `${ann}/`), 'ann 3');
    const page = await context.newPage();
    const url = `https://api--shop.tunnels.test:${port}/`;
    await page.goto(url);
    await page.getByRole('textbox').fill(PASSWORD);
    await page.getByRole('button').click();
    await page.waitForURL(url);
    assert.match(await page.content(), new RegExp(`api--shop\\.tunnels\\.test:${port}`));
    await context.close();
  });

  it('is served at every host of a domain of its own, with one DNS record for certificates', async () => {
    const app = await startApp();
    const api = world.api(account.key);
    const { id, records } = (await api.send('POST', '/v1/domains', { json: { domain: '*.mine.test' } }))
      .json as Domain;
    const lines = records.map(
      ({ type, name, value }) => `${name}. ${type} ${type === 'TXT' ? `"${value}"` : `${value}.`}`,
    );
    await world.unbound.change([...hostRecords(world.address), ...RECORDS, ...lines]);
    await eventually(60_000, async () =>
      assert.equal(((await api.send('POST', `/v1/domains/${id}/verify`)).json as Domain).status, 'verified'),
    );
    await start(`    port: ${app}\n    domain: "*.mine.test"\n    host_header: keep\n`);
    await eventually(90_000, async () =>
      assert.equal(await world.namesAt('ann.mine.test'), 'DNS:*.mine.test'),
    );
    const context = await browser.newContext();
    assert.equal(await titleAt(context, `https://ann.mine.test:${port}/`), 'ann 1');
    assert.equal(await titleAt(context, `https://bob.mine.test:${port}/`), 'bob 1');
    assert.equal(await titleAt(context, `https://ann.mine.test:${port}/login`), 'ann 3');
    await context.close();
  });
});
