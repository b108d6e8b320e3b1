/** A custom domain: added, configured in the DNS, verified, and served. */
import assert from 'node:assert/strict';
import { DnsServer } from '../../server/testing/dns-server.ts';
import { eventually } from '../support/deadline.ts';
import { Relay } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { startSite } from '../support/services/echo.ts';
import { scenarios } from './support/fixture.ts';

scenarios('a custom domain', (fixture) => {
  it('is added, shows the missing records until they exist, and gets the tunnel', async () => {
    const dns = await DnsServer.start();
    fixture.scope.defer(() => dns.stop());
    const relay = await Relay.start(fixture.scope, { CULVERT_RESOLVER: dns.address });
    const { page, app } = await fixture.openSignedIn({ relay });
    const site = await startSite(fixture.scope);
    await page.getByLabel('Port', { exact: true }).fill(String(site.port));
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByLabel('Your domain').selectOption({ label: 'Add a domain…' });
    const text = page.getByLabel('Domain', { exact: true });
    await text.fill('localhost');
    await text.press('Enter');
    await page.getByText('at least two labels').waitFor();
    await text.fill('App.Shop.test');
    await text.press('Enter');
    const setup = page.getByRole('group', { name: 'DNS records for app.shop.test' });
    await setup.waitFor();

    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('app.shop.test is not verified yet').waitFor();
    await setup.getByRole('button', { name: 'Check' }).click();
    await setup.getByText('There is no TXT record _culvert.app.shop.test.').waitFor();
    await setup.getByText('No record points app.shop.test to this relay.').waitFor();

    const copied = async (what: string): Promise<string> => {
      const before = (await app.copied()).length;
      await setup.getByRole('button', { name: `Copy the ${what}`, exact: true }).click();
      return await eventually(20_000, async () => {
        const all = await app.copied();
        assert.equal(all.length, before + 1);
        return all.at(-1) ?? '';
      });
    };
    for (const type of ['CNAME', 'TXT'] as const) {
      const name = await copied(`name of the ${type} record`);
      dns.set(name, type, await copied(`value of the ${type} record`));
    }
    await setup.getByRole('button', { name: 'Check' }).click();
    await setup.waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Your domain').inputValue(), 'app.shop.test');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.locator('.card').getByText('Online').waitFor();
    assert.equal((await app.tunnel()).url, `http://app.shop.test:${relay.port}`);
    assert.equal((await visit(relay.port, { host: 'app.shop.test' })).status, 200);

    await page.getByLabel('Port', { exact: true }).fill('9');
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByLabel('Your domain').selectOption('app.shop.test');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('Another tunnel uses the domain.').waitFor();

    const field = page.getByLabel('Your domain');
    await page.getByRole('button', { name: 'Remove the domain app.shop.test' }).click();
    await page.locator('#domain:focus').waitFor();
    await page.getByRole('button', { name: /^Undo: app\.shop\.test will be removed/ }).click();
    await field.selectOption('app.shop.test');
    await page.getByRole('button', { name: 'Remove the domain app.shop.test' }).click();
  });
});
