/** Diagnostics: the path to the relay and back, checked hop by hop in the window. */
import assert from 'node:assert/strict';
import { Api } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
import { Relay } from '../support/programs.ts';
import { Scope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { card, expose, scenarios } from './support/fixture.ts';
import { reads, visit } from './support/visit.ts';

scenarios('diagnostics', (fixture) => {
  it('check as far as the server of the failing tunnel, and leave nothing at the relay', async () => {
    const { app, page, account } = await fixture.openSignedIn();
    const running = new Scope();
    fixture.scope.defer(() => running.end());
    const { port } = await startHttpService(running, (_, response) => response.end('hello'));
    const slug = await expose(page, port);
    await running.end();
    assert.equal((await visit((await app.tunnel()).url)).status, 502);
    await card(page, slug).getByRole('button', { name: 'Diagnose' }).click();
    const dialog = page.getByRole('dialog', { name: `Connection to ${slug}` });
    await dialog.getByText('Failed: Your server.').waitFor();
    const rows = await dialog.getByRole('listitem').allInnerTexts();
    assert.equal(rows.length, 12);
    assert.match(
      rows.at(-1) ?? '',
      /nothing responds on port \d+ at 127\.0\.0\.1 or ::1.*Start your server/s,
    );
    assert.match(rows.find((row) => row.includes('Request through the tunnel')) ?? '', /got a response/);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.locator(':focus', { hasText: 'Diagnose' }).waitFor();
    const api = new Api(fixture.relay, account.key);
    await eventually(20_000, async () => {
      const left = await api.list();
      assert.deepEqual(
        left.map((tunnel) => tunnel.slug),
        [slug],
      );
    });
    await page.getByRole('region', { name: 'Opened elsewhere' }).waitFor({ state: 'detached' });
  });

  it('show where the connection stops and what to do at the banner of an outage', async () => {
    const relay = await Relay.start(fixture.scope);
    const { page } = await fixture.openSignedIn({ relay });
    const site = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const slug = await expose(page, site.port);
    await relay.stop('SIGKILL');
    await card(page, slug).getByText('Reconnecting').waitFor();
    await page.getByRole('button', { name: 'Diagnose', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Connection to the relay' });
    await dialog.getByText('Failed: Network connection.').waitFor();
    await dialog.getByText('Check that culvert-relay is running there').waitFor();
    await reads(dialog, /not checked, because an earlier step failed/);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
  });
});
