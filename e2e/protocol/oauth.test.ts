/** Agents that are admitted by OAuth (protocol.md section 11.6), with the client of the MCP SDK and by hand. */
import assert from 'node:assert/strict';
import { Client, UnauthorizedError } from '@modelcontextprotocol/client';
import { AGENT_LIST } from '../../shared/agents.ts';
import type { Agent } from '../../shared/agents.ts';
import type { Knock } from '../../shared/knocks.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import {
  codeIn,
  formsOf,
  formWith,
  OAuthClient,
  RETURN,
  submit,
  type Tokens,
  tokensIn,
} from '../support/agents.ts';
import { KnockOwner } from '../support/approvals.ts';
import { CookieBrowser, type Visited } from '../support/cookie-browser.ts';
import { eventually } from '../support/deadline.ts';
import { bearer, BROWSER, cookiesOf, LockedTunnels, PREFLIGHT } from '../support/locked-tunnels.ts';
import { sdkTransport, TestProvider } from '../support/mcp-client.ts';
import { type Field, type Response, WEBSOCKET } from '../support/raw-http.ts';
import { assertAtMostBurst, assertBurst, ATTEMPTS, untilRefused } from '../support/rate-limit.ts';
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

  /** The challenge to an agent. @param path that the document is for */
  function challengeOf(tunnel: Tunnel, path: string): string {
    return `Bearer resource_metadata="${resourceOf(tunnel, `/.well-known/oauth-protected-resource${path}`)}"`;
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

  /** The owner approves, or the password does. */
  async function codeFor(tunnel: Tunnel, client: OAuthClient, password?: string): Promise<string> {
    const browser = new CookieBrowser();
    const page = await browser.step(client.authorizeAddress());
    const back =
      password === undefined
        ? await submit(browser, await approveAt(tunnel, browser, page), 'Allow')
        : await submit(browser, page, 'Allow', { culvert_password: password });
    return codeIn(back, client);
  }

  /** A tunnel that admits agents whose person knows the password, and one of them. */
  async function startWithAgent(
    access: object = {},
  ): Promise<{ tunnel: Tunnel; client: OAuthClient; tokens: Tokens }> {
    const tunnel = await locked.start({ oauth: true, password: 'mild-oak', ...access });
    const client = await clientFor(tunnel);
    return {
      tunnel,
      client,
      tokens: tokensIn(await client.redeem(await codeFor(tunnel, client, 'mild-oak'))),
    };
  }

  async function statusWith(tunnel: Tunnel, token: string): Promise<number> {
    return (await locked.ask(tunnel, [bearer(token)])).status;
  }

  async function mustNotWork(tunnel: Tunnel, token: string): Promise<void> {
    await eventually(20_000, async () => assert.equal(await statusWith(tunnel, token), 401));
  }

  it('are admitted by the client of the MCP SDK once the owner has approved them', async () => {
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

  describe('find out how to get access', () => {
    it('by the challenge, which names the document for the path that was asked', async () => {
      const tunnel = await locked.start({ oauth: true });
      for (const [target, path] of [
        ['/', ''],
        ['/mcp?a=b', '/mcp'],
        ['/a/"b"\\', '/a/%22b%22%5C'],
        [`/${'x'.repeat(2000)}`, ''],
      ] as const) {
        const refused = await locked.ask(tunnel, [], { target });
        locked.assertRefused(refused);
        assert.deepEqual(refused.head.all('www-authenticate'), [challengeOf(tunnel, path)]);
      }
      const wrong = await locked.ask(tunnel, [bearer('cva_x')]);
      assert.equal(wrong.head.field('www-authenticate'), `${challengeOf(tunnel, '')}, error="invalid_token"`);
    });

    it('by documents that pages of every origin can read', async () => {
      const tunnel = await locked.start({ oauth: true, tokens: [{ name: 'ci' }] });
      const issuer = `http://localhost:${suite.relay.port}`;
      for (const path of ['', '/', '/mcp', '/a/b']) {
        const target = `/.well-known/oauth-protected-resource${path}`;
        const { status, head, text } = await locked.ask(tunnel, [], { target });
        assert.deepEqual([status, head.field('access-control-allow-origin')], [200, '*']);
        const said = JSON.parse(text) as { resource: string; authorization_servers: string[] };
        assert.deepEqual([said.resource, said.authorization_servers], [resourceOf(tunnel, path), [issuer]]);
        const preflight = await locked.ask(tunnel, PREFLIGHT, { target, method: 'OPTIONS' });
        assert.deepEqual([preflight.status, preflight.head.field('access-control-allow-origin')], [204, '*']);
      }
      const client = new OAuthClient(suite.relay.port, '');
      const server = await new CookieBrowser().step(`${issuer}/.well-known/oauth-authorization-server`);
      assert.equal(server.head.field('access-control-allow-origin'), '*');
      const metadata = JSON.parse(server.text) as Record<string, unknown>;
      assert.deepEqual(
        [
          metadata['issuer'],
          metadata['code_challenge_methods_supported'],
          metadata['token_endpoint_auth_methods_supported'],
        ],
        [issuer, ['S256'], ['none']],
      );
      assert.equal(metadata['client_id_metadata_document_supported'], true);
      for (const target of ['/oauth/token', '/oauth/revoke', '/oauth/register']) {
        const { status, head } = await client.send('OPTIONS', target, PREFLIGHT);
        assert.deepEqual([status, head.field('access-control-allow-origin')], [204, '*'], target);
        assert.match(head.field('access-control-allow-headers') ?? '', /Authorization/);
      }
      assert.deepEqual(locked.seen, []);
    });

    it('at a host of their own only, where the relay gives no tokens', async () => {
      const tunnel = await locked.start({ oauth: true });
      const [, path] = locked.forms(tunnel);
      const refused = await locked.ask(path, [], { target: '/mcp' });
      locked.assertRefused(refused);
      assert.equal(refused.head.field('www-authenticate'), 'Bearer realm="culvert"');
      for (const [form, document] of [
        [path, '/.well-known/oauth-protected-resource/mcp'],
        [tunnel, '/.well-known/oauth-authorization-server'],
      ] as const) {
        const { status, text } = await locked.ask(form, [], { target: document });
        assert.deepEqual([status, (JSON.parse(text) as { code: string }).code], [404, 'not-found']);
      }
    });

    it('while the preflight of a page reaches the service', async () => {
      const tunnel = await locked.start({ oauth: true });
      assert.equal((await locked.ask(tunnel, PREFLIGHT, { method: 'OPTIONS', target: '/mcp' })).status, 405);
    });

    it('from the service itself, where the tunnel does not take agents', async () => {
      const tunnel = await locked.start({});
      for (const target of [
        '/.well-known/oauth-protected-resource/mcp',
        '/.well-known/oauth-authorization-server',
      ])
        assert.equal((await locked.ask(tunnel, [bearer('cva_of-the-service')], { target })).text, 'ok');
      assert.equal(locked.last()?.headers.authorization, 'Bearer cva_of-the-service');
    });
  });

  describe('are approved by a person', () => {
    it('who knows the password', async () => {
      const tunnel = await locked.start({ oauth: true, password: 'mild-oak' });
      const client = await clientFor(tunnel);
      const browser = new CookieBrowser();
      const page = await browser.step(client.authorizeAddress());
      assert.deepEqual(
        formsOf(page.text).map(({ button }) => button),
        ['Allow', 'Cancel'],
      );
      const wrong = await submit(browser, page, 'Allow', { culvert_password: 'wrong' });
      assert.deepEqual([wrong.status, /Wrong password/.test(wrong.text)], [401, true]);
      const back = await submit(browser, wrong, 'Allow', { culvert_password: 'mild-oak' });
      const { access_token: token } = tokensIn(await client.redeem(codeIn(back, client)));
      assert.equal(await statusWith(tunnel, token), 200);
      locked.assertSeen('agent:127.0.0.1', '/');
    });

    it('whose wrong passwords count as everywhere', async () => {
      const tunnel = await locked.start({ oauth: true, password: 'mild-oak' });
      const client = await clientFor(tunnel);
      const exhaust = async () => {
        const browser = new CookieBrowser();
        let page = await browser.step(client.authorizeAddress());
        const spent = await untilRefused(async (index) => {
          page = await submit(browser, page, 'Allow', { culvert_password: `${index}` });
          return !page.text.includes('Too many wrong passwords');
        });
        return { browser, page, spent };
      };
      assertBurst((await exhaust()).spent, ATTEMPTS);
      await eventually(60_000, async () => {
        const { browser, page } = await exhaust();
        const late = await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' });
        assert.deepEqual([late.status, late.head.field('location')], [429, undefined]);
        assert.equal((await locked.submit(tunnel, 'mild-oak')).status, 429);
      });
    });

    it('who was sent a link, or has opened it in this browser', async () => {
      const tunnel = await locked.start({ oauth: true, links: true });
      const client = await clientFor(tunnel);
      const { json } = await locked.account.api.send('POST', `/v1/tunnels/${tunnel.id}/links`);
      const { id, url } = json as { id: string; url: string };
      const link = new URL(url);
      link.host = new URL(client.resource).host;
      const browser = new CookieBrowser();
      const page = await browser.step(client.authorizeAddress());
      const other = await submit(browser, page, 'Allow', { culvert_link: `${link.origin}/?culvert_pass=x` });
      assert.match(other.text, /does not give access/);
      codeIn(await submit(browser, page, 'Allow', { culvert_link: url }), client);

      const opened = async (): Promise<Visited> => {
        const look = await submit(browser, page, 'I have opened a link in this browser');
        assert.ok(look.head.field('location')?.startsWith(`${link.origin}/?`));
        return await browser.open(look.head.field('location') ?? '');
      };
      assert.match((await opened()).text, /has not opened a link/);
      await browser.open(link);
      const seen = locked.seen.length;
      const allow = await opened();
      assert.equal(locked.seen.length, seen);
      codeIn(await submit(browser, allow, 'Allow'), client);
      await locked.account.api.send('DELETE', `/v1/tunnels/${tunnel.id}/links/${id}`);
      await eventually(20_000, async () =>
        assert.match((await submit(browser, allow, 'Allow')).text, /does not give access/),
      );
    });

    it('who was sent a link for one browser, if nobody has opened it', async () => {
      const tunnel = await locked.start({ oauth: true, links: true });
      const client = await clientFor(tunnel);
      const { json } = await locked.account.api.send('POST', `/v1/tunnels/${tunnel.id}/links`, {
        json: { once: true },
      });
      const { url } = json as { url: string };
      const [first, second] = [new CookieBrowser(), new CookieBrowser()];
      const page = await first.step(client.authorizeAddress());
      codeIn(await submit(first, page, 'Allow', { culvert_link: url }), client);
      const late = await second.step(client.authorizeAddress());
      assert.match((await submit(second, late, 'Allow', { culvert_link: url })).text, /does not give access/);
    });

    it('once for each agent, also of the same client, and not after a refusal', async () => {
      const tunnel = await locked.start({ oauth: true });
      const client = await clientFor(tunnel);
      const browser = new CookieBrowser();
      const page = await browser.step(client.authorizeAddress());
      const approved = await approveAt(tunnel, browser, page);
      codeIn(await submit(browser, approved, 'Allow'), client);
      const again = await submit(browser, approved, 'Allow');
      assert.deepEqual([again.head.field('location'), again.status], [undefined, 401]);
      const asked = await submit(browser, page, 'Ask the owner');
      const [knock] = (await knocksOf(tunnel)).filter(({ status }) => status === 'waiting');
      await answer(tunnel, knock?.id ?? '', false);
      const denied = await browser.step(new URL(asked.head.field('location') ?? '', page.url));
      assert.match(denied.text, /Access denied[\s\S]*error=access_denied/);
    });

    it('who can say no', async () => {
      const tunnel = await locked.start({ oauth: true });
      const client = await clientFor(tunnel);
      const browser = new CookieBrowser();
      const back = await submit(browser, await browser.step(client.authorizeAddress()), 'Cancel');
      const { searchParams } = new URL(back.head.field('location') ?? assert.fail(back.text));
      assert.deepEqual(
        [searchParams.get('error'), searchParams.get('state'), searchParams.get('iss')],
        ['access_denied', client.state, client.relay],
      );
    });

    it('inside the allowed networks', async () => {
      const tunnel = await locked.start({ oauth: true, allow: ['203.0.113.0/24'] });
      const client = await clientFor(tunnel);
      const page = await new CookieBrowser().step(client.authorizeAddress());
      assert.deepEqual([page.status, formsOf(page.text)], [403, []]);
    });

    it('only in the browser that began, on a page of its own', async () => {
      const tunnel = await locked.start({ oauth: true, password: 'mild-oak' });
      const client = await clientFor(tunnel);
      const browser = new CookieBrowser();
      const page = await browser.step(client.authorizeAddress());
      assert.equal(page.head.field('x-frame-options'), 'DENY');
      assert.equal(page.head.field('cross-origin-opener-policy'), 'same-origin');
      assert.match(
        page.head.field('content-security-policy') ?? '',
        /frame-ancestors 'none'; form-action 'self' http:\/\/127\.0\.0\.1:33418 /,
      );
      const filled = { culvert_password: 'mild-oak' };
      const others = new CookieBrowser();
      await others.step(client.authorizeAddress());
      const second = await clientFor(tunnel);
      const rows: [string, () => Promise<Response>][] = [
        ['no cookie', () => submit(new CookieBrowser(), page, 'Allow', filled)],
        ['another browser', () => submit(others, page, 'Allow', filled)],
        ['no form', () => submit(browser, page, 'Allow', { ...filled, culvert_form: '' })],
        [
          'the form of another request',
          async () =>
            submit(browser, page, 'Allow', {
              ...filled,
              culvert_form:
                formWith(await browser.step(second.authorizeAddress()), 'Allow').fields['culvert_form'] ?? '',
            }),
        ],
        ...[
          { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' },
          { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' },
          { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' },
          { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' },
          { Origin: 'https://evil.example' },
        ].map((fields): [string, () => Promise<Response>] => [
          JSON.stringify(fields),
          () => submit(browser, page, 'Allow', filled, Object.entries(fields)),
        ]),
      ];
      for (const [row, attempt] of rows) {
        const { status, head } = await attempt();
        assert.equal(head.field('location'), undefined, row);
        assert.ok([200, 401, 403].includes(status), `${row}: ${status}`);
      }
      for (const fields of [
        { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty', 'Sec-Fetch-Site': 'same-origin' },
        { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe', 'Sec-Fetch-Site': 'same-site' },
      ]) {
        const read = await browser.step(client.authorizeAddress(), {
          headers: [BROWSER, ...Object.entries(fields)],
        });
        assert.deepEqual([read.status, formsOf(read.text)], [403, []]);
      }
      const shown: [string, string][] = [
        ['Sec-Fetch-Site', 'same-origin'],
        ['Sec-Fetch-Mode', 'navigate'],
        ['Sec-Fetch-Dest', 'document'],
      ];
      codeIn(await submit(browser, page, 'Allow', filled, shown), client);
    });

    it('never by opening an address, whatever was approved before', async () => {
      const tunnel = await locked.start({ oauth: true, password: 'mild-oak', links: true, knock: true });
      const client = await clientFor(tunnel);
      const browser = new CookieBrowser();
      const page = await browser.step(client.authorizeAddress());
      codeIn(await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' }), client);
      const { fields } = formWith(page, 'Ask the owner');
      const approved = await approveAt(tunnel, browser, page);
      for (const more of [
        {},
        fields,
        { ...formWith(approved, 'Allow').fields },
        { culvert_password: 'mild-oak', culvert_way: 'password' },
      ]) {
        const address = `${client.authorizeAddress()}&${new URLSearchParams(more).toString()}`;
        const { status, head } = await browser.step(address);
        assert.deepEqual([status, head.field('location')], [200, undefined]);
      }
    });
  });

  describe('are refused', () => {
    it('with a request that is not as it has to be, without a redirect', async () => {
      const tunnel = await locked.start({ oauth: true });
      const closed = await locked.start({ knock: true });
      const client = await clientFor(tunnel, 'https://app.example/back?x=1');
      const { host } = new URL(client.resource);
      const rows: Record<string, string | undefined>[] = [
        { response_type: 'token' },
        { response_type: undefined },
        { state: undefined },
        { code_challenge: undefined },
        { code_challenge: 'short' },
        { code_challenge_method: undefined },
        { code_challenge_method: 'plain' },
        { client_id: undefined },
        { client_id: 'unknown' },
        { client_id: `${client.id}x` },
        { client_id: 'https://127.0.0.1/client.json' },
        { client_id: 'https://[::1]/client.json' },
        { client_id: 'https://169.254.169.254/latest/client.json' },
        { client_id: 'http://app.example/client.json' },
        { client_id: 'https://app.example/' },
        { redirect_uri: undefined },
        ...[
          'https://app.example/back',
          'https://app.example/back?x=1&y=2',
          'https://app.example/back?x=1#f',
          'https://APP.example/back?x=1',
          'http://app.example/back?x=1',
          'https://app.example:444/back?x=1',
          'https://app.example.evil.example/back?x=1',
          'https://app.example@evil.example/back?x=1',
          'https://evil.example\\@app.example/back?x=1',
          'https://evil.example/back?x=1',
          'https://app.example/../back?x=1',
          'https://app.example/back?x=1\r\nSet-Cookie: a=b',
          'https://аpp.example/back?x=1',
          'javascript:alert(1)//app.example/back?x=1',
          '//app.example/back?x=1',
        ].map((redirect_uri) => ({ redirect_uri })),
        ...[
          '',
          'mcp',
          `ftp://${host}/mcp`,
          `http://${host}@evil.example/`,
          `http://user@${host}/mcp`,
          `http://${host}/mcp#f`,
          `http://evil.example/`,
          client.relay,
          `${client.relay}/t/${tunnel.slug}/mcp`,
          resourceOf(closed),
          `http://nobody.localhost:${suite.relay.port}/mcp`,
        ].map((resource) => ({ resource })),
      ];
      for (const changed of rows) {
        const { status, head, text } = await new CookieBrowser().step(client.authorizeAddress(changed));
        assert.deepEqual([status, head.field('location')], [400, undefined], JSON.stringify(changed));
        assert.ok(!text.includes('evil.example') && !text.includes('<form'), JSON.stringify(changed));
      }
      const twice = await new CookieBrowser().step(
        `${client.authorizeAddress()}&resource=${client.resource}`,
      );
      assert.deepEqual([twice.status, twice.head.field('location')], [400, undefined]);
      assert.equal((await new CookieBrowser().step(client.authorizeAddress())).status, 200);
    });

    it('at the registration with addresses that nobody should be sent to', async () => {
      const tunnel = await locked.start({ oauth: true });
      const client = new OAuthClient(suite.relay.port, resourceOf(tunnel));
      for (const uri of [
        'http://app.example/back',
        'http://127.0.0.1.evil.example/',
        'http://127.0.0.1@evil.example/',
        'javascript:alert(1)',
        'javascript://app.example/%0aalert(1)',
        'data:text/html,x',
        'file:///etc/passwd',
        'https://app.example/#f',
        'https://user@app.example/',
        'https://app.example\\evil.example/',
        'https://аpp.example/',
        'https://app.example/\r\nX: y',
        'mailto:a@b.example',
        'ms-msdt:/id',
        'relative',
        '',
        7,
      ]) {
        const { status, text, head } = await client.register({
          redirect_uris: ['https://app.example/back', uri],
        });
        assert.deepEqual(
          [status, (JSON.parse(text) as { error: string }).error, head.field('access-control-allow-origin')],
          [400, 'invalid_redirect_uri', '*'],
          String(uri),
        );
      }
      for (const [body, status, error] of [
        ['[]', 400, 'invalid_redirect_uri'],
        ['x', 400, 'invalid_client_metadata'],
        ['{}', 400, 'invalid_redirect_uri'],
        ['{"redirect_uris":[]}', 400, 'invalid_redirect_uri'],
        ['{"redirect_uris":["https://a.example/"],"client_name":7}', 400, 'invalid_redirect_uri'],
        [JSON.stringify({ name: 'x'.repeat(70_000) }), 413, 'invalid_client_metadata'],
      ] as const) {
        const refused = await client.post('/oauth/register', body, [['Content-Type', 'application/json']]);
        assert.deepEqual([refused.status, errorIn(refused)], [status, error], body.slice(0, 60));
      }
      for (const uri of [
        'https://app.example/back',
        'http://localhost/x',
        'http://[::1]:7/x',
        'cursor://anysphere/back',
        'com.example.app:/back',
      ])
        assert.equal((await client.register({ redirect_uris: [uri] })).status, 201, uri);
    });

    it('at the token endpoint with anything that is not theirs, and keep their code', async () => {
      const tunnel = await locked.start({ oauth: true, password: 'mild-oak' });
      const client = await clientFor(tunnel);
      const other = await clientFor(tunnel);
      const code = await codeFor(tunnel, client, 'mild-oak');
      const rows: [Record<string, string>, string][] = [
        [{ code: `${code}x` }, 'invalid_grant'],
        [{ code: code.replace('cvc_', 'cvr_') }, 'invalid_grant'],
        [{ client_id: other.id }, 'invalid_grant'],
        [{ code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
        [{ code_verifier: '' }, 'invalid_grant'],
        [{ code_verifier: client.proof.challenge }, 'invalid_grant'],
        [{ redirect_uri: 'http://127.0.0.1:33419/back' }, 'invalid_grant'],
        [{ redirect_uri: '' }, 'invalid_grant'],
        [{ resource: resourceOf(tunnel, '/other') }, 'invalid_target'],
        [{ grant_type: 'password' }, 'unsupported_grant_type'],
      ];
      for (const [changed, error] of rows) {
        const refused = await client.redeem(code, changed);
        const { status, head } = refused;
        assert.deepEqual([status, errorIn(refused)], [400, error], JSON.stringify(changed));
        assert.deepEqual(
          [head.field('cache-control'), head.field('access-control-allow-origin')],
          ['no-store', '*'],
        );
      }
      const basic: Field = ['Authorization', `Basic ${Buffer.from('a:b').toString('base64')}`];
      const secret = await client.token({ grant_type: 'authorization_code', code }, [basic]);
      assert.deepEqual(
        [secret.status, errorIn(secret), secret.head.field('www-authenticate')],
        [401, 'invalid_client', 'Basic realm="culvert"'],
      );
      const large = await client.token({ grant_type: 'x'.repeat(20_000) });
      assert.deepEqual([large.status, errorIn(large)], [413, 'invalid_request']);
      const redeemed = await client.redeem(code);
      tokensIn(redeemed);
      assert.deepEqual(
        [redeemed.head.field('cache-control'), redeemed.head.field('pragma')],
        ['no-store', 'no-cache'],
      );
    });

    it('where there are as many as a tunnel can have', async () => {
      const tunnel = await locked.start({ oauth: true, password: 'mild-oak' });
      const client = await clientFor(tunnel);
      const browser = new CookieBrowser();
      const page = await browser.step(client.authorizeAddress());
      for (let agents = 0; agents < 64; agents += 1)
        codeIn(await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' }), client);
      for (const full of [
        await browser.step(client.authorizeAddress()),
        await submit(browser, page, 'Allow', { culvert_password: 'mild-oak' }),
      ]) {
        assert.deepEqual([full.status, full.head.field('location')], [403, undefined]);
        assert.match(full.text, /access_denied/);
      }
    });
  });

  describe('lose their access', () => {
    it('within a second when the owner revokes them, with all that they have open', async () => {
      const { tunnel, tokens } = await startWithAgent();
      const socket = await locked.enter(tunnel, [...WEBSOCKET, bearer(tokens.access_token)]);
      const events = await locked.enter(tunnel, [bearer(tokens.access_token)], '/events');
      assert.deepEqual([socket.status, events.status], [101, 200]);
      const [agent] = await agentsOf(tunnel);
      const path = `/v1/tunnels/${tunnel.id}/agents/${agent?.id}`;
      assert.equal((await locked.account.api.send('DELETE', path)).status, 200);
      for (const open of [socket, events]) await open.ending;
      await mustNotWork(tunnel, tokens.access_token);
      assert.deepEqual(await agentsOf(tunnel), []);
      const { status, json } = await locked.account.api.send('DELETE', path);
      assert.deepEqual([status, (json as { code: string }).code], [404, 'agent-not-found']);
    });

    it('when their code is used again', async () => {
      const { tunnel, client } = await startWithAgent();
      const code = await codeFor(tunnel, client, 'mild-oak');
      const { access_token: token } = tokensIn(await client.redeem(code));
      assert.equal(await statusWith(tunnel, token), 200);
      assert.equal((await client.redeem(code)).status, 400);
      await mustNotWork(tunnel, token);
      assert.equal((await agentsOf(tunnel)).length, 1);
    });

    it('when a refresh token is used again, but for a response that was lost', async () => {
      const { tunnel, client, tokens: first } = await startWithAgent();
      const second = tokensIn(await client.refresh(first.refresh_token));
      const lost = tokensIn(await client.refresh(first.refresh_token));
      for (const token of [first, second, lost])
        assert.equal(await statusWith(tunnel, token.access_token), 200);
      const third = tokensIn(await client.refresh(lost.refresh_token));
      assert.equal((await client.refresh(first.refresh_token)).status, 400);
      await mustNotWork(tunnel, third.access_token);
      assert.equal((await client.refresh(third.refresh_token)).status, 400);
    });

    it('when they give their tokens back: an access token alone, a refresh token with all others', async () => {
      const { tunnel, client, tokens } = await startWithAgent();
      const { access_token: other } = tokensIn(await client.refresh(tokens.refresh_token));
      assert.equal((await client.revoke(tokens.access_token, { client_id: 'other' })).status, 200);
      assert.equal(await statusWith(tunnel, tokens.access_token), 200);
      assert.equal((await client.revoke(tokens.access_token)).status, 200);
      await mustNotWork(tunnel, tokens.access_token);
      assert.equal(await statusWith(tunnel, other), 200);
      assert.equal((await client.revoke(tokens.refresh_token)).status, 200);
      await mustNotWork(tunnel, other);
      assert.equal((await client.revoke('cva_unknown')).status, 200);
    });

    it('when the tunnel takes no agents any more, and with nothing else that changes', async () => {
      const { tunnel, tokens } = await startWithAgent();
      await locked.setAccess(tunnel, { oauth: true, knock: true, tokens: [{ name: 'ci' }] });
      assert.equal(await statusWith(tunnel, tokens.access_token), 200);
      await locked.setAccess(tunnel, { oauth: true, allow: ['203.0.113.7'] });
      assert.equal(await statusWith(tunnel, tokens.access_token), 403);
      await locked.setAccess(tunnel, { password: 'mild-oak' });
      assert.equal(await statusWith(tunnel, tokens.access_token), 401);
      await locked.setAccess(tunnel, { oauth: true });
      assert.equal(await statusWith(tunnel, tokens.access_token), 401);
    });
  });

  it('pass with their own token at their own tunnel, and wrong ones count', async () => {
    const { tunnel, client, tokens } = await startWithAgent();
    const other = await startWithAgent();
    for (const headers of [
      [bearer(other.tokens.access_token)],
      [bearer(tokens.refresh_token)],
      [bearer(tokens.access_token), bearer(tokens.access_token)],
      [['X-Token', tokens.access_token]],
      [bearer(`${tokens.access_token.slice(0, -1)}~`)],
    ] as Field[][])
      locked.assertRefused(await locked.ask(tunnel, headers));
    const spent = await untilRefused(async () => {
      const { head } = await locked.ask(tunnel, [bearer('cva_wrong')]);
      return head.field('culvert-error') !== 'access-attempts';
    });
    assertAtMostBurst(spent, ATTEMPTS);
    for (const form of locked.forms(tunnel)) {
      assert.equal((await locked.ask(form, [bearer(tokens.access_token)])).status, 200);
      assert.ok(!locked.last()?.rawHeaders.join(' ').includes('cva_'));
      locked.assertSeen('agent:127.0.0.1', '/');
    }
    const cookie = cookiesOf(await locked.submit(other.tunnel, 'mild-oak'));
    await locked.ask(other.tunnel, [cookie, bearer(other.tokens.access_token)]);
    assert.deepEqual(
      [locked.last()?.headers['culvert-visitor'], locked.last()?.headers.authorization],
      ['password', undefined],
    );
    assert.equal((await client.refresh(tokens.access_token)).status, 400);
  });

  it('stay with a name that is held, for the next tunnel of that name', async () => {
    const name = `mcp-${Date.now().toString(36)}`;
    const access = { oauth: true, password: 'mild-oak' };
    const tunnel = await locked.start(access, { name });
    const client = await clientFor(tunnel);
    const tokens = tokensIn(await client.redeem(await codeFor(tunnel, client, 'mild-oak')));
    await locked.account.api.send('DELETE', `/v1/tunnels/${tunnel.id}`);
    const again = await locked.start({ oauth: true }, { name });
    assert.equal(await statusWith(again, tokens.access_token), 200);
    assert.equal((await agentsOf(again)).length, 1);
    tokensIn(await client.refresh(tokens.refresh_token));
  });
});

function errorIn({ text }: Response): unknown {
  return (JSON.parse(text) as { error?: unknown }).error;
}
