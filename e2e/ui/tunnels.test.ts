import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { startSite } from '../support/services/site.ts';
import { expose, scenarios } from './support/fixture.ts';
import { visit } from './support/visit.ts';

scenarios('tunnels', (fixture) => {
  it('exposes a port under a random name, and a visitor gets through', async () => {
    const { page, app } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    const slug = await expose(page, site.port);
    await page.getByRole('button', { name: `Copy the address of ${slug}` }).click();
    await page
      .getByRole('button', { name: `Copy the address of ${slug}` })
      .getByText('Copied')
      .waitFor();
    const [address = ''] = await app.copied();
    assert.equal((await visit(`${address}/hello`)).status, 200);
    await page.getByRole('button', { name: `Open ${slug}` }).click();
    await eventually(2000, async () => assert.deepEqual(await app.opened(), [`${address}/`]));
  });

  it('shows requests and traffic as they come', async () => {
    const { page, app } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    await expose(page, site.port);
    const address = (await app.tunnel()).url;
    await visit(`${address}/bytes/50000`);
    await page.getByRole('button', { name: 'GET /bytes/50000 200' }).waitFor();
    await visit(`${address}/two`, { method: 'POST', body: 'x' });
    await page.getByRole('button', { name: 'POST /two 200' }).waitFor();
    await page.locator('.requests', { hasText: '2 requests' }).waitFor();
    await page.getByText(/^50\.\d kB$/).waitFor();
  });

  it('exposes a port under a name, and says at the field that it is taken', async () => {
    const { page } = await fixture.openSignedIn();
    const other = await createAccount(fixture.relay);
    await other.api.create({ local_port: 9, name: 'taken-name' });
    await page.getByRole('button', { name: 'Options' }).click();
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('Taken Name!');
    await page.getByText('"!" cannot be in a name').waitFor();
    await name.fill('taken-name');
    await page.getByLabel('Port', { exact: true }).fill('3000');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('Somebody else has this name').waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    await page.locator('#name:focus').waitFor();
    await name.fill('free-name');
    await page.keyboard.press('Enter');
    await page.locator('.card[data-slug="free-name"]').waitFor();
  });

  it('says that the plan allows no names, instead of a field', async () => {
    const { page } = await fixture.openSignedIn({ plan: 'free' });
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByText('choosing one needs the Dev plan or above').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).count(), 0);
  });

  it('says when the relay takes no more creates', async () => {
    const { page, account } = await fixture.openSignedIn();
    for (let left = 5; left > 0; left -= 1) await account.api.create({ local_port: 9 });
    await page.getByLabel('Port', { exact: true }).fill('3000');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByRole('alert').getByText('Too many new tunnels at once').waitFor();
  });

  it('says what is wrong with a port', async () => {
    const { page } = await fixture.openSignedIn();
    await page.getByLabel('Port', { exact: true }).fill('70000');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('from 1 to 65535').waitFor();
  });

  it('suggests ports that something listens on', async () => {
    const site = await startSite(fixture.scope);
    const { page } = await fixture.openSignedIn();
    const port = page.getByLabel('Port', { exact: true });
    await port.fill(String(site.port));
    await page.getByText(/ is here$/).waitFor();
    await page.getByRole('option', { name: String(site.port) }).click();
    assert.equal(await port.inputValue(), String(site.port));
  });

  it('extends by one click and by a time that is typed', async () => {
    const { page, app } = await fixture.openSignedIn();
    const slug = await expose(page, await listeningPort());
    const expiry = async () => (await app.tunnel()).expiresAt;
    const before = await expiry();
    await page.getByRole('button', { name: `Extend ${slug}` }).click();
    await page.getByRole('button', { name: '+15 min' }).click();
    await page.getByText('1 h 14 min left').waitFor();
    assert.equal(await expiry(), before + 15 * 60_000);
    await page.getByRole('button', { name: `Extend ${slug}` }).click();
    await page.getByLabel('Another length of time').fill('soon');
    await page.keyboard.press('Enter');
    await page.getByText('Give a number with its unit').waitFor();
    await page.getByLabel('Another length of time').fill('2 hours');
    await page.keyboard.press('Enter');
    await page.getByText('3 h 14 min left').waitFor();
  });

  it('stops a tunnel, starts it again, and removes it', async () => {
    const { page, app, account } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    const slug = await expose(page, site.port);
    const address = (await app.tunnel()).url;
    await page.getByRole('button', { name: `Stop ${slug}` }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
    await eventually(2000, async () => assert.equal((await visit(address)).status, 404));
    await page.getByRole('button', { name: `Start again ${slug}` }).click();
    await page.locator('.card').getByText('Online').waitFor();
    const again = await app.tunnel();
    assert.equal((await visit(again.url)).status, 200);
    await page.getByRole('button', { name: `Stop ${again.slug}` }).click();
    await page.getByRole('button', { name: `Remove ${again.slug}` }).click();
    await page.getByRole('heading', { name: 'Nothing is exposed' }).waitFor();
    assert.deepEqual(await account.api.list(), []);
  });

  it('says that the local server is gone, and that it is back', async () => {
    const { page, app } = await fixture.openSignedIn();
    const port = await closedPort();
    await page.getByLabel('Port', { exact: true }).fill(String(port));
    await page.getByText('Nothing listens here yet').waitFor();
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText(`Nothing listens on port ${port}.`).first().waitFor();
    const address = (await app.tunnel()).url;
    assert.equal((await visit(address)).status, 502);
    const site = await startHttpService(fixture.scope, (_, response) => response.end('back'), port);
    assert.equal(site.port, port);
    await page.locator('.card').getByText('Online').waitFor();
    assert.equal((await visit(address)).body, 'back');
  });

  it('says that the relay is away, and goes on when it is back', async () => {
    const { page, app } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    await expose(page, site.port);
    await fixture.relay.stop();
    await page.locator('.card').getByText('Reconnecting').waitFor();
    await fixture.relay.restart();
    await app.wake();
    await page.locator('.card').getByText('Online').waitFor();
    assert.equal((await visit((await app.tunnel()).url)).status, 200);
  });

  it('tells that a tunnel has expired', async () => {
    const { page } = await fixture.openSignedIn();
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Lives for').selectOption('custom');
    await page.getByLabel('Time to live').fill('2s');
    await page.getByLabel('Port', { exact: true }).fill(String(await listeningPort()));
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('Expired', { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Start again/ }).waitFor();
  });

  async function listeningPort(): Promise<number> {
    return (await startHttpService(fixture.scope, (_, response) => response.end())).port;
  }
});
