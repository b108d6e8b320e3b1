import assert from 'node:assert/strict';
import { administer, createAccount, onlyAccount, type TestAccount, withNewKey } from '../support/accounts.ts';
import { assertError } from '../support/api.ts';
import { eventually, within } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Culvert } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';
import { WebSocketClient } from '../support/spec-client/websocket.ts';

/** ms from the end of an admin command until a running relay has applied it. */
const EFFECT_MS = 1000;
const TUNNEL_CLOSED = 4001;
const KEY_REVOKED = 4003;
const ACCOUNT_SUSPENDED = 4005;

describe('admin actions while the relay runs', () => {
  const { scope, relay } = relaySuite();

  async function aClient(account: TestAccount, request: object = {}) {
    const service = await startHttpService(scope, (asked, response) => {
      if (asked.url === '/events')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      else if (asked.url === '/download')
        response.writeHead(200, { 'Content-Length': '1000' }).write('begun');
      else if (asked.url === '/until-closed') asked.socket.write('HTTP/1.1 200 OK\r\n\r\nbegun');
      else if (asked.url !== '/silence') response.end('here');
    });
    const wanted = { local_port: service.port, ...request };
    return (await SpecClient.start(scope, relay, account.key, wanted)).tunnel;
  }

  /** The response to a visitor who prefers this format. */
  async function visitorOf(tunnel: { readonly slug: string }, accept = 'application/json') {
    const headers: [string, string][] = [['Accept', accept]];
    return await visit(relay.port, { host: hostOf(tunnel, relay), headers });
  }

  async function openEvents(
    tunnel: { readonly slug: string },
    target = '/events',
  ): Promise<{ cut: Promise<void> }> {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: hostOf(tunnel, relay), target }));
    const head = await visitor.finalHead();
    return { cut: assert.rejects(visitor.rest(head), /ended/) };
  }

  /** The code and reason with which the control socket of a client with a separate key is closed. */
  async function closedBy(
    end: (key: TestAccount) => Promise<unknown>,
    ...options: readonly string[]
  ): Promise<unknown> {
    const key = await withNewKey(relay, await createAccount(relay), ...options);
    const { control } = await ManualClient.start(scope, relay, onlyAccount(key));
    await end(key);
    return await within(EFFECT_MS + 13_000, 'end of the control socket', control.closed);
  }

  describe('account suspend', () => {
    it('rejects visitors with 451 and cuts open connections, refuses the key with 403, until resume', async () => {
      const account = await createAccount(relay);
      const tunnel = await aClient(account);
      const other = await aClient(await createAccount(relay));
      assert.equal((await visitorOf(tunnel)).status, 200);
      const { cut } = await openEvents(tunnel);
      await administer(relay, 'account', 'suspend', '--name', account.name, '--reason', 'phishing');
      await within(EFFECT_MS + 8000, 'end of the events', cut);
      const refused = await visitorOf(tunnel);
      assert.deepEqual([refused.status, refused.head.field('culvert-error')], [451, 'suspended']);
      assert.doesNotMatch(refused.text, /phishing/);
      assert.match((await visitorOf(tunnel, 'text/html')).text, /<h1>Suspended<\/h1>/);
      assert.equal((await visitorOf(other)).status, 200);
      for (const [method, path] of [
        ['GET', '/v1/account'],
        ['GET', `/v1/tunnels/${tunnel.id}`],
        ['DELETE', `/v1/tunnels/${tunnel.id}`],
      ] as const)
        assertError(await account.api.send(method, path), 403, 'this account is suspended: phishing');
      const opened = WebSocketClient.open(scope, {
        port: relay.port,
        host: `localhost:${relay.port}`,
        target: `/ws/control?tunnel_id=${tunnel.id}`,
        headers: [['Authorization', `Bearer ${account.key}`]],
      });
      await assert.rejects(opened, /answered with 403/);
      await administer(relay, 'account', 'resume', '--name', account.name);
      await eventually(EFFECT_MS + 8000, async () => {
        assert.equal((await visitorOf(tunnel)).status, 200);
      });
      assert.equal((await account.api.account()).client_id, account.id);
    });

    it('closes all sockets of its clients with 4005 and the reason, whatever key they use', async () => {
      const account = await createAccount(relay);
      const scoped = await withNewKey(relay, account, '--name', `one-${account.name.slice(-8)}`);
      const first = await ManualClient.start(scope, relay, onlyAccount(account));
      const clients = [
        first,
        await ManualClient.start(scope, relay, onlyAccount(scoped), {
          name: `one-${account.name.slice(-8)}`,
        }),
      ];
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: first.host }));
      const data = await first.accept();
      await administer(relay, 'account', 'suspend', '--name', account.name, '--reason', 'phishing');
      for (const { control } of clients) {
        const closed = await within(EFFECT_MS + 8000, 'end of the control socket', control.closed);
        assert.deepEqual(closed, { code: ACCOUNT_SUSPENDED, reason: 'phishing' });
      }
      const { code } = await within(EFFECT_MS + 8000, 'end of the data socket', data.socket.closed);
      assert.equal(code, ACCOUNT_SUSPENDED);
    });

    it('makes culvert exit with code 1 and print the reason', async () => {
      const account = await createAccount(relay);
      const { child } = await Culvert.start(scope, relay, account.key, 9);
      await administer(relay, 'account', 'suspend', '--name', account.name, '--reason', 'phishing');
      assert.equal((await child.exit(EFFECT_MS + 8000)).code, 1);
      assert.match(child.output, /The account is suspended: phishing\./);
    });
  });

  describe('tunnel suspend', () => {
    it('rejects visitors of that tunnel until resume', async () => {
      const account = await createAccount(relay);
      const [tunnel, other] = [await aClient(account), await aClient(account)];
      const { cut } = await openEvents(tunnel);
      await administer(relay, 'tunnel', 'suspend', tunnel.slug, '--reason', 'phishing');
      await within(EFFECT_MS + 8000, 'end of the events', cut);
      assert.equal((await visitorOf(tunnel)).status, 451);
      assert.equal((await visitorOf(other)).status, 200);
      assert.equal((await account.api.get(tunnel.id)).id, tunnel.id);
      await administer(relay, 'tunnel', 'resume', tunnel.id);
      await eventually(EFFECT_MS + 8000, async () => {
        assert.equal((await visitorOf(tunnel)).status, 200);
      });
    });
  });

  describe('tunnel suspend and account suspend', () => {
    for (const whole of [false, true])
      it(`cut responses that have begun, and refuse waiting visitors: ${whole ? 'account' : 'tunnel'}`, async () => {
        const account = await createAccount(relay);
        const tunnel = await aClient(account);
        const targets = ['/download', '/until-closed', '/events'];
        const begun = await Promise.all(targets.map((target) => openEvents(tunnel, target)));
        const waiting = await RawConnection.open(scope, relay.port);
        await waiting.write(formatRequest({ host: hostOf(tunnel, relay), target: '/silence' }));
        const which = whole
          ? ['account', 'suspend', '--name', account.name]
          : ['tunnel', 'suspend', tunnel.id];
        await administer(relay, ...which, '--reason', 'phishing');
        const cuts = Promise.all(begun.map(({ cut }) => cut));
        await within(EFFECT_MS + 8000, 'end of the responses', cuts);
        const { status } = await within(EFFECT_MS + 8000, 'a response', waiting.response());
        // The clients of an account are also disconnected, which may be noticed first.
        assert.ok(status === 451 || (whole && status === 502), String(status));
      });

    it('outlast a restart, and reserve the address of a tunnel that ends: nobody gets it until resume', async () => {
      const account = await createAccount(relay);
      const other = await createAccount(relay);
      const name = `held-${account.name.slice(-8)}`;
      const wanted = { local_port: 9, name };
      const { id } = await account.api.create(wanted);
      await administer(relay, 'tunnel', 'suspend', name, '--reason', 'phishing');
      const again = { ...wanted, take_over: true };
      assert.equal((await account.api.send('POST', '/v1/tunnels', { json: again })).status, 200);
      await eventually(EFFECT_MS + 8000, async () => {
        assert.equal((await visitorOf({ slug: name })).status, 451);
      });
      assert.equal((await account.api.send('DELETE', `/v1/tunnels/${id}`)).status, 200);
      async function isRefusedToAll(): Promise<void> {
        for (const { api } of [account, other]) {
          const json = api === other.api ? wanted : again;
          assertError(await api.send('POST', '/v1/tunnels', { json }), 409, 'name already in use');
        }
      }
      await isRefusedToAll();
      const third = await createAccount(relay);
      const theirs = await third.api.create({ local_port: 9 });
      await administer(relay, 'account', 'suspend', '--name', third.name, '--reason', 'x');
      await relay.stop();
      await relay.restart();
      await isRefusedToAll();
      assert.equal((await visitorOf(theirs)).status, 451);
      await administer(relay, 'tunnel', 'resume', id);
      assert.equal((await account.api.create(wanted)).name, name);
    });
  });

  it('are refused with 429 once an admin key has used up its daily audit log entries', async () => {
    const account = await createAccount(relay);
    const { api } = await withNewKey(relay, account, '--admin');
    const invite = async (count: number) =>
      await api.send('POST', '/v1/admin/invites', { json: { account: account.name, count } });
    for (const count of [1000, 999]) assert.equal((await invite(count)).status, 201);
    const refused = await invite(2);
    assertError(refused, 429, 'rate limit exceeded');
    const seconds = Number(refused.head.field('retry-after'));
    assert.ok(seconds > 86_000 && seconds <= 86_400, `${seconds} s`);
    assert.equal((await invite(1)).status, 201);
    const made = { json: { name: `not-made-${account.name}` } };
    assert.equal((await api.send('POST', '/v1/admin/accounts', made)).status, 429);
    await assert.rejects(administer(relay, 'account', 'set-plan', '--name', made.json.name, '--plan', 'dev'));
  });

  it('a tunnel is never named like the id of another', async () => {
    const account = await createAccount(relay);
    const { id } = await (await createAccount(relay)).api.create({ local_port: 9 });
    const refused = await account.api.send('POST', '/v1/tunnels', { json: { local_port: 9, name: id } });
    assertError(refused, 409, 'name already in use', 'name-reserved');
  });

  describe('an invalidated key', () => {
    it('is reported with 4003 and a reason: revoked, expired, removed with its account', async () => {
      assert.deepEqual(await closedBy(({ keyId }) => administer(relay, 'key', 'revoke', keyId)), {
        code: KEY_REVOKED,
        reason: 'key revoked',
      });
      const over = await closedBy(() => Promise.resolve(), '--expires', '5s');
      assert.deepEqual(over, { code: KEY_REVOKED, reason: 'key expired' });
      const gone = await closedBy(({ name }) => administer(relay, 'account', 'remove', '--name', name));
      assert.deepEqual(gone, { code: KEY_REVOKED, reason: 'account removed' });
    });
  });

  describe('tunnel close', () => {
    it('ends it with 4001 within 1 s, and frees its name', async () => {
      const account = await createAccount(relay);
      const name = `closed-${account.name.slice(-8)}`;
      const client = await ManualClient.start(scope, relay, onlyAccount(account), { name });
      await administer(relay, 'tunnel', 'close', name);
      const { code } = await within(EFFECT_MS + 8000, 'end of the control socket', client.control.closed);
      assert.equal(code, TUNNEL_CLOSED);
      assertError(await account.api.send('GET', `/v1/tunnels/${client.tunnel.id}`), 404, 'tunnel not found');
      assert.equal((await account.api.create({ local_port: 9, name })).name, name);
    });
  });

  it('account set-subdomain changes the addresses of live tunnels', async () => {
    const account = await createAccount(relay);
    const tunnel = await aClient(account);
    const label = `sub-${account.name.slice(-8)}`;
    await administer(relay, 'account', 'set-subdomain', '--name', account.name, '--subdomain', label);
    await eventually(EFFECT_MS + 8000, async () => {
      const { public_url } = await account.api.get(tunnel.id);
      assert.equal(new URL(public_url).hostname, `${tunnel.slug}.${label}.localhost`);
    });
    const answer = await visit(relay.port, { host: `${tunnel.slug}.${label}.localhost:${relay.port}` });
    assert.equal(answer.status, 200);
  });

  it('tunnel list shows the usage of tunnels', async () => {
    const account = await createAccount(relay);
    const tunnel = await aClient(account);
    await visitorOf(tunnel);
    await eventually(EFFECT_MS + 8000, async () => {
      const { tunnels } = (await administer(relay, 'tunnel', 'list', '--account', account.name)) as {
        tunnels: Record<string, unknown>[];
      };
      assert.deepEqual([tunnels.length, tunnels[0]?.['slug'], tunnels[0]?.['requests']], [1, tunnel.slug, 1]);
    });
  });
});
