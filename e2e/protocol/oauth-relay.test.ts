/** What agents need of a whole relay (protocol.md section 11.6): its limits, its identity provider, its log, a restart. */
import assert from 'node:assert/strict';
import type { Agent } from '../../shared/agents.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { codeIn, OAuthClient, submit, tokensIn } from '../support/agents.ts';
import { CookieBrowser, type Visited } from '../support/cookie-browser.ts';
import { eventually } from '../support/deadline.ts';
import { bearer, LockedTunnels } from '../support/locked-tunnels.ts';
import type { Field } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { TestIdentityProvider, findProvider } from '../support/services/identity-provider.ts';

function from(address: string): Field {
  return ['X-Forwarded-For', address];
}

/** Somebody signs in at the page of a client's request. */
async function signIn(client: OAuthClient, browser: CookieBrowser, account: string): Promise<Visited> {
  const page = await browser.step(client.authorizeAddress());
  const begun = await submit(browser, page, 'Sign in with Example');
  const login = await browser.open(begun.head.field('location') ?? assert.fail(begun.text));
  return await browser.signInAs(account, login);
}

describe('registrations of agents (protocol.md section 11.6)', () => {
  // This machine counts as a proxy, so that a client can have any address.
  const suite = relaySuite({ CULVERT_TRUST_PROXY: '127.0.0.1', CULVERT_ADDRESS_CONNECTIONS: '0' });
  const locked = new LockedTunnels(suite);

  async function register(address: string, uri = 'https://app.example/back'): Promise<[number, string]> {
    const client = new OAuthClient(suite.relay.port, '');
    const body = JSON.stringify({ redirect_uris: [uri] });
    const { status } = await client.post('/oauth/register', body, [from(address)]);
    return [status, client.id];
  }

  it('are limited to 10 an hour for an address, refused ones not counted', async () => {
    for (const [first, second, third] of [
      ['203.0.113.1', '203.0.113.1', '203.0.113.2'],
      ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:2::1'],
    ] as const) {
      for (let each = 0; each < 3; each += 1)
        assert.equal((await register(first, 'http://x.example'))[0], 400);
      for (let each = 0; each < 10; each += 1) assert.equal((await register(first))[0], 201);
      assert.equal((await register(second))[0], 429);
      assert.equal((await register(third))[0], 201);
    }
  });

  it('are forgotten beyond 100, the oldest that nobody has approved first', async () => {
    const tunnel = await locked.start({ oauth: true, password: 'mild-oak' });
    const resource = `http://${tunnel.slug}.localhost:${suite.relay.port}/`;
    const clients: OAuthClient[] = [];
    for (let each = 0; each < 100; each += 1) {
      const client = new OAuthClient(suite.relay.port, resource, 'https://app.example/back');
      const fields = { redirect_uris: [client.redirectUri] };
      const response = await client.post('/oauth/register', JSON.stringify(fields), [
        from(`198.51.100.${each}`),
      ]);
      client.id = (JSON.parse(response.text) as { client_id: string }).client_id;
      clients.push(client);
    }
    const [approved, forgotten, kept] = clients as [OAuthClient, OAuthClient, OAuthClient];
    const browser = new CookieBrowser();
    const page = await browser.step(approved.authorizeAddress());
    codeIn(await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' }), approved);
    assert.equal((await register('198.51.100.200'))[0], 201);
    const statuses = [];
    for (const client of [approved, forgotten, kept])
      statuses.push((await browser.step(client.authorizeAddress())).status);
    assert.deepEqual(statuses, [200, 400, 200]);
  });
});

describe('agents of people who sign in (protocol.md section 11.6)', () => {
  const idpScope = suiteScope();
  let idp: TestIdentityProvider;
  const settings: Record<string, string> = {};
  before(async () => {
    idp = await TestIdentityProvider.start(idpScope);
    Object.assign(settings, idp.settings);
  });
  const suite = relaySuite(settings);
  const locked = new LockedTunnels(suite);
  before(async () => {
    idp.register(`http://localhost:${suite.relay.port}`);
    await findProvider(suite.relay);
  });

  function clientOf(tunnel: Tunnel): OAuthClient {
    return new OAuthClient(suite.relay.port, `http://${tunnel.slug}.localhost:${suite.relay.port}/`);
  }

  async function agentsOf({ id }: Tunnel): Promise<Agent[]> {
    const { json } = await locked.account.api.send('GET', `/v1/tunnels/${id}/agents`);
    return (json as { agents: Agent[] }).agents;
  }

  it('name the person, need their approval, and pass while the rules of now admit them', async () => {
    const tunnel = await locked.start({ oauth: true, sign_in: ['*@example.com'] });
    const client = clientOf(tunnel);
    await client.register();
    const browser = new CookieBrowser();
    const signedIn = await signIn(client, browser, 'Ann@Example.com');
    assert.match(signedIn.text, /signed in as <strong>ann@example\.com/);
    assert.equal(signedIn.url.host, new URL(client.relay).host);
    const back = await submit(browser, signedIn, 'Allow');
    const { access_token: token } = tokensIn(await client.redeem(codeIn(back, client)));
    assert.equal((await locked.ask(tunnel, [bearer(token)])).status, 200);
    locked.assertSeen('agent:127.0.0.1;user:ann@example.com', '/');
    assert.equal((await agentsOf(tunnel))[0]?.user, 'ann@example.com');
    for (const [rules, status] of [
      [['bob@example.com'], 401],
      [['ann@example.com'], 200],
      [[], 200],
    ] as const) {
      await locked.setAccess(tunnel, { oauth: true, sign_in: rules });
      assert.equal((await locked.ask(tunnel, [bearer(token)])).status, status);
    }
    const replayed = await browser.step(signedIn.url);
    assert.match(replayed.text, /could not be completed/);
  });

  it('name who has no address in a way that is safe to show', async () => {
    const tunnel = await locked.start({ oauth: true, sign_in: ['*'] });
    const client = clientOf(tunnel);
    await client.register();
    const browser = new CookieBrowser();
    const person = 'eve\u001b[2J\u202e';
    idp.people.set(person, {});
    const back = await submit(browser, await signIn(client, browser, person), 'Allow');
    tokensIn(await client.redeem(codeIn(back, client)));
    assert.equal((await agentsOf(tunnel))[0]?.user, 'eve\\x1b[2J\\u{202e}');
  });

  it('are not approved by others, who can sign in as somebody else', async () => {
    const tunnel = await locked.start({ oauth: true, sign_in: ['bob@example.com'] });
    const client = clientOf(tunnel);
    await client.register();
    const browser = new CookieBrowser();
    const refused = await signIn(client, browser, 'eve@example.com');
    assert.deepEqual(
      [refused.status, /but the owner of this address does not admit you/.test(refused.text)],
      [403, true],
    );
    const again = await submit(browser, refused, 'Sign in as somebody else');
    assert.equal(again.status, 303);
  });
});

describe('a relay with agents (protocol.md section 11.6)', () => {
  const suite = relaySuite({ CULVERT_ACCESS_LOG: 'stderr', CULVERT_LOG_LEVEL: 'debug' });
  const locked = new LockedTunnels(suite);

  it('keeps them over a restart, and its log free of their secrets', async () => {
    const { relay } = suite;
    const tunnel = await locked.start({ oauth: true, password: 'mild-oak' }, { ttl: '1h', name: 'kept' });
    const client = new OAuthClient(relay.port, `http://${tunnel.slug}.localhost:${relay.port}/`);
    await client.register({ client_name: 'Secret App' });
    const browser = new CookieBrowser();
    const page = await browser.step(client.authorizeAddress());
    const code = codeIn(await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' }), client);
    const first = tokensIn(await client.redeem(code));
    const second = tokensIn(await client.refresh(first.refresh_token));
    await locked.ask(tunnel, [bearer(second.access_token)], { target: `/?access_token=x` });
    await relay.stop();
    const before = relay.child.stderr;
    await relay.restart();
    const agents = await locked.account.api.send('GET', `/v1/tunnels/${tunnel.id}/agents`);
    assert.equal((agents.json as { agents: Agent[] }).agents.length, 1);
    const third = tokensIn(await client.refresh(second.refresh_token));
    assert.equal((await client.refresh(first.refresh_token)).status, 400);
    await eventually(20_000, () => assert.match(relay.child.stderr, /agent misused/));
    const log = `${before}${relay.child.stderr}`;
    assert.match(log, /agent approved/);
    for (const secret of [
      code,
      client.state,
      client.proof.challenge,
      client.proof.verifier,
      'Secret App',
      'mild-oak',
    ])
      assert.ok(!log.includes(secret), secret);
    for (const tokens of [first, second, third])
      for (const token of [tokens.access_token, tokens.refresh_token]) assert.ok(!log.includes(token));
  });
});
