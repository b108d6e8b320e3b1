import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, onlyAccount, type TestAccount } from '../support/accounts.ts';
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
    assert.match(page.text, /<h1>At lunch &lt;b&gt;until&lt;\/b&gt; two\.<\/h1>/);
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
