import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, onlyAccount, type TestAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';

const PERSON = ['Accept', 'text/html'] as const;
const AWAY = { away: 'At lunch <b>until</b> two.' };

/** Names that their accounts keep or hold (protocol.md sections 3.5 and 16). */
describe('names without a tunnel', () => {
  const { scope, relay } = relaySuite();
  let ann: TestAccount;
  let bob: TestAccount;

  before(async () => {
    [ann, bob] = await Promise.all([createAccount(relay, { subdomain: 'ann' }), createAccount(relay)]);
  });

  async function keep(name: string, fields: object = {}): Promise<void> {
    assert.equal((await ann.api.send('POST', '/v1/names', { json: { name } })).status, 201);
    if (Object.keys(fields).length > 0) await change(name, fields);
  }

  async function change(name: string, fields: object): Promise<void> {
    assert.equal((await ann.api.send('PUT', `/v1/names/${name}`, { json: fields })).status, 200);
  }

  const at = (slug: string, headers: readonly (readonly [string, string])[] = []): Promise<Response> =>
    visit(relay.port, { host: hostOf({ slug }, relay), headers });

  const codeAt = async (slug: string): Promise<string | undefined> =>
    (await at(slug)).head.field('culvert-error');

  async function connected(tunnel: Tunnel): Promise<ManualClient> {
    return await ManualClient.adopt(scope, relay, ann, tunnel);
  }

  it('are offline while they are held, in every form, and unknown if nobody chose them', async () => {
    const { id } = await ann.api.create({ local_port: 9, name: 'held' });
    const generated = await ann.api.create({ local_port: 9 });
    await Promise.all([ann.api.close(id), ann.api.close(generated.id)]);
    assert.equal(await codeAt('held'), 'tunnel-offline');
    assert.equal(await codeAt('held.ann'), 'tunnel-offline');
    assert.equal(await codeAt(generated.slug), 'tunnel-unknown');
    const path = await visit(relay.port, { host: `localhost:${relay.port}`, target: '/t/held/x' });
    assert.equal(path.head.field('culvert-error'), 'tunnel-offline');
    const taken = await bob.api.send('POST', '/v1/tunnels', { json: { local_port: 9, name: 'held' } });
    assert.equal(taken.status, 409);
    await relay.stop('SIGKILL');
    await relay.restart();
    assert.equal(await codeAt('held'), 'tunnel-offline');
  });

  it('are not known until somebody keeps them', async () => {
    assert.equal(await codeAt('kept'), 'tunnel-unknown');
    await keep('kept');
    assert.equal(await codeAt('kept'), 'tunnel-offline');
    await ann.api.send('DELETE', '/v1/names/kept');
    await eventually(9000, async () => assert.equal(await codeAt('kept'), 'tunnel-unknown'));
  });

  it("show people their owner's text as nothing but text, and programs when to come back", async () => {
    const until = new Date(Date.now() + 3 * 3_600_000 - 60_000).toISOString();
    await keep('away', { ...AWAY, until });
    const page = await at('away', [PERSON]);
    assert.deepEqual([page.status, page.head.field('culvert-error')], [503, 'away']);
    assert.match(page.text, /<h1 [^>]*>At lunch &lt;b&gt;until&lt;\/b&gt; two\.<\/h1>/);
    assert.match(page.text, />3 hours<\/time>/);
    assert.match(page.text, /tunnel relay localhost/);
    assert.match(page.head.field('content-security-policy') ?? '', /default-src 'none'/);
    assert.match(page.head.field('refresh') ?? '', /^\d+$/);
    const program = await at('away');
    assert.deepEqual(JSON.parse(program.text), { error: AWAY.away, code: 'away', until });
    const seconds = Number(program.head.field('retry-after'));
    assert.ok(seconds > 10_000 && seconds < 10_800, String(seconds));
    await change('away', { until: null });
    assert.equal((await at('away')).head.field('retry-after'), '60');
    await change('away', { away: null });
    assert.equal(await codeAt('away'), 'tunnel-offline');
  });

  it('show the text at once while their tunnel has no client, and the tunnel while it has one', async () => {
    await keep('served', AWAY);
    const tunnel = await ann.api.create({ local_port: 9, name: 'served' });
    assert.equal(await codeAt('served'), 'away');
    const client = await connected(tunnel);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    (await client.accept()).send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.equal((await visitor.response()).text, 'ok');
    client.control.socket.drop();
    await eventually(20_000, async () => assert.equal(await codeAt('served'), 'away'));
    await change('served', { away: 'Later.' });
    assert.match((await at('served')).text, /Later\./);
  });

  it('show the text before access is asked for, but only inside allow', async () => {
    await keep('locked', AWAY);
    const tunnel = await ann.api.create({ local_port: 9, name: 'locked', access: { password: 'fern-oak' } });
    assert.equal(await codeAt('locked'), 'away');
    const access = { allow: ['192.0.2.1'] };
    await ann.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: access });
    assert.equal(await codeAt('locked'), 'access-address');
  });

  describe('under attack', () => {
    it('are given to one of two accounts, however many of their requests meet', async () => {
      const owners = [await createAccount(relay), await createAccount(relay)];
      const statuses = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const { api } = owners[index % 2] ?? assert.fail();
          const [path, json] =
            index % 4 < 2
              ? ['/v1/names', { name: 'raced' }]
              : ['/v1/tunnels', { local_port: 9, name: 'raced' }];
          return [index % 2, (await api.send('POST', path, { json })).status] as const;
        }),
      );
      const winners = new Set(statuses.filter(([, status]) => status < 300).map(([owner]) => owner));
      assert.equal(winners.size, 1, JSON.stringify(statuses));
    });

    it('are those of nobody else in any form of an address', async () => {
      await keep('claimed', AWAY);
      const eve = await createAccount(relay, { subdomain: 'eve' });
      for (const name of ['claimed', 'x--claimed']) {
        const tunnel = await eve.api.send('POST', '/v1/tunnels', { json: { local_port: 9, name } });
        const kept = await eve.api.send('POST', '/v1/names', { json: { name } });
        assert.deepEqual([tunnel.status, kept.status], [409, 409], name);
      }
      const claim = ['--name', eve.name, '--subdomain', 'claimed'];
      await assert.rejects(administer(relay, 'account', 'set-subdomain', ...claim), /subdomain is taken/);
      for (const [method, path] of [
        ['PUT', '/v1/names/claimed'],
        ['DELETE', '/v1/names/claimed'],
      ] as const)
        assert.equal((await eve.api.send(method, path, { json: { away: 'Mine.' } })).status, 404);
      assert.equal(await codeAt('claimed.eve'), 'tunnel-unknown');
      assert.equal(await codeAt('claimed.ann'), 'away');
    });

    it('show no text of a suspended account or tunnel', async () => {
      const eve = await createAccount(relay);
      const json = { away: 'Call this number.' };
      for (const name of ['bank', 'post']) {
        await eve.api.send('POST', '/v1/names', { json: { name } });
        await eve.api.send('PUT', `/v1/names/${name}`, { json });
      }
      const { id } = await eve.api.create({ local_port: 9, name: 'bank' });
      await administer(relay, 'tunnel', 'suspend', id, '--reason', 'phishing');
      await eventually(9000, async () => assert.equal(await codeAt('bank'), 'suspended'));
      await eve.api.close(id);
      assert.doesNotMatch((await at('bank')).text, /number/);
      assert.equal(await codeAt('post'), 'away');
      await administer(relay, 'account', 'suspend', '--name', eve.name, '--reason', 'phishing');
      assert.equal(await codeAt('post'), 'tunnel-offline');
    });

    it('are unknown and free once their account is removed', async () => {
      const eve = await createAccount(relay);
      await eve.api.send('POST', '/v1/names', { json: { name: 'orphan' } });
      await eve.api.create({ local_port: 9, name: 'orphan' });
      await administer(relay, 'account', 'remove', '--name', eve.name);
      await eventually(9000, async () => assert.equal(await codeAt('orphan'), 'tunnel-unknown'));
      assert.equal((await bob.api.create({ local_port: 9, name: 'orphan' })).name, 'orphan');
    });
  });

  it('serve those who waited for a client that was only briefly away', async () => {
    await keep('brief');
    const client = await ManualClient.start(scope, relay, onlyAccount(ann), { name: 'brief' });
    client.control.socket.drop();
    const visitor = await RawConnection.open(scope, relay.port, 25_000);
    await visitor.write(formatRequest({ host: client.host }));
    await client.reconnect();
    (await client.accept()).send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.equal((await visitor.response()).text, 'ok');
  });
});
