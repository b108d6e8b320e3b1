import assert from 'node:assert/strict';
import { administer, createAccount, withNewKey } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { Relay } from '../support/programs.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { Scope } from '../support/scope.ts';
import { card, expose, appScenarios, signIn } from './support/fixture.ts';
import { visit } from './support/visit.ts';

appScenarios('recovery without intervention', (fixture) => {
  /** A relay for this test, and a port that is exposed through it. */
  async function exposed() {
    const relay = await Relay.start(fixture.scope);
    const opened = await fixture.openSignedIn({ relay });
    return { relay, ...opened, ...(await exposeService(opened)) };
  }

  async function exposeService({ page, app }: Awaited<ReturnType<typeof fixture.openSignedIn>>) {
    const service = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const slug = await expose(page, service.port);
    const { url } = await app.tunnel();
    assert.equal((await visit(url)).body, 'hello');
    return { slug, url };
  }

  it('after a relay was killed', async () => {
    const { relay, page, url, slug } = await exposed();
    await relay.stop('SIGKILL');
    await card(page, slug).getByText('Reconnecting').waitFor();
    await page
      .getByRole('main')
      .getByText(
        /^The relay at .* cannot be reached: .* Culvert keeps trying\. Trying again (now|in \d+ s)\.$/,
      )
      .waitFor();
    // It is shown once, not on every card.
    assert.equal(await card(page, slug).getByText('Trying again').count(), 0);
    await page.getByRole('button', { name: 'Try now' }).click();
    await relay.restart();
    await card(page, slug).getByText('Online').waitFor();
    assert.equal((await visit(url)).body, 'hello');
  });

  it('after a local server was stopped', async () => {
    const { page, app } = await fixture.openSignedIn();
    const running = new Scope();
    fixture.scope.defer(() => running.end());
    const port = await closedPort();
    await startHttpService(running, (_, response) => response.end('before'), port);
    const slug = await expose(page, port);
    const { url } = await app.tunnel();
    assert.equal((await visit(url)).body, 'before');
    await running.end();
    await card(page, slug).getByText('Server not responding').waitFor();
    await card(page, slug).getByText(`Nothing is listening on port ${port}.`).waitFor();
    const refused = await visit(url);
    assert.equal(refused.status, 502);
    assert.match(refused.body, new RegExp(String(port)));
    await startHttpService(fixture.scope, (_, response) => response.end('after'), port);
    await card(page, slug).getByText('Online').waitFor();
    assert.equal((await visit(url)).body, 'after');
  });

  it('after a sleep, including a visitor who arrived during it', async () => {
    const opened = await fixture.openSignedIn();
    const { page, app } = opened;
    const { slug, url } = await exposeService(opened);
    await app.suspend();
    await card(page, slug).getByText('This computer is going to sleep.').waitFor();
    const visitor = visit(`${url}/meanwhile`);
    await app.wake();
    await card(page, slug).getByText('Online').waitFor();
    assert.equal((await visitor).body, 'hello');
    assert.equal((await visit(url)).body, 'hello');
  });

  it('after a sleep in which every connection was lost silently', async () => {
    const relay = await Relay.start(fixture.scope);
    const network = await FaultProxy.start(fixture.scope, relay.port);
    const opened = await fixture.openSignedIn({ relay, address: network.url });
    const { slug, url } = await exposeService(opened);
    network.swallow();
    // Nothing has been noticed: for the relay and for the app the tunnel is online.
    await card(opened.page, slug).getByText('Online').waitFor();
    await opened.app.wake();
    // Without the wake-up, the app would notice after 75 s.
    await eventually(60_000, async () => assert.equal((await visit(url, { ms: 5000 })).body, 'hello'));
    await card(opened.page, slug).getByText('Online').waitFor();
  });

  it('of a tunnel whose key was revoked while it was online, with another key', async () => {
    const opened = await fixture.openSignedIn();
    const { page, account } = opened;
    const { slug, url } = await exposeService(opened);
    await administer(fixture.relay, 'key', 'revoke', account.keyId);
    await page.getByText('The relay no longer accepts your key.').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    const { key } = await withNewKey(fixture.relay, account);
    await signIn(page, fixture.relay.url, key);
    await card(page, slug).getByText('Online').waitFor();
    assert.equal((await visit(url)).body, 'hello');
  });

  it('excludes the tunnels of another account after a sign-in with its key', async () => {
    const opened = await fixture.openSignedIn();
    const { page, account } = opened;
    await exposeService(opened);
    const other = await createAccount(fixture.relay);
    await administer(fixture.relay, 'key', 'revoke', account.keyId);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await signIn(page, fixture.relay.url, other.key);
    await page.getByText(`${other.name} · Dev plan`).waitFor();
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
  });
});
