import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { ask, BROWSER, cookieOf, knock, KnockOwner, mustKnock, type Place } from '../support/approvals.ts';
import { type Field, formatRequest, RawConnection, type Response, WEBSOCKET } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { testScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

/** Long before a relay would respond on its own (protocol.md section 11.3), and enough for a busy machine. */
const SOON_MS = 15_000;

function from(address: string): Field {
  return ['X-Forwarded-For', address];
}

describe('an approval request (protocol.md section 11.3)', () => {
  // This machine counts as a proxy, so that a visitor can have any address.
  const { scope: suite, relay } = relaySuite({
    CULVERT_TRUST_PROXY: '127.0.0.1',
    CULVERT_ADDRESS_CONNECTIONS: '0',
  });
  const scope = testScope();
  let service: HttpService;
  let account: TestAccount;
  let accounts = 0;
  let tunnel: Tunnel;
  let owner: KnockOwner;
  /** the requests of the local service */
  let seen: IncomingMessage[];

  before(async () => {
    service = await startHttpService(suite, (request, response) => {
      seen.push(request);
      if (request.url === '/events')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      else response.end(`hello ${String(request.headers['culvert-visitor'])}`);
    });
    service.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    });
  });

  beforeEach(async () => {
    seen = [];
    accounts += 1;
    account = await createAccount(relay, { subdomain: `acme${accounts}` });
    ({ tunnel, owner } = await start({ knock: true }));
  });

  /** A tunnel whose client serves visitors over data sockets, and receives approval requests. */
  async function start(access: object): Promise<{ tunnel: Tunnel; owner: KnockOwner }> {
    const made = await new Api(relay, account.key).create({ local_port: service.port, access });
    const heard = await KnockOwner.open(scope, relay, account.key, made.id);
    heard.serve(scope, relay, service.port);
    return { tunnel: made, owner: heard };
  }

  function places({ slug }: Tunnel): Place[] {
    const { port } = relay;
    return [
      { port, host: `${slug}.localhost:${port}` },
      { port, host: `localhost:${port}`, prefix: `/t/${slug}` },
      { port, host: `${slug}.acme${accounts}.localhost:${port}` },
    ];
  }

  function place(): Place {
    return places(tunnel)[0] ?? assert.fail();
  }

  /** The last request of the local service, and its cookies. */
  function last(): unknown[] {
    const request = seen.at(-1);
    return [request?.url, request?.headers.cookie];
  }

  function wait(cookie: Field, at = place()): Promise<Response> {
    return ask(at, { path: '/?culvert_gate=wait', headers: [cookie] });
  }

  for (const [number, form] of ['subdomain', 'path', 'account'].entries()) {
    it(`admits a visitor within a second of the owner's approval (${form})`, async () => {
      const at = places(tunnel)[number] ?? assert.fail();
      const asked = await ask(at, { path: '/x?y=1', headers: [BROWSER] });
      assert.equal(asked.status, 401);
      const [, action = ''] = /<form method="post" action="([^"]+)">/.exec(asked.text) ?? [];
      const target = action.replaceAll('&amp;', '&').slice((at.prefix ?? '').length);
      const headers: Field[] = [BROWSER, ['User-Agent', 'Browser\x9b 1'], from('192.0.2.7')];
      const knocked = await ask(at, { method: 'POST', path: target, headers, body: '' });
      assert.equal(knocked.status, 303);
      assert.equal(knocked.head.field('location'), `${at.prefix ?? ''}/x?y=1`);
      const cookie = cookieOf(knocked);

      const { id, ...told } = await owner.hears();
      const { at: when } = told;
      assert.deepEqual(told, { type: 'knock', address: '192.0.2.7', agent: 'Browser 1', at: when });
      assert.ok(Math.abs(Date.parse(when) - Date.now()) < 60_000);

      const page = await ask(at, { path: '/x?y=1', headers: [BROWSER, cookie] });
      assert.equal(page.status, 401);
      const [, onward = ''] = /^0;url=(.+)$/.exec(page.head.field('refresh') ?? '') ?? [];
      assert.equal(onward, `${at.prefix ?? ''}/x?y=1&culvert_gate=wait`);
      const held = ask(at, { path: onward.slice((at.prefix ?? '').length), headers: [BROWSER, cookie] });
      const begin = performance.now();
      assert.equal((await owner.answer(id, true)).status, 'admitted');
      const { status, head } = await held;
      assert.ok(performance.now() - begin < SOON_MS);
      assert.deepEqual([status, head.field('location')], [303, `${at.prefix ?? ''}/x?y=1`]);
      assert.deepEqual(seen, []);
      const inside = await ask(at, { path: '/x?y=1', headers: [BROWSER, cookie, ['Culvert-Visitor', 'me']] });
      assert.equal(inside.text, 'hello knock');
      assert.deepEqual(last(), ['/x?y=1', undefined]);
      for (const other of places(tunnel)) {
        // A cookie is valid for one form of the address only, except for the two forms with a dedicated host.
        const isSame = (other.prefix === undefined) === (at.prefix === undefined);
        assert.equal((await ask(other, { headers: [cookie] })).status, isSame ? 200 : 401);
      }
    });
  }

  it('is described to programs in JSON, with an address that responds once there is a decision', async () => {
    const knocked = await knock(place());
    assert.equal(knocked.status, 202);
    const { knock: state, wait: address, seconds_left } = JSON.parse(knocked.text) as Record<string, unknown>;
    assert.deepEqual([state, address, seconds_left], ['waiting', '/?culvert_gate=wait', 300]);
    const cookie = cookieOf(knocked);
    const plain = await ask(place(), { headers: [cookie] });
    assert.equal(plain.status, 401);
    assert.equal((JSON.parse(plain.text) as { knock: string }).knock, 'waiting');
    const held = wait(cookie);
    await owner.answer((await owner.hears()).id, false);
    const refused = await held;
    assert.equal(refused.status, 401);
    const { code, knock: end } = JSON.parse(refused.text) as { code: string; knock: string };
    assert.deepEqual([code, end], ['access-required', 'refused']);
  });

  it('has a cookie that is valid only for this request, tunnel and access policy', async () => {
    const mine = await mustKnock(place());
    const other = await mustKnock(place());
    const [first, second] = [await owner.hears(0), await owner.hears(1)];
    await owner.answer(first.id, true);
    assert.equal((await ask(place(), { headers: [mine] })).status, 200);
    assert.equal((await ask(place(), { headers: [other] })).status, 401);
    const name = mine[1].split('=', 1)[0] ?? '';
    const forged = Buffer.from(`knock:${first.id}`).toString('base64url');
    for (const value of [
      first.id,
      forged,
      mine[1].slice(name.length + 1).replace(/\.[^.]+$/, `.${'A'.repeat(43)}`),
      other[1].slice(name.length + 1).replace(/\.[^.]+\./, `.${forged}.`),
    ])
      assert.equal((await ask(place(), { headers: [['Cookie', `${name}=${value}`]] })).status, 401);
    const elsewhere = await start({ knock: true });
    const [there = assert.fail()] = places(elsewhere.tunnel);
    assert.equal((await ask(there, { headers: [mine] })).status, 401);
    assert.equal((await wait(mine, there)).status, 401);
    assert.equal((await wait(['Cookie', 'a=b'])).status, 401);
    await owner.answer(second.id, false);
    const path = `/v1/tunnels/${tunnel.id}/access`;
    await new Api(relay, account.key).send('PUT', path, { json: { knock: true } });
    assert.equal((await ask(place(), { headers: [mine] })).status, 401);
    assert.deepEqual(await owner.list(), []);
  });

  it('can be answered only by the owner, only while it waits, and only within the rules', async () => {
    await mustKnock(place());
    const { id } = await owner.hears();
    const stranger = new Api(relay, (await createAccount(relay)).key);
    const path = `/v1/tunnels/${tunnel.id}/knocks`;
    for (const [method, target] of [
      ['PUT', `${path}/${id}`],
      ['GET', path],
    ] as const) {
      const { status, json } = await stranger.send(
        method,
        target,
        method === 'PUT' ? { json: { admit: true } } : {},
      );
      assert.deepEqual([status, (json as { code: string }).code], [404, 'tunnel-not-found']);
    }
    for (const unknown of ['0123456789abcdef', id.toUpperCase(), '%2e', 'x'.repeat(200)]) {
      const { status, json } = await owner.send(unknown, { admit: true });
      assert.deepEqual([status, (json as { code: string }).code], [404, 'knock-not-found'], unknown);
    }
    for (const wrong of [
      {},
      { admit: 'yes' },
      { admit: true, for: 'soon' },
      { admit: true, for: '721h' },
      { admit: true, for: 60 },
    ]) {
      const { status, json } = await owner.send(id, wrong);
      assert.deepEqual(
        [status, (json as { code: string }).code],
        [400, 'invalid-knock-answer'],
        JSON.stringify(wrong),
      );
    }
    assert.deepEqual(
      (await owner.list()).map(({ id: listed, status }) => [listed, status]),
      [[id, 'waiting']],
    );
  });

  it('admits for an hour, or for as long as the owner decides, and no longer', async () => {
    const cookie = await mustKnock(place());
    const { id } = await owner.hears();
    const { ends_at } = await owner.answer(id, true);
    assert.ok(Math.abs(Date.parse(ends_at) - Date.now() - 3_600_000) < 60_000);
    const stream = await RawConnection.open(scope, relay.port, 60_000);
    await stream.write(formatRequest({ host: place().host, target: '/events', headers: [cookie] }));
    assert.equal((await stream.finalHead()).status, 200);
    // The approval may be changed. When it expires, open connections also end.
    await owner.answer(id, true, '2s');
    assert.equal((await ask(place(), { headers: [cookie] })).status, 200);
    await stream.ending;
    assert.equal((await ask(place(), { headers: [cookie] })).status, 401);
    assert.deepEqual(await owner.list(), []);
    assert.equal((await owner.send(id, { admit: true })).status, 404);
  });

  it('can be revoked, which ends access and cuts WebSockets and event streams', async () => {
    const [mine, other] = [await mustKnock(place()), await mustKnock(place())];
    for (const number of [0, 1]) await owner.answer((await owner.hears(number)).id, true);
    const open = async (cookie: Field, target: string, headers: readonly Field[]): Promise<RawConnection> => {
      const connection = await RawConnection.open(scope, relay.port, 60_000);
      await connection.write(formatRequest({ host: place().host, target, headers: [cookie, ...headers] }));
      await connection.finalHead();
      return connection;
    };
    const cut = [await open(mine, '/socket', WEBSOCKET), await open(mine, '/events', [])];
    const kept = await open(other, '/events', []);
    assert.equal((await owner.answer((await owner.hears()).id, false)).status, 'refused');
    await Promise.all(cut.map(({ ending }) => ending));
    assert.equal((await ask(place(), { headers: [mine] })).status, 401);
    assert.equal((await ask(place(), { headers: [other] })).status, 200);
    assert.equal(kept.socket.destroyed, false);
  });

  it('is sent again to a client that reconnects, but not to one that does not ask for events', async () => {
    await mustKnock(place(), [from('192.0.2.1')]);
    await mustKnock(place(), [from('192.0.2.2')]);
    const answered = await owner.hears(0);
    await owner.hears(1);
    await owner.answer(answered.id, false);
    const again = await KnockOwner.open(scope, relay, account.key, tunnel.id);
    assert.equal((await again.hears()).address, '192.0.2.2');
    await mustKnock(place(), [from('192.0.2.3')]);
    assert.equal((await again.hears(1)).address, '192.0.2.3');
    assert.deepEqual(
      again.heard.map(({ address }) => address),
      ['192.0.2.2', '192.0.2.3'],
    );
    assert.equal(owner.heard.length, 2);
  });

  it('is limited to three per address, including denied ones, and to 32 per tunnel', async () => {
    for (const address of ['2001:db8::1', '2001:db8::2', '2001:db8::3'])
      await mustKnock(place(), [from(address)]);
    const fourth = await knock(place(), [from('2001:db8::4')]);
    assert.deepEqual([fourth.status, fourth.head.field('culvert-error')], [429, 'access-attempts']);
    const seconds = Number(fourth.head.field('retry-after'));
    assert.ok(seconds > 200 && seconds <= 300, String(seconds));
    await owner.answer((await owner.hears()).id, false);
    assert.equal((await knock(place(), [from('2001:db8::4')])).status, 429);
    for (let number = 0; number < 30; number += 1) await mustKnock(place(), [from(`192.0.2.${number}`)]);
    assert.equal((await knock(place(), [from('192.0.2.99')])).status, 429);
    const shown = await knock(place(), [from('192.0.2.99'), BROWSER]);
    assert.match(shown.text, /Too many people are waiting/);
    await owner.answer((await owner.hears(5)).id, true);
    await mustKnock(place(), [from('192.0.2.99')]);
  });

  it('requires a page of the same site, and a tunnel that accepts approval requests', async () => {
    for (const headers of [
      [['Sec-Fetch-Site', 'cross-site']],
      [['Sec-Fetch-Site', 'same-site']],
      [['Origin', 'https://evil.example']],
    ] as Field[][]) {
      const { status, head } = await knock(place(), headers);
      assert.deepEqual([status, head.field('set-cookie')], [401, undefined]);
    }
    assert.equal((await knock(place(), [['Origin', `http://${place().host}`]])).status, 202);
    for (const access of [{ password: 'mild oak fern' }, { links: true }]) {
      const [at = assert.fail()] = places((await start(access)).tunnel);
      assert.equal((await knock(at)).status, 401);
      assert.doesNotMatch((await ask(at, { headers: [BROWSER] })).text, /Ask for access/);
    }
    const [open = assert.fail()] = places((await start({})).tunnel);
    const led = await knock(open);
    assert.deepEqual([led.status, led.head.field('location')], [303, '/']);
    assert.equal((await ask(open, { path: '/?culvert_gate=wait' })).head.field('location'), '/');
    const [near = assert.fail()] = places((await start({ knock: true, allow: ['10.0.0.0/8'] })).tunnel);
    assert.equal((await knock(near, [from('192.0.2.1')])).head.field('culvert-error'), 'access-address');
    assert.deepEqual(seen, []);
  });

  it('ends with the tunnel, and when the owner changes access', async () => {
    const cookie = await mustKnock(place());
    const held = wait(cookie);
    await owner.hears();
    const api = new Api(relay, account.key);
    await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: { password: 'mild oak fern' } });
    assert.equal((await held).status, 303);
    const other = await start({ knock: true });
    const [at = assert.fail()] = places(other.tunnel);
    const closing = wait(await mustKnock(at), at);
    await api.close(other.tunnel.id);
    assert.equal((await closing).status, 303);
  });

  it('belongs to the same visitor on repetition, and is not needed by authorized visitors', async () => {
    const cookie = await mustKnock(place());
    assert.equal((await knock(place(), [cookie])).status, 202);
    assert.equal((await knock(place(), [cookie, BROWSER])).status, 303);
    const { id } = await owner.hears();
    assert.equal((await owner.list()).length, 1);
    await owner.answer(id, false);
    const refused = await knock(place(), [cookie, BROWSER]);
    assert.equal(refused.status, 401);
    assert.match(refused.text, /has seen your request and denied it/);
    await owner.answer(id, true);
    assert.equal((await knock(place(), [cookie])).status, 303);
    assert.equal((await owner.list()).length, 1);
  });

  it('is offered to HEAD in the same way, and cannot be framed', async () => {
    const cookie = await mustKnock(place());
    const page = await ask(place(), {
      path: '/?culvert_gate=wait',
      method: 'HEAD',
      headers: [cookie, BROWSER],
    });
    assert.equal(page.status, 202);
    assert.equal(page.head.field('x-frame-options'), 'DENY');
    assert.match(page.head.field('content-security-policy') ?? '', /frame-ancestors 'none'/);
    assert.equal(page.head.field('cache-control'), 'no-store');
  });
});
