/** What ends by mistake or by chance comes back: connections, local servers, keys, and whatever undo restores. */
import assert from 'node:assert/strict';
import { administer, createAccount, withNewKey } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { Scope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import {
  appScenarios,
  card,
  chooseFromPalette,
  chooseOfLog,
  expose,
  scenarios,
  signedInAs,
  type SignedInOptions,
  signIn,
} from './support/fixture.ts';
import { reads, visit } from './support/visit.ts';

appScenarios('recovery without intervention', (fixture) => {
  /** An exposed service that a visitor has reached. */
  async function exposed(options?: SignedInOptions) {
    const opened = await fixture.openSignedIn(options);
    const service = new Scope();
    fixture.scope.defer(() => service.end());
    const port = await closedPort();
    await startHttpService(service, (_, response) => response.end('hello'), port);
    const slug = await expose(opened.page, port);
    const { url } = await opened.app.tunnel();
    assert.equal((await visit(url)).body, 'hello');
    return { ...opened, slug, url, port, service, tunnel: card(opened.page, slug) };
  }

  it('after a relay was killed, with diagnostics of where the connection stops', async () => {
    const relay = await Relay.start(fixture.scope);
    const { page, tunnel, url } = await exposed({ relay });
    await relay.stop('SIGKILL');
    await tunnel.getByText('Reconnecting').waitFor();
    await page
      .getByRole('main')
      .getByText(
        /^The relay at .* cannot be reached: .* Culvert keeps trying\. Trying again (now|in \d+ s)\.$/,
      )
      .waitFor();
    // It is shown once, not on every card.
    assert.equal(await tunnel.getByText('Trying again').count(), 0);
    await page.getByRole('button', { name: 'Diagnose', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Connection to the relay' });
    await dialog.getByText('Failed: Network connection.').waitFor();
    await dialog.getByText('Check that culvert-relay is running there').waitFor();
    await reads(dialog, /not checked, because an earlier step failed/);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    const form = page.getByRole('form', { name: 'New tunnel' });
    await page.getByLabel('Port', { exact: true }).fill('9');
    await form.getByRole('button', { name: 'Expose' }).click();
    await form.getByText(/cannot be reached/).waitFor();
    await page.getByRole('button', { name: 'Try now' }).click();
    await relay.restart();
    await tunnel.getByText('Online').waitFor();
    // What could not be done for that reason no longer says so.
    await form.getByText(/cannot be reached/).waitFor({ state: 'detached' });
    assert.equal((await visit(url)).body, 'hello');
  });

  it('after a local server was stopped, with diagnostics as far as it, which leave nothing at the relay', async () => {
    const { page, account, tunnel, url, slug, port, service } = await exposed();
    await service.end();
    await tunnel.getByText('Server not responding').waitFor();
    await tunnel.getByText(`Nothing is listening on port ${port}.`).waitFor();
    const seen = await visit(url);
    assert.equal(seen.status, 502);
    assert.match(seen.body, /"code":"local-refused"/);
    // The port is nobody's business but the owner's.
    assert.doesNotMatch(seen.body, new RegExp(String(port)));
    await tunnel.getByRole('button', { name: 'Diagnose' }).click();
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
    await eventually(20_000, async () => {
      const left = await account.api.list();
      assert.deepEqual(
        left.map((each) => each.slug),
        [slug],
      );
    });
    await page.getByRole('region', { name: 'Opened elsewhere' }).waitFor({ state: 'detached' });
    await startHttpService(fixture.scope, (_, response) => response.end('after'), port);
    await tunnel.getByText('Online').waitFor();
    assert.equal((await visit(url)).body, 'after');
  });

  it('after a sleep, with a visitor who arrived during it, or in which every connection was lost silently', async () => {
    const relay = await Relay.start(fixture.scope);
    const network = await FaultProxy.start(fixture.scope, relay.port);
    const { app, tunnel, url } = await exposed({ relay, address: network.url });
    await app.suspend();
    await tunnel.getByText('This computer is going to sleep.').waitFor();
    const visitor = visit(`${url}/meanwhile`);
    await app.wake();
    await tunnel.getByText('Online').waitFor();
    assert.equal((await visitor).body, 'hello');
    network.swallow();
    // Nothing has been noticed: for the relay and for the app the tunnel is online.
    await tunnel.getByText('Online').waitFor();
    await app.wake();
    // Without the wake-up, the app would notice after 75 s.
    await eventually(60_000, async () => assert.equal((await visit(url, { ms: 5000 })).body, 'hello'));
    await tunnel.getByText('Online').waitFor();
  });

  it('of tunnels whose key was revoked, with another key of their account, and of no other account', async () => {
    const { page, account, tunnel, url } = await exposed();
    await administer(fixture.relay, 'key', 'revoke', account.keyId);
    await page.getByText('The relay no longer accepts your key.').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    const { key, keyId } = await withNewKey(fixture.relay, account);
    await signIn(page, fixture.relay.url, key);
    await tunnel.getByText('Online').waitFor();
    assert.equal((await visit(url)).body, 'hello');
    await administer(fixture.relay, 'key', 'revoke', keyId);
    await page.getByText('The relay no longer accepts your key.').waitFor();
    const other = await createAccount(fixture.relay);
    await signIn(page, fixture.relay.url, other.key);
    await signedInAs(page, other.name);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
  });
});

scenarios('undo', (fixture) => {
  it('restores stopped and removed tunnels with their addresses, a cleared log, and a sign-out', async () => {
    const { page, app } = await fixture.openSignedIn();
    const { port } = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const slug = await expose(page, port);
    const tunnel = card(page, slug);
    const { url } = await app.tunnel();
    await page.getByRole('button', { name: `Stop ${slug}` }).click();
    await tunnel.getByText('Stopped', { exact: true }).waitFor();
    const visitor = visit(`${url}/meanwhile`);
    await page.getByRole('button', { name: `Undo: Stopped ${slug}.` }).click();
    await tunnel.getByText('Online').waitFor();
    const { body } = await visitor;
    assert.equal(body, 'hello', 'the relay lets visitors wait for a tunnel that may come back');

    await page.getByRole('button', { name: `Stop ${slug}` }).click();
    await page.getByRole('button', { name: `Remove ${slug}` }).click();
    // A field handles the key itself. The heading is not a field.
    await page.getByRole('heading', { name: 'No tunnels yet' }).click();
    await page.keyboard.press('Control+z');
    await tunnel.waitFor();
    await page.keyboard.press('Control+z');
    await tunnel.getByText('Online').waitFor();

    await visit(`${url}/seen`);
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    const rows = page.locator('.log .target');
    await rows.getByText('/seen').waitFor();
    const before = await rows.allInnerTexts();
    await chooseOfLog(page, 'Clear');
    await page.getByText('No requests yet').waitFor();
    await visit(`${url}/late`);
    await page.getByRole('button', { name: `Undo: Cleared the log of ${slug}.` }).click();
    // Including new requests.
    await eventually(20_000, async () => assert.deepEqual(await rows.allInnerTexts(), ['/late', ...before]));

    await page.keyboard.press('Control+,');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.getByRole('button', { name: /^Undo: You signed out/ }).click();
    await tunnel.getByText('Online').waitFor();
    assert.equal((await visit(url)).body, 'hello');
  });

  it('also restores a tunnel of the command, which is shown with its origin, copied, extended and stopped', async () => {
    const { app, page, account, directory } = await fixture.openSignedIn();
    const site = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const command = await Culvert.start(fixture.scope, fixture.relay, account.key, site.port, [], {
      // Where the app looks for other programs of this user.
      XDG_RUNTIME_DIR: directory,
    });
    const { slug, public_url: url } = command.tunnel;
    const other = page
      .getByRole('region', { name: 'Opened elsewhere' })
      .locator(`.card[data-slug="${slug}"]`);
    await other.getByText('The command on this computer').waitFor();
    await other.getByText('Online').waitFor();

    await other.getByRole('button', { name: `Copy the address of ${slug}` }).click();
    await other.getByText('Copied').waitFor();
    await chooseFromPalette(page, `copy ${slug}`);
    await page.getByRole('dialog').getByText(url).waitFor();
    assert.deepEqual(await app.copied(), [url, url]);
    await page.keyboard.press('Escape');

    const [before] = await account.api.list();
    await other.getByRole('button', { name: `Extend ${slug}` }).click();
    await other.getByRole('button', { name: '+1 h' }).click();
    await other.getByRole('button', { name: '+1 h' }).waitFor({ state: 'detached' });
    const [after] = await account.api.list();
    assert.equal(Date.parse(after?.expires_at ?? '') - Date.parse(before?.expires_at ?? ''), 3_600_000);

    await other.getByRole('button', { name: `Stop ${slug}` }).click();
    await other.getByText('Stopping').waitFor();
    await page.getByRole('button', { name: new RegExp(`^Undo: ${slug}`) }).click();
    await other.getByText('Online').waitFor();
  });
});
