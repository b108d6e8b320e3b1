/** Agents that are let in by OAuth (protocol.md section 11.6), with the client of the MCP SDK and by hand. */
import assert from 'node:assert/strict';
import { Client, UnauthorizedError } from '@modelcontextprotocol/client';
import { AGENT_LIST } from '../../shared/agents.ts';
import type { Agent } from '../../shared/agents.ts';
import type { Knock } from '../../shared/knocks.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { OAuthClient, RETURN, submit } from '../support/agents.ts';
import { KnockOwner } from '../support/approvals.ts';
import { CookieBrowser, type Visited } from '../support/cookie-browser.ts';
import { eventually } from '../support/deadline.ts';
import { LockedTunnels } from '../support/locked-tunnels.ts';
import { sdkTransport, TestProvider } from '../support/mcp-client.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

describe('agents (protocol.md section 11.6)', () => {
  const suite = sharedRelaySuite();
  const locked = new LockedTunnels(suite, (request, response) => {
    if (request.url !== '/mcp') return false;
    if (request.method !== 'POST') return Boolean(response.writeHead(405).end());
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      const { id, method } = JSON.parse(body) as { id?: number; method: string };
      if (id === undefined) return void response.writeHead(202).end();
      const result =
        method === 'initialize'
          ? {
              protocolVersion: '2025-06-18',
              capabilities: { tools: {} },
              serverInfo: { name: 'notes', version: '1' },
            }
          : { tools: [{ name: 'read', inputSchema: { type: 'object' } }] };
      response
        .setHeader('Content-Type', 'application/json')
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    return true;
  });

  function resourceOf({ slug }: Tunnel, path = '/mcp'): string {
    return `http://${slug}.localhost:${suite.relay.port}${path}`;
  }

  /** A client that has registered. */
  async function clientFor(tunnel: Tunnel, redirectUri = RETURN): Promise<OAuthClient> {
    const client = new OAuthClient(suite.relay.port, resourceOf(tunnel), redirectUri);
    assert.equal((await client.register()).status, 201);
    return client;
  }

  async function agentsOf({ id }: Tunnel): Promise<Agent[]> {
    const { status, json } = await locked.account.api.send('GET', `/v1/tunnels/${id}/agents`);
    assert.equal(status, 200, JSON.stringify(json));
    AGENT_LIST.accepts.validateSync(json);
    return (json as { agents: Agent[] }).agents;
  }

  async function knocksOf({ id }: Tunnel): Promise<Knock[]> {
    const { json } = await locked.account.api.send('GET', `/v1/tunnels/${id}/knocks`);
    return (json as { knocks: Knock[] }).knocks;
  }

  async function answer({ id }: Tunnel, knock: string, admit: boolean): Promise<void> {
    const { status } = await locked.account.api.send('PUT', `/v1/tunnels/${id}/knocks/${knock}`, {
      json: { admit },
    });
    assert.equal(status, 200);
  }

  /** The owner approves what the browser asks for on this page. @returns the page afterwards */
  async function approveAt(tunnel: Tunnel, browser: CookieBrowser, page: Visited): Promise<Visited> {
    const asked = await submit(browser, page, 'Ask the owner');
    const location = asked.head.field('location') ?? assert.fail(asked.text);
    const waiting = await browser.step(new URL(location, page.url));
    assert.match(waiting.text, /Waiting for the owner/);
    assert.equal(waiting.head.field('refresh'), '3');
    const [knock] = (await knocksOf(tunnel)).filter(({ status }) => status === 'waiting');
    await answer(tunnel, knock?.id ?? assert.fail('nobody knocks'), true);
    return await browser.step(waiting.url);
  }

  it('are let in by the client of the MCP SDK once the owner has approved them', async () => {
    const tunnel = await locked.start({ oauth: true });
    const provider = new TestProvider();
    const first = sdkTransport(resourceOf(tunnel), provider);
    const sdk = new Client({ name: 'test', version: '1' });
    await assert.rejects(sdk.connect(first), UnauthorizedError);
    const browser = new CookieBrowser();
    const page = await browser.step(provider.asked ?? assert.fail('no address'));
    const back = await submit(browser, await approveAt(tunnel, browser, page), 'Allow');
    const returned = new URL(back.head.field('location') ?? assert.fail(back.text)).searchParams;
    await first.finishAuth(returned);
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(sdkTransport(resourceOf(tunnel), provider));
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['read'],
    );
    assert.equal(locked.last()?.headers['culvert-visitor'], 'agent:127.0.0.1');
    assert.equal(locked.last()?.headers.authorization, undefined);
    await client.close();
    const [agent] = await agentsOf(tunnel);
    assert.deepEqual(
      [agent?.name, agent?.host, agent?.returns_to, agent?.user],
      ['SDK', '127.0.0.1', '127.0.0.1', null],
    );
    await eventually(20_000, async () => assert.ok((await agentsOf(tunnel))[0]?.first_used_at));
  });

  it('name themselves in the knock by their host, over the control socket too', async () => {
    const { relay, scope } = suite;
    const tunnel = await locked.account.api.create({ local_port: 9, access: { oauth: true } });
    const owner = await KnockOwner.open(scope, relay, locked.account.key, tunnel.id);
    const client = await clientFor(tunnel, 'https://app.example/back');
    const browser = new CookieBrowser();
    const page = await browser.step(client.authorizeAddress());
    for (const shown of ['app.example', 'Test App', client.resource])
      assert.ok(page.text.includes(shown), shown);
    await submit(browser, page, 'Ask the owner');
    const expected = { name: 'Test App', host: 'app.example', returns_to: 'app.example' };
    assert.deepEqual((await owner.hears()).client, expected);
    assert.deepEqual((await knocksOf(tunnel))[0]?.client, expected);
  });
});
