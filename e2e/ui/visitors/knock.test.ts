/** An approval request and the wait for the decision, in a browser (protocol.md section 11.3). */
import assert from 'node:assert/strict';
import type { Browser, Page, Request } from 'playwright-core';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount } from '../../support/accounts.ts';
import { Api } from '../../support/api.ts';
import { KnockOwner } from '../../support/approvals.ts';
import { Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { type HttpService, startHttpService } from '../../support/services/listen.ts';
import { sharedBrowser } from '../support/running-app.ts';
import { assertPageReadable, openAddress, type OpenAddress, TWO_FORMS, FORMS } from '../support/readable.ts';

/**
 * Whether a request is the poll of the waiting page. While it is in progress, the browser shows the page, but its
 * debugger reports nothing about it.
 */
function isWait(request: Request): boolean {
  return request.url().endsWith('culvert_gate=wait');
}

/** Blocks all requests of the waiting page, so that it does not change. */
async function freeze(page: Page): Promise<void> {
  await page.route(/culvert_gate=wait$/, (route) => route.fulfill({ status: 204 }));
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name }).waitFor();
}

describe('an approval request in a browser', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let relay: Relay;
  let service: HttpService;
  let key: string;
  let tunnel: Tunnel;
  let owner: KnockOwner;

  before(async () => {
    [relay, service, browser] = await Promise.all([
      Relay.start(suite, { CULVERT_ABUSE_CONTACT: 'abuse@example.com' }),
      startHttpService(suite, ({ url = '' }, response) => {
        response.setHeader('Content-Type', 'text/html');
        response.end(
          `<!doctype html><title>Shop</title><link rel="icon" href="data:,"><p>asked for ${url}</p>`,
        );
      }),
      sharedBrowser(),
    ]);
    ({ key } = await createAccount(relay));
  });

  beforeEach(async () => {
    tunnel = await new Api(relay, key).create({ local_port: service.port, access: { knock: true } });
    owner = await KnockOwner.open(scope, relay, key, tunnel.id);
    owner.serve(scope, relay, service.port);
  });

  /** Opens the address, presses the button, and waits until the waiting page has sent its first poll. */
  async function knock(address: string): Promise<OpenAddress> {
    const opened = await openAddress(scope, browser, address);
    assert.equal(opened.answer.status(), 401);
    await opened.page.keyboard.press('Tab');
    assert.equal(await opened.page.evaluate<string>('document.activeElement.textContent'), 'Ask for access');
    const next = opened.page.waitForRequest(isWait);
    await opened.page.keyboard.press('Enter');
    await next;
    return opened;
  }

  for (const [form, addressOf] of TWO_FORMS) {
    it(`shows a waiting page, and opens the requested page immediately after approval (${form})`, async () => {
      const address = `${addressOf(tunnel)}page?q=1`;
      const { page, requests } = await knock(address);
      const { id } = await owner.hears();
      assert.equal(page.url(), address);
      const begin = performance.now();
      await owner.answer(id, true);
      await page.getByText('asked for /page?q=1').waitFor();
      // Long before the page would poll again by itself.
      assert.ok(performance.now() - begin < 15_000, `${performance.now() - begin} ms`);
      assert.equal(page.url(), address);
      assert.deepEqual(
        requests.filter((url) => new URL(url).host !== new URL(address).host),
        [],
      );
    });
  }

  it('shows a denial, and offers nothing that was refused', async () => {
    const { page } = await knock(FORMS.subdomain(tunnel));
    await owner.answer((await owner.hears()).id, false);
    await heading(page, 'Access denied');
    assert.equal(await page.getByRole('button').count(), 0);
  });

  it('is readable in every view and at every width', async () => {
    const address = FORMS.path(tunnel);
    const { page } = await openAddress(scope, browser, address);
    await assertPageReadable(page);
    await freeze(page);
    await page.getByRole('button', { name: 'Ask for access' }).click();
    await heading(page, 'Waiting for approval');
    await assertPageReadable(page);
    await owner.answer((await owner.hears()).id, false);
    await page.getByRole('link', { name: 'Check now' }).click();
    await heading(page, 'Access denied');
    await assertPageReadable(page);
  });

  it('keeps waiting after a reload, and in two tabs', async () => {
    const address = FORMS.subdomain(tunnel);
    const { page } = await knock(address);
    const again = page.waitForRequest(isWait);
    page.goto(address, { waitUntil: 'commit' }).catch(() => {});
    await again;
    const other = await page.context().newPage();
    const asked = other.waitForRequest(isWait);
    other.goto(address, { waitUntil: 'commit' }).catch(() => {});
    await asked;
    await owner.answer((await owner.hears()).id, true);
    for (const each of [page, other]) await each.getByText('asked for /').waitFor();
    assert.equal(owner.heard.length, 1);
  });
});
