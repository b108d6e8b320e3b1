import assert from 'node:assert/strict';
import { createAccount, onlyAccount, type TestAccount, withNewKey } from '../support/accounts.ts';
import { assertError } from '../support/api.ts';
import { claimDomain } from '../support/dns-servers.ts';
import { ManualClient } from '../support/manual-client.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { TrunkClient } from '../support/spec-client/trunk.ts';
import { WebSocketClient } from '../support/spec-client/websocket.ts';
import { WITH_TRUNKS } from '../support/trunk-world.ts';

interface Operations {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, unknown>> }>>>
  >;
}

/** Calls that a key for one tunnel may make. It sees and creates only its own tunnel. */
const OWN_CALLS = ['GET /v1/account', 'GET /v1/tunnels', 'GET /v1/names'];
const SOCKETS = ['/ws/control', '/ws/data', '/ws/trunk'];

describe('a hostile holder of a key for one tunnel or an agent', () => {
  const { scope, relay } = sharedRelaySuite(WITH_TRUNKS);
  let owner: TestAccount;
  let thief: TestAccount;
  let agent: TestAccount;
  let victim: ManualClient;
  /** ids of the account's resources, by the placeholders in paths */
  let ids: Readonly<Record<string, string>>;
  let domainId: string;

  before(async () => {
    owner = await createAccount(relay);
    thief = await withNewKey(relay, owner, '--name', 'only');
    agent = await withNewKey(relay, owner, '--agent');
    victim = await ManualClient.start(scope, relay, onlyAccount(owner), {
      name: 'shop',
      access: { links: true, allow: ['0.0.0.0/0', '::/0'] },
    });
    const { json } = await owner.api.send('POST', `/v1/tunnels/${victim.tunnel.id}/links`, { json: {} });
    domainId = (await claimDomain(owner, 'shop.test')).id;
    ids = { id: victim.tunnel.id, link_id: (json as { id: string }).id, knock_id: 'k' };
  });

  /** All resources of the account, as its owner sees them. */
  async function everything(): Promise<unknown> {
    const paths = [`/v1/tunnels/${victim.tunnel.id}`, `/v1/tunnels/${victim.tunnel.id}/links`, '/v1/domains'];
    return await Promise.all(paths.map(async (path) => (await owner.api.send('GET', path)).json));
  }

  it('sees and changes nothing else of the account, with any call of the API', async () => {
    const before = await everything();
    const document = (await thief.api.send('GET', '/v1/openapi.json')).json as Operations;
    const tried: string[] = [];
    for (const [template, methods] of Object.entries(document.paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        const operation = `${method.toUpperCase()} ${template}`;
        const needsNoKey = method === 'parameters' || responses['401'] === undefined;
        if (needsNoKey || SOCKETS.includes(template) || OWN_CALLS.includes(operation)) continue;
        const known = template.startsWith('/v1/domains') ? { ...ids, id: domainId } : ids;
        const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? '');
        const json = {
          local_port: 9,
          name: 'shop',
          take_over: true,
          admit: true,
          domain: 'other.test',
          ttl: '1h',
        };
        for (const { api } of [thief, agent]) {
          const answer = await api.send(method.toUpperCase(), path, method === 'get' ? {} : { json });
          assert.ok([403, 404].includes(answer.status), `${operation}: ${answer.status}`);
        }
        tried.push(operation);
      }
    }
    assert.ok(tried.length > 30, tried.join('\n'));
    for (const wanted of [{}, { name: 'shop' }, { name: 'new-shop' }])
      assertError(
        await thief.api.send('POST', '/v1/tunnels', { json: { local_port: 9, ...wanted } }),
        403,
        'this api key is valid for the tunnel "only" only',
      );
    assert.deepEqual(await everything(), before);
    for (const { api } of [thief, agent])
      assert.deepEqual((await api.send('GET', '/v1/tunnels')).json, { tunnels: [] });
  });

  it('opens no socket of another tunnel, whether its client is connected or not', async () => {
    const offline = await owner.api.create({ local_port: 9 });
    for (const id of [victim.tunnel.id, offline.id])
      for (const path of SOCKETS) {
        const opened = WebSocketClient.open(scope, {
          port: relay.port,
          host: `localhost:${relay.port}`,
          target: `${path}?tunnel_id=${id}`,
          headers: [['Authorization', `Bearer ${thief.key}`]],
        });
        // A data socket needs only the id of a connection.
        const code = path === '/ws/data' ? 'connection-not-found' : 'tunnel-not-found';
        await assert.rejects(opened, new RegExp(`answered with 404: .*"${code}"`), `${path} of ${id}`);
      }
  });

  it('gets no visitor of another tunnel on its own trunk, and cannot accept announced ones', async () => {
    const own = await thief.api.create({ local_port: 9, name: 'only' });
    const held = await ManualClient.adopt(scope, relay, thief, own);
    const trunk = await TrunkClient.open(scope, relay, thief.key, own.id);
    const visitor = await RawConnection.open(scope, relay.port);
    const link = (await owner.api.send('POST', `/v1/tunnels/${victim.tunnel.id}/links`, { json: {} }))
      .json as {
      url: string;
    };
    const pass = await visitPass(link.url);
    await visitor.write(formatRequest({ host: victim.host, headers: [['Cookie', pass]] }));
    const id = await victim.announced();
    const stolen = WebSocketClient.open(scope, {
      port: relay.port,
      host: `localhost:${relay.port}`,
      target: `/ws/data?id=${id}`,
      headers: [['Authorization', `Bearer ${thief.key}`]],
    });
    await assert.rejects(stolen, /answered with 404/);
    (await victim.open(id)).send('HTTP/1.1 204 No Content\r\n\r\n');
    assert.equal((await visitor.response()).status, 204);
    const welcome = await RawConnection.open(scope, relay.port);
    await welcome.write(formatRequest({ host: held.host }));
    const stream = await trunk.accept();
    assert.match(await stream.receivedUpTo('\r\n\r\n'), new RegExp(`Host: ${held.host}`));
    stream.send('HTTP/1.1 204 No Content\r\n\r\n');
    assert.equal((await welcome.response()).status, 204);
    assert.deepEqual(held.control.messages, []);
  });

  /** The cookie that is set by opening a signed link. */
  async function visitPass(url: string): Promise<string> {
    const { pathname, search, host } = new URL(url);
    const visitor = await RawConnection.open(scope, relay.port);
    const headers = [['Sec-Fetch-Mode', 'navigate']] as const;
    await visitor.write(formatRequest({ host, target: `${pathname}${search}`, headers }));
    const answer = await visitor.response();
    return answer.head.field('set-cookie')?.split(';')[0] ?? assert.fail('no pass');
  }
});
