import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { type ApiResponse, assertError } from '../support/api.ts';
import { Culvert, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { formatRequest, type Field, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { readEcho, seenField, startEchoService } from '../support/services/echo.ts';
import { closedPort, type HttpService, startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const TAKEN = 'name already in use';
const FORM: Field = ['Content-Type', 'application/x-www-form-urlencoded'];

/** A service that names itself in each response. */
function startNamed(
  scope: Parameters<typeof startHttpService>[0],
  name: string,
  fields: readonly Field[] = [],
): Promise<HttpService> {
  return startHttpService(scope, (request, response) => {
    for (const [field, value] of fields) response.appendHeader(field, value);
    response.end(`${name} ${request.headers.host ?? ''}`);
  });
}

function errorOf({ status, head }: Response): [number, string | undefined] {
  return [status, head.field('culvert-error')];
}

async function create(account: TestAccount, request: object): Promise<ApiResponse> {
  return await account.api.send('POST', '/v1/tunnels', { json: { local_port: 9, ...request } });
}

/** What the service answers that a host of `parts` is forwarded to. */
function expected(host: string): string {
  return `${host.startsWith('parts') ? 'main' : /^api--parts/i.test(host) ? 'api' : 'rest'} ${host}`;
}

describe('the hosts of a wildcard tunnel (protocol.md section 4.7)', () => {
  const { scope, relay, pool } = relaySuite({
    CULVERT_RESERVED_NAMES: 'www,status--acme',
    CULVERT_NAME_HOLD: '0s',
  });

  async function get(host: string, headers: readonly Field[] = []): Promise<Response> {
    return await visit(relay.port, { host, headers });
  }

  /** Starts culvert with a culvert.yml of these tunnels. */
  async function startProject(...tunnels: readonly string[]): Promise<void> {
    const { key } = await createAccount(relay);
    const file = join(temporaryDirectory(scope), 'culvert.yml');
    writeFileSync(file, `tunnels:\n${tunnels.map((fields, index) => `  t${index}: {${fields}}\n`).join('')}`);
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
    const child = spawnCulvert(scope, ['start', '--json', '--config', file], environment);
    for (const index of tunnels.keys())
      await child.line((line) => (line.includes(`"event":"online","name":"t${index}"`) ? true : undefined));
  }

  async function serve(account: TestAccount, port: number, request: object) {
    return (await SpecClient.start(scope, relay, account.key, { local_port: port, ...request })).tunnel;
  }

  describe('reach the tunnel', () => {
    before(async () => {
      const service = await startEchoService(scope);
      const account = await createAccount(relay, { subdomain: 'corp' });
      await serve(account, service.port, { name: 'shop', wildcard: true });
      await serve(account, service.port, { name: 'plain' });
    });

    it('and are forwarded unchanged', async () => {
      for (const sent of [
        'shop.localhost',
        `a--b--shop.localhost:${relay.port}`,
        'plain--shop.localhost',
        'API--Shop.LocalHost.',
        `${'a'.repeat(57)}--shop.localhost`,
      ]) {
        const echo = readEcho(await get(sent, [['Origin', `http://${sent}`]]));
        for (const name of ['host', 'x-forwarded-host']) assert.equal(seenField(echo, name), sent);
        assert.equal(seenField(echo, 'origin'), `http://${sent}`);
      }
    });

    it('unless they are spelled differently, or below another name', async () => {
      for (const host of [
        '--shop.localhost',
        'api-shop.localhost',
        'api--plain.localhost',
        'api.shop.localhost',
        'api--shop.corp.localhost',
        'api_x--shop.localhost',
        'xn--shop.localhost',
        `${'a'.repeat(58)}--shop.localhost`,
      ])
        assert.deepEqual(errorOf(await get(host)), [404, 'tunnel-unknown'], host);
    });

    it('but not in the path form', async () => {
      const answer = await visit(relay.port, { host: `localhost:${relay.port}`, target: '/t/api--shop/' });
      assert.deepEqual(errorOf(answer), [404, 'tunnel-unknown']);
    });

    it('one after the other on a connection, each with its own host', async () => {
      const connection = await RawConnection.open(scope, relay.port);
      for (const host of ['a--shop.localhost', 'b--shop.localhost', 'shop.localhost', 'a--shop.localhost']) {
        await connection.write(formatRequest({ host }));
        assert.equal(seenField(readEcho(await connection.response()), 'host'), host);
      }
    });
  });

  it('are shown in the tunnel object', async () => {
    const { tunnel } = await pool.tunnel({ name: 'shown', wildcard: true });
    assert.equal(tunnel.wildcard, true);
    assert.equal(tunnel.urls.wildcard, `http://*--shown.localhost:${relay.port}`);
    assert.equal(tunnel.public_url, `http://shown.localhost:${relay.port}`);
    const { tunnel: plain } = await pool.tunnel();
    assert.deepEqual([plain.wildcard, plain.urls.wildcard], [false, undefined]);
    const { tunnel: random } = await pool.tunnel({ wildcard: true });
    assert.equal(random.urls.wildcard, `http://*--${random.slug}.localhost:${relay.port}`);
    const { tunnel: not } = await pool.tunnel({ wildcard: null });
    assert.equal(not.wildcard, false);
  });

  it('require a boolean, and the Dev plan', async () => {
    const dev = await createAccount(relay);
    for (const wildcard of ['true', 1, {}, []])
      assertError(await create(dev, { wildcard }), 400, 'invalid request body');
    const free = await createAccount(relay, { plan: 'free' });
    assertError(await create(free, { wildcard: true }), 403, 'wildcard hosts require the Dev plan or above');
    assert.equal((await create(free, { wildcard: false })).status, 201);
    assertError(
      await create(free, { wildcard: true, name: 'free-name' }),
      403,
      'custom names require the Dev plan or above',
    );
  });

  it('go to the longest name that fits, and to a tunnel of that name', async () => {
    const account = await createAccount(relay);
    const services = await Promise.all(['short', 'long', 'exact'].map((name) => startNamed(scope, name)));
    const [short = 0, long = 0, exact = 0] = services.map(({ port }) => port);
    await serve(account, short, { name: 'tree', wildcard: true });
    await serve(account, long, { name: 'oak--tree', wildcard: true });
    await serve(account, exact, { name: 'red--oak--tree' });
    const asked = ['x--tree', 'oak--tree', 'x--oak--tree', 'red--oak--tree', 'x--red--oak--tree'];
    const answers = await Promise.all(asked.map(async (label) => (await get(`${label}.localhost`)).text));
    assert.deepEqual(
      answers.map((text) => text.split(' ')[0]),
      ['short', 'long', 'long', 'exact', 'long'],
    );
  });

  describe('share one namespace with the names of other accounts', () => {
    it('so that a name among them is refused while the tunnel lives', async () => {
      const [owner, other] = await Promise.all([createAccount(relay), createAccount(relay)]);
      const { id } = await owner.api.create({ local_port: 9, name: 'bank', wildcard: true });
      for (const name of ['login--bank', 'a--b--bank', 'a-b--bank'])
        assertError(await create(other, { name }), 409, TAKEN);
      assertError(await create(other, { name: 'login--bank', wildcard: true }), 409, TAKEN);
      await owner.api.create({ local_port: 9, name: 'own--bank' });
      await owner.api.close(id);
      const later = await createAccount(relay);
      await later.api.create({ local_port: 9, name: 'login--bank' });
    });

    it('so that a wildcard tunnel among whose hosts one is, is refused', async () => {
      const [owner, other] = await Promise.all([createAccount(relay), createAccount(relay)]);
      const { id } = await other.api.create({ local_port: 9, name: 'pay--mint' });
      assertError(await create(owner, { name: 'mint', wildcard: true }), 409, TAKEN);
      const { id: plain } = await owner.api.create({ local_port: 9, name: 'mint' });
      const again = { local_port: 10, name: 'mint', take_over: true, wildcard: true };
      assertError(await owner.api.send('POST', '/v1/tunnels', { json: again }), 409, TAKEN);
      assert.deepEqual(
        [(await owner.api.get(plain)).wildcard, (await owner.api.get(plain)).local_port],
        [false, 9],
      );
      await other.api.close(id);
      assert.equal((await owner.api.send('POST', '/v1/tunnels', { json: again })).status, 200);
      assert.equal((await owner.api.get(plain)).wildcard, true);
      assertError(await create(other, { name: 'pay--mint' }), 409, TAKEN);
    });

    it('so that reserved names are never among them', async () => {
      const account = await createAccount(relay);
      assertError(await create(account, { name: 'acme', wildcard: true }), 409, TAKEN, 'name-reserved');
      await account.api.create({ local_port: 9, name: 'acme' });
    });

    it('so that one of 10 simultaneous requests decides', async () => {
      const accounts = await Promise.all(Array.from({ length: 10 }, () => createAccount(relay)));
      for (let race = 0; race < 4; race += 1) {
        const name = `race${race}`;
        const answers = await Promise.all(
          accounts.map((account, index) =>
            create(account, index % 2 === 0 ? { name, wildcard: true } : { name: `x${index}--${name}` }),
          ),
        );
        const created = answers.flatMap(({ status }, index) => (status === 201 ? [index % 2] : []));
        assert.ok(created.length > 0);
        for (const { status } of answers) assert.ok(status === 201 || status === 409, String(status));
        // Either one wildcard tunnel, or names that are no hosts of each other.
        const wildcards = created.filter((kind) => kind === 0).length;
        assert.deepEqual([wildcards, wildcards > 0 ? created.length : 1], [wildcards > 0 ? 1 : 0, 1]);
      }
    });
  });

  it('are those that the tunnel was last taken over with', async () => {
    const account = await createAccount(relay);
    const service = await startNamed(scope, 'service');
    await serve(account, service.port, { name: 'moving' });
    const host = 'x--moving.localhost';
    assert.deepEqual(errorOf(await get(host)), [404, 'tunnel-unknown']);
    const json = { local_port: service.port, name: 'moving', take_over: true };
    await account.api.send('POST', '/v1/tunnels', { json: { ...json, wildcard: true } });
    assert.equal((await get(host)).status, 200);
    await account.api.send('POST', '/v1/tunnels', { json });
    assert.deepEqual(errorOf(await get(host)), [404, 'tunnel-unknown']);
  });

  it('are gone when the tunnel is, and offline while it has no client', async () => {
    const { tunnel, account } = await pool.tunnel({ name: 'leaving', wildcard: true });
    assert.deepEqual(errorOf(await get('x--leaving.localhost')), [503, 'tunnel-offline']);
    await account.api.close(tunnel.id);
    assert.deepEqual(errorOf(await get('x--leaving.localhost')), [404, 'tunnel-unknown']);
  });

  it('keep cookies to the host that sets them', async () => {
    const { key } = await createAccount(relay);
    const service = await startNamed(scope, 'service', [
      ['Set-Cookie', 'a=1; Domain=localhost; Path=/'],
      ['Set-Cookie', 'b=1; Domain=.bob--baker.localhost'],
    ]);
    const request = { local_port: service.port, name: 'baker', wildcard: true };
    await SpecClient.start(scope, relay, key, request);
    const { head } = await get('ann--baker.localhost');
    assert.deepEqual(head.all('set-cookie'), ['a=1; Path=/', 'b=1']);
  });

  it('pass on redirects to each other unchanged', async () => {
    const { key } = await createAccount(relay);
    const location = 'http://bob--miller.localhost/x';
    const service = await startNamed(scope, 'service', [['Location', location]]);
    const request = { local_port: service.port, name: 'miller', wildcard: true };
    await SpecClient.start(scope, relay, key, request);
    assert.equal((await get('ann--miller.localhost')).head.field('location'), location);
  });

  it('are all behind the access policy, with a cookie for each host', async () => {
    const { key } = await createAccount(relay);
    const service = await startNamed(scope, 'service');
    await SpecClient.start(scope, relay, key, {
      local_port: service.port,
      name: 'guarded',
      wildcard: true,
      access: { password: 'mild oak fern', basic: [{ user: 'ann', password: 'elm' }] },
    });
    for (const host of ['guarded.localhost', 'a--guarded.localhost', 'B--guarded.localhost.'])
      assert.deepEqual(errorOf(await get(host)), [401, 'access-required']);
    const login = await visit(relay.port, {
      method: 'POST',
      host: 'a--guarded.localhost',
      target: '/?culvert_gate',
      headers: [FORM, ['Origin', 'http://a--guarded.localhost'], ['Accept', 'text/html']],
      body: 'culvert_password=mild+oak+fern',
    });
    assert.equal(login.status, 303);
    const [cookie = ''] = login.head.all('set-cookie');
    assert.doesNotMatch(cookie, /domain/i);
    const pass: Field = ['Cookie', cookie.split(';', 1)[0] ?? ''];
    assert.equal((await get('A--Guarded.localhost.:81', [pass])).status, 200);
    for (const host of ['b--guarded.localhost', 'guarded.localhost'])
      assert.deepEqual(errorOf(await get(host, [pass])), [401, 'access-required']);
    const basic: Field = ['Authorization', `Basic ${Buffer.from('ann:elm').toString('base64')}`];
    assert.equal((await get('c--guarded.localhost', [basic])).status, 200);
  });

  describe('of culvert', () => {
    it('are forwarded to the services that culvert.yml names, each request on its own', async () => {
      const services = await Promise.all(['main', 'api', 'rest'].map((name) => startNamed(scope, name)));
      const [main = 0, api = 0, rest = 0] = services.map(({ port }) => port);
      const closed = await closedPort();
      await startProject(
        `name: parts, port: ${main}, hosts: {api: ${api}, "*": ${rest}}`,
        `name: local, port: ${main}, hosts: {api: ${api}}, host_header: local`,
        `name: half, port: ${main}, hosts: {api: ${closed}}`,
      );
      const hosts = ['parts', 'api--parts', 'x--parts', 'API--parts', 'x--api--parts'];
      const asked = [...hosts, ...hosts.toReversed()].map((label) => `${label}.localhost`);
      // A proxy sends requests of many visitors over one connection.
      const connection = await RawConnection.open(scope, relay.port);
      for (const host of asked) assert.equal((await connection.request({ host })).text, expected(host));
      // With the Host of the service.
      assert.equal((await get('local.localhost')).text, `main localhost:${main}`);
      assert.equal((await get('x--local.localhost')).text, `main localhost:${main}`);
      assert.equal((await get('api--local.localhost')).text, `api localhost:${api}`);
      // Of which one is not running.
      const refused = await get('api--half.localhost');
      assert.deepEqual(errorOf(refused), [502, 'local-refused']);
      assert.equal((await get('half.localhost')).status, 200);
    });

    it('receive a replaced Host for each request', async () => {
      const { key } = await createAccount(relay);
      const service = await startNamed(scope, 'service');
      const args = ['--name', 'rewritten', '--wildcard', '--host-header', 'local'];
      const client = await Culvert.start(scope, relay, key, service.port, args);
      assert.equal(client.tunnel.wildcard, true);
      for (const host of ['rewritten.localhost', 'x--rewritten.localhost'])
        assert.equal((await get(host)).text, `service localhost:${service.port}`);
    });
  });
});
