/** Sign-in at relays of a cluster: a balancer may send each step of it to another one. */
import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { RelayCluster } from '../support/cluster.ts';
import { CookieBrowser } from '../support/cookie-browser.ts';
import { eventually } from '../support/deadline.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { TestIdentityProvider, findProvider } from '../support/services/identity-provider.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const [A, B, C] = [0, 1, 2] as const;

describe('sign-in on three relays', function () {
  const suite = suiteScope();
  const scope = testScope();
  let idp: TestIdentityProvider;
  let cluster: RelayCluster;
  let account: TestAccount;
  let tunnel: Tunnel;
  /** of the balancer, which the test is */
  let port: number;
  /** where the balancer sends the next requests */
  let turn: number;
  let browser: CookieBrowser;

  before(async () => {
    idp = await TestIdentityProvider.start(suite);
    port = await closedPort();
    const publicUrl = `http://localhost:${port}`;
    idp.register(publicUrl);
    cluster = await RelayCluster.start(suite, 3, { ...idp.settings, CULVERT_PUBLIC_URL: publicUrl });
    await findProvider(...[0, 1, 2].map((index) => cluster.relay(index)));
    account = await createAccount(cluster.relay(A), { plan: 'team' });
  });

  beforeEach(async () => {
    const service = await startHttpService(scope, ({ headers, url }, response) => {
      response.end(`${String(headers['culvert-visitor'])} ${url}`);
    });
    const wanted = { local_port: service.port, access: { sign_in: ['*@example.com'] } };
    ({ tunnel } = await SpecClient.start(scope, cluster.relay(A), account.key, wanted));
    browser = new CookieBrowser((url) =>
      Number(url.port) === port ? cluster.relay(turn).port : Number(url.port),
    );
  });

  /** Opens an address at one of the relays. */
  async function step(index: number, address: string) {
    turn = index;
    return await browser.step(address);
  }

  /** @returns where a relay sends the browser */
  async function onward(index: number, address: string): Promise<string> {
    const { head, status } = await step(index, address);
    return head.field('location') ?? assert.fail(`${status} at ${address}`);
  }

  /** Begins at A and B. @returns the address that the provider sends the browser to */
  async function callback(): Promise<string> {
    const address = `http://${tunnel.slug}.localhost:${port}/a`;
    // Each relay finds the provider by itself.
    await eventually(20_000, async () => {
      for (const index of [A, B, C]) assert.equal((await step(index, address)).status, 302);
    });
    const login = await browser.open(await onward(B, await onward(A, address)));
    const sent = await browser.signInAs(
      'ann@example.com',
      login,
      ({ pathname }) => pathname === '/auth/callback',
    );
    return sent.head.field('location') ?? assert.fail('no callback');
  }

  it('takes each step at another relay', async () => {
    const arrival = await onward(C, await callback());
    assert.equal((await step(B, arrival)).status, 303);
    for (const index of [A, B, C]) {
      const page = await step(index, `http://${tunnel.slug}.localhost:${port}/a`);
      assert.equal(page.text, 'user:ann@example.com /a');
    }
  });

  it('counts once at all of them', async () => {
    const back = await callback();
    const arrival = await onward(C, back);
    for (const index of [A, B, C]) assert.equal((await step(index, back)).status, 400);
    assert.equal((await step(A, arrival)).status, 303);
    for (const index of [A, B, C]) assert.equal((await step(index, arrival)).status, 400);
  });
});
