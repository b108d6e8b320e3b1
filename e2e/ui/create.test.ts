import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { visit as visitRaw } from '../support/raw-http.ts';
import { startSite } from '../support/services/echo.ts';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios } from './support/fixture.ts';
import { visit } from './support/visit.ts';

scenarios('creating a tunnel', (fixture) => {
  it('exposes a port under a random name, and a visitor gets through', async () => {
    const { page, app } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    const slug = await expose(page, site.port);
    await page.getByRole('button', { name: `Copy the address of ${slug}` }).click();
    await page.getByRole('button', { name: `Copied the address of ${slug}` }).waitFor();
    const [address = ''] = await app.copied();
    assert.equal((await visit(`${address}/hello`)).status, 200);
    await page.getByRole('button', { name: `Open ${slug}` }).click();
    await eventually(20_000, async () => assert.deepEqual(await app.opened(), [address]));
  });

  it('compresses responses if that mode is selected', async () => {
    const { page, app } = await fixture.openSignedIn();
    const text = 'Text that shrinks. '.repeat(200);
    const { port } = await startHttpService(fixture.scope, (_request, response) => {
      response.setHeader('content-type', 'text/plain').end(text);
    });
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Compression').selectOption('On');
    await expose(page, port);
    const { host } = new URL((await app.tunnel()).url);
    const { head } = await visitRaw(fixture.relay.port, { host, headers: [['Accept-Encoding', 'gzip']] });
    assert.equal(head.field('content-encoding'), 'gzip');
  });

  it('sets a lifetime and headers, and reports a header that cannot be changed', async () => {
    const { page, app } = await fixture.openSignedIn();
    const { port } = await startHttpService(fixture.scope, (request, response) => {
      response.setHeader('x-old', '1').end(`${String(request.headers['x-env'])} ${request.headers.cookie}`);
    });
    await page.getByRole('button', { name: 'Options' }).click();
    assert.equal(
      await page.getByLabel('Expires after').locator('option:checked').textContent(),
      'Culvert quits',
    );
    await page.getByLabel('Expires after').selectOption('custom');
    await page.getByLabel('Custom time').fill('2h');
    await page.getByLabel('Restart the timer on every visit').check();
    const request = page.getByLabel('Request headers');
    await request.fill('X-Env: dev\nHost: other');
    await page.getByLabel('Response headers').fill('-X-Old');
    await page.getByLabel('Port', { exact: true }).fill(String(port));
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('“Host: other” cannot be used').waitFor();
    await page.locator('#request-headers:focus').waitFor();
    await request.fill('X-Env: dev\n-Cookie');
    await expose(page, port);
    await page.locator('.card').getByText('left if unused').waitFor();
    assert.equal((await app.tunnel()).ttl, 7200);
    const { host } = new URL((await app.tunnel()).url);
    const { head, text } = await visitRaw(fixture.relay.port, { host, headers: [['Cookie', 'a=b']] });
    assert.deepEqual([text, head.field('x-old')], ['dev undefined', undefined]);
  });

  it('exposes every host of the address, and shows which', async () => {
    const { page } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Name', { exact: true }).fill('many-hosts');
    await page.getByText('*--many-hosts.…').waitFor();
    await page.getByLabel('Use every host of this address').check();
    await expose(page, site.port);
    await page.locator('.card').getByText(`*--many-hosts.localhost:${fixture.relay.port}`).waitFor();
    const { status } = await visitRaw(fixture.relay.port, { host: 'any--many-hosts.localhost' });
    assert.equal(status, 200);
  });

  it('exposes a port under a name, and reports a taken one at the field', async () => {
    const { page } = await fixture.openSignedIn();
    const other = await createAccount(fixture.relay);
    await other.api.create({ local_port: 9, name: 'taken-name' });
    await page.getByRole('button', { name: 'Options' }).click();
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('Taken Name!');
    await page.getByText('"!" is not allowed in a name').waitFor();
    await name.fill('taken-name');
    await page.getByLabel('Port', { exact: true }).fill('3000');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('Someone else is using this name').waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    await page.locator('#name:focus').waitFor();
    await name.fill('free-name');
    await page.keyboard.press('Enter');
    await page.locator('.card[data-slug="free-name"]').waitFor();
  });

  it('explains that the plan allows no names, instead of showing a field', async () => {
    const { page } = await fixture.openSignedIn({ plan: 'free' });
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByText('Choosing a name requires the Dev plan or above').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).count(), 0);
  });

  it('sends the local server the host name that it expects', async () => {
    const { page, app } = await fixture.openSignedIn();
    const { port } = await startHttpService(fixture.scope, (request, response) =>
      response.end(request.headers.host),
    );
    const field = page.getByLabel('Port', { exact: true });
    await field.fill(String(port));
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Host header').selectOption('local');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.locator('.card').getByText('Online').waitFor();
    assert.equal((await visit((await app.tunnel()).url)).body, `localhost:${port}`);

    await field.fill(String(port));
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Host header').selectOption('custom');
    await page.getByLabel('Host name').fill('shop.test');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.locator('.card').getByText('Online').nth(1).waitFor();
    assert.equal((await visit((await app.tunnel()).url)).body, 'shop.test');
  });

  it('suggests ports that something listens on', async () => {
    const site = await startSite(fixture.scope);
    const { page } = await fixture.openSignedIn();
    const port = page.getByLabel('Port', { exact: true });
    await port.fill(String(site.port));
    await page.getByText(/ is running$/).waitFor();
    await page.getByRole('option', { name: String(site.port) }).click();
    assert.equal(await port.inputValue(), String(site.port));
  });
});
