import assert from 'node:assert/strict';
import type { NewLink } from '../../shared/links.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { type Field, formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const A = 0;
const B = 1;
const C = 2;
const ALL = [A, B, C];

function cookieOf({ head }: Response): Field {
  return ['Cookie', head.all('set-cookie')[0]?.split(';', 1)[0] ?? ''];
}

describe('signed links on three relays', function () {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let tunnel: Tunnel;
  let localPort: number;

  before(async () => {
    cluster = await RelayCluster.start(suite, 3);
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(A), { plan: 'team' });
    const service = await startHttpService(scope, (request, response) => {
      if (request.url === '/events')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      else if (request.url === '/endless') response.write('begun');
      else response.end(`${String(request.headers['culvert-visitor'])} ${String(request.url)}`);
    });
    localPort = service.port;
    await begin(A);
  });

  async function begin(index: number, more: object = {}): Promise<void> {
    const wanted = { local_port: localPort, access: { links: true }, ...more };
    ({ tunnel } = await SpecClient.start(scope, cluster.relay(index), account.key, wanted));
  }

  async function link(index: number, request: object = {}): Promise<NewLink> {
    const api = new Api(cluster.relay(index), account.key);
    const { status, json } = await api.send('POST', `/v1/tunnels/${tunnel.id}/links`, { json: request });
    assert.equal(status, 201, JSON.stringify(json));
    return json as NewLink;
  }

  async function revoke(index: number, { id }: NewLink): Promise<void> {
    const api = new Api(cluster.relay(index), account.key);
    assert.equal((await api.send('DELETE', `/v1/tunnels/${tunnel.id}/links/${id}`)).status, 200);
  }

  function hostOn(index: number): string {
    return `${tunnel.slug}.localhost:${cluster.relay(index).port}`;
  }

  async function ask(index: number, target: string, headers: Field[] = []): Promise<Response> {
    return await visit(cluster.relay(index).port, { host: hostOn(index), target, headers });
  }

  async function open(index: number, { url }: NewLink, headers: Field[] = []): Promise<Response> {
    return await ask(index, `/${new URL(url).search}`, [['Sec-Fetch-Mode', 'navigate'], ...headers]);
  }

  async function follow(index: number, made: NewLink): Promise<Field> {
    const opened = await open(index, made);
    assert.equal(opened.status, 303);
    return cookieOf(opened);
  }

  async function assertRefused(index: number, made: NewLink, cookie: Field): Promise<void> {
    assert.equal((await open(index, made)).status, 401, `the link on ${'ABC'[index]}`);
    assert.equal((await ask(index, '/', [cookie])).status, 401, `its cookie on ${'ABC'[index]}`);
  }

  it('are valid on each of them as soon as one has created them, and so are their cookies', async () => {
    for (const index of ALL) {
      const made = await link(index, { note: 'for the review' });
      for (const other of ALL) {
        const cookie = await follow(other, made);
        for (const third of ALL)
          assert.equal((await ask(third, '/', [cookie])).text, 'link:for the review /');
      }
    }
  });

  it('admit the first of two browsers that open one at two of them, whichever it is', async () => {
    for (const note of ['one', 'two', 'three']) {
      const made = await link(A, { once: true, note });
      const browsers = await Promise.all(
        ALL.map(async (index) => ({ index, cookie: cookieOf(await open(index, made)) })),
      );
      const opened = await Promise.all(
        browsers.map(async ({ index, cookie }) => await open(index, made, [cookie])),
      );
      assert.deepEqual(
        opened.map(({ status }) => status).toSorted((a, b) => a - b),
        [303, 401, 401],
      );
      const entered = opened.find(({ status }) => status === 303);
      assert.ok(entered);
      for (const index of ALL)
        assert.equal((await ask(index, '/', [cookieOf(entered)])).text, `link:${note} /`);
    }
  });

  it('are refused by all within a second once revoked on one, and visitors who used them are cut off', async () => {
    const [made, other] = [await link(A), await link(B)];
    const [cookie, otherCookie] = [await follow(C, made), await follow(A, other)];
    const streams = await Promise.all(
      [...ALL, ...ALL].map(async (index, number) => {
        const visitor = await RawConnection.open(scope, cluster.relay(index).port, 60_000);
        const target = number < ALL.length ? '/events' : '/endless';
        await visitor.write(formatRequest({ host: hostOn(index), target, headers: [cookie] }));
        assert.equal((await visitor.finalHead()).status, 200);
        return visitor;
      }),
    );
    await revoke(B, made);
    await assertRefused(B, made, cookie);
    await Promise.all(streams.map(({ ending }) => ending));
    for (const index of ALL) {
      await assertRefused(index, made, cookie);
      assert.equal((await ask(index, '/', [otherCookie])).status, 200);
    }
  });

  it('are refused by a relay that first loads the tunnel afterwards, and by one that comes back', async () => {
    const made = await link(A);
    const cookie = await follow(A, made);
    await revoke(A, made);
    await assertRefused(C, made, cookie);
    await cluster.relay(B).stop();
    await cluster.relay(B).restart();
    await assertRefused(B, made, cookie);
  });

  it('of a kept name are valid on each for its next tunnel, until one of them revokes them', async () => {
    const name = 'resumed';
    await begin(A, { name });
    const [made, gone] = [await link(A), await link(C)];
    const api = new Api(cluster.relay(B), account.key);
    assert.equal((await api.send('POST', '/v1/names', { json: { name } })).status, 201);
    await revoke(B, gone);
    await api.close(tunnel.id);
    await begin(C, { name });
    for (const index of ALL) assert.equal((await open(index, gone)).status, 401);
    const cookie = await follow(A, made);
    await revoke(B, made);
    for (const index of ALL) await eventually(20_000, async () => await assertRefused(index, made, cookie));
  });

  it('revoked while Redis is away are refused by all once it is back', async () => {
    const made = await link(A);
    const cookie = await follow(C, made);
    await cluster.redis.stop();
    await eventually(20_000, () => assert.match(cluster.relay(A).child.stderr, /redis failing/));
    await revoke(A, made);
    await assertRefused(A, made, cookie);
    await cluster.redis.resume();
    await eventually(30_000, async () => await assertRefused(C, made, cookie));
  });
});
