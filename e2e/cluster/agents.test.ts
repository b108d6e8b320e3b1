/** Agents that are admitted by OAuth at several relays: each step of an authorization may happen at another one. */
import assert from 'node:assert/strict';
import type { Agent } from '../../shared/agents.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { codeIn, OAuthClient, submit, tokensIn } from '../support/agents.ts';
import { Api } from '../support/api.ts';
import { ask, KnockOwner } from '../support/approvals.ts';
import { RelayCluster } from '../support/cluster.ts';
import { CookieBrowser, type Visited } from '../support/cookie-browser.ts';
import { eventually } from '../support/deadline.ts';
import { bearer } from '../support/locked-tunnels.ts';
import { formatRequest, RawConnection, type Response } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';

const A = 0;
const B = 1;
const C = 2;
const PUBLIC_URL = 'http://localhost:8080';

describe('agents on three relays (protocol.md section 11.6)', () => {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let tunnel: Tunnel;
  let owner: KnockOwner;

  before(async () => {
    cluster = await RelayCluster.start(suite, 3, { CULVERT_PUBLIC_URL: PUBLIC_URL });
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(A), { plan: 'team' });
    const service = await startHttpService(scope, (request, response) => {
      if (request.url === '/events')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      else response.end(request.headers['culvert-visitor'] ?? 'anybody');
    });
    const request = { local_port: service.port, access: { oauth: true, password: 'mild-oak', knock: true } };
    tunnel = await new Api(cluster.relay(A), account.key).create(request);
    owner = await KnockOwner.open(scope, cluster.relay(B), account.key, tunnel.id, cluster.relay(C));
    owner.serve(scope, cluster.relay(B), service.port);
  });

  /** The same client, at another relay. */
  function at(index: number, client?: OAuthClient): OAuthClient {
    const { port } = cluster.relay(index);
    const here = new OAuthClient(port, `http://${tunnel.slug}.localhost:8080/mcp`);
    return client === undefined
      ? here
      : Object.assign(here, { id: client.id, proof: client.proof, state: client.state });
  }

  /** The same page, whose form is sent to another relay. */
  function movedTo(index: number, page: Visited): Visited {
    const url = new URL(page.url);
    url.port = String(cluster.relay(index).port);
    return { ...page, url };
  }

  function codeOf(response: Response, client: OAuthClient): string {
    return codeIn(response, Object.assign(at(A, client), { relay: PUBLIC_URL }));
  }

  async function use(index: number, token: string, path = '/mcp'): Promise<Response> {
    const { port } = cluster.relay(index);
    return await ask({ port, host: `${tunnel.slug}.localhost:${port}` }, { path, headers: [bearer(token)] });
  }

  async function agentsAt(index: number): Promise<Agent[]> {
    const { json } = await new Api(cluster.relay(index), account.key).send(
      'GET',
      `/v1/tunnels/${tunnel.id}/agents`,
    );
    return (json as { agents: Agent[] }).agents;
  }

  it('are approved, given tokens and admitted at whichever relay they ask', async () => {
    const client = at(A);
    assert.equal((await client.register()).status, 201);
    const browser = new CookieBrowser();
    const page = await browser.step(at(B, client).authorizeAddress());
    const asked = await submit(browser, movedTo(C, page), 'Ask the owner');
    const { id, client: named } = await owner.hears();
    assert.equal(named?.host, '127.0.0.1');
    await owner.answer(id, true);
    const approved = await eventually(20_000, async () => {
      const seen = await browser.step(new URL(asked.head.field('location') ?? '', at(A).relay));
      assert.match(seen.text, /has approved this agent/);
      return seen;
    });
    const code = codeOf(await submit(browser, movedTo(B, approved), 'Allow'), client);
    assert.equal((await submit(browser, movedTo(C, approved), 'Allow')).head.field('location'), undefined);
    const first = tokensIn(await at(C, client).redeem(code));
    for (const index of [A, B, C])
      assert.equal((await use(index, first.access_token)).text, 'agent:127.0.0.1', String(index));
    const second = tokensIn(await at(A, client).refresh(first.refresh_token));
    assert.equal((await use(B, second.access_token)).status, 200);
    await eventually(20_000, async () => assert.ok((await agentsAt(C))[0]?.last_used_at));
    await at(B, client).revoke(second.access_token);
    await eventually(20_000, async () => assert.equal((await use(A, second.access_token)).status, 401));
    assert.equal((await use(A, first.access_token)).status, 200);
    assert.equal((await at(B, client).redeem(code)).status, 400);
    for (const index of [A, B, C])
      await eventually(20_000, async () => assert.equal((await use(index, first.access_token)).status, 401));
    assert.deepEqual(await agentsAt(A), []);
  });

  it('redeem a code and use a refresh token once, whichever relays are asked at the same moment', async () => {
    const client = at(A);
    await client.register();
    const browser = new CookieBrowser();
    const page = await browser.step(client.authorizeAddress());
    const code = codeOf(await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' }), client);
    const redeemed = await Promise.all([A, B, C].map((index) => at(index, client).redeem(code)));
    assert.equal(redeemed.filter(({ status }) => status === 200).length, 1);
    assert.deepEqual(await agentsAt(B), []);
    const again = codeOf(await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' }), client);
    const { refresh_token: token } = tokensIn(await client.redeem(again));
    const used = await Promise.all([A, B, C].map((index) => at(index, client).refresh(token)));
    // The second one may be for a response that was lost; the third one is not.
    assert.equal(used.filter(({ status }) => status === 200).length, 2);
    assert.deepEqual(await agentsAt(B), []);
  });

  it('are cut at every relay when one revokes them', async () => {
    const client = at(A);
    await client.register();
    const browser = new CookieBrowser();
    const page = await browser.step(client.authorizeAddress());
    const code = codeOf(await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' }), client);
    const { access_token: token } = tokensIn(await client.redeem(code));
    const open: RawConnection[] = [];
    for (const index of [A, B, C]) {
      const { port } = cluster.relay(index);
      const stream = await RawConnection.open(scope, port, 60_000);
      const host = `${tunnel.slug}.localhost:${port}`;
      await stream.write(formatRequest({ host, target: '/events', headers: [bearer(token)] }));
      assert.equal((await stream.finalHead()).status, 200);
      open.push(stream);
    }
    const [agent] = await agentsAt(C);
    await new Api(cluster.relay(C), account.key).send(
      'DELETE',
      `/v1/tunnels/${tunnel.id}/agents/${agent?.id}`,
    );
    for (const stream of open) await stream.ending;
    for (const index of [A, B, C])
      await eventually(20_000, async () => assert.equal((await use(index, token)).status, 401));
  });
});
