import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { assertBurst, ATTEMPTS, untilRefused } from '../support/rate-limit.ts';
import { type Field, formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const PASSWORD = 'mild oak fern';
const A = 0;
const B = 1;
const C = 2;

function basic(password: string): Field {
  return ['Authorization', `Basic ${btoa(`ann:${password}`)}`];
}

describe('access to a tunnel of three relays (protocol.md section 11)', () => {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let service: HttpService;
  let account: TestAccount;

  before(async () => {
    cluster = await RelayCluster.shared();
    service = await startHttpService(suite, (request, response) => {
      if (request.url === '/events')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      else response.setHeader('X-Secret', '1').end(request.headers['culvert-visitor'] ?? 'anybody');
    });
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(A), { plan: 'team' });
  });

  async function start(access: object): Promise<Tunnel> {
    const request = { local_port: service.port, access };
    return (await SpecClient.start(scope, cluster.relay(A), account.key, request)).tunnel;
  }

  async function replace(index: number, { id }: Tunnel, access: object): Promise<void> {
    const api = new Api(cluster.relay(index), account.key);
    assert.equal((await api.send('PUT', `/v1/tunnels/${id}/access`, { json: access })).status, 200);
  }

  async function ask(index: number, { slug }: Tunnel, headers: Field[] = []): Promise<Response> {
    const { port } = cluster.relay(index);
    return await visit(port, { host: `${slug}.localhost:${port}`, headers });
  }

  /** Submits the form of the page to one of the relays. */
  async function submit(index: number, { slug }: Tunnel): Promise<Response> {
    const { port } = cluster.relay(index);
    return await visit(port, {
      host: `${slug}.localhost:${port}`,
      method: 'POST',
      target: '/?culvert_gate',
      body: new URLSearchParams({ culvert_password: PASSWORD }).toString(),
    });
  }

  async function signIn(index: number, tunnel: Tunnel): Promise<Field> {
    const { head } = await submit(index, tunnel);
    return ['Cookie', head.field('set-cookie')?.split(';', 1)[0] ?? assert.fail('there is no cookie')];
  }

  async function refuses(index: number, tunnel: Tunnel, headers: Field[] = []): Promise<void> {
    await eventually(20_000, async () =>
      assert.equal((await ask(index, tunnel, headers)).head.field('culvert-error'), 'access-required'),
    );
  }

  it('counts wrong passwords on all relays together', async () => {
    const tunnel = await start({ basic: [{ user: 'ann', password: PASSWORD }] });
    assert.equal((await ask(C, tunnel, [basic(PASSWORD)])).status, 200);
    const isChecked = async (index: number): Promise<boolean> => {
      const { head } = await ask([A, B][index % 2] ?? A, tunnel, [basic('wrong')]);
      const code = head.field('culvert-error');
      if (code !== 'access-attempts') assert.equal(code, 'access-required');
      return code !== 'access-attempts';
    };
    assertBurst(await untilRefused(isChecked), ATTEMPTS);
    // Otherwise, a password that was used there recently could be guessed as fast as requests arrive.
    await eventually(60_000, async () => {
      await untilRefused(isChecked);
      const { head } = await ask(C, tunnel, [basic(PASSWORD)]);
      assert.equal(head.field('culvert-error'), 'access-attempts');
    });
  });

  it('is the same on all, and an access cookie from one is valid on the others', async () => {
    const tunnel = await start({ password: PASSWORD });
    for (const index of [A, B, C]) await refuses(index, tunnel);
    const cookie = await signIn(B, tunnel);
    for (const index of [A, B, C]) assert.equal((await ask(index, tunnel, [cookie])).text, 'password');
  });

  it('is given for a form that reaches a relay which has not seen the tunnel, once it is sent there again', async () => {
    const tunnel = await start({ password: PASSWORD });
    const first = await submit(B, tunnel);
    assert.deepEqual([first.status, first.head.field('location')], [307, '/?culvert_gate']);
    assert.equal((await submit(B, tunnel)).status, 303);
  });

  it('passes on only the answer to a preflight without credentials, also from a client of another relay', async () => {
    const tunnel = await start({ basic: [{ user: 'ann', password: PASSWORD }] });
    for (const index of [A, B, C]) {
      const { port } = cluster.relay(index);
      const headers: Field[] = [
        ['Origin', 'https://app.example'],
        ['Access-Control-Request-Method', 'PUT'],
      ];
      const request = { host: `${tunnel.slug}.localhost:${port}`, method: 'OPTIONS', headers };
      const { status, head, text } = await visit(port, request);
      assert.deepEqual([status, head.field('x-secret'), text], [200, undefined, '']);
      assert.equal((await visit(port, { ...request, body: 'x' })).status, 401);
    }
  });

  it('changes on all relays, no matter which one changes it, and cuts event streams everywhere', async () => {
    const tunnel = await start({});
    const streams = await Promise.all(
      [A, B, C].map(async (index) => {
        const { port } = cluster.relay(index);
        const visitor = await RawConnection.open(scope, port, 60_000);
        await visitor.write(formatRequest({ host: `${tunnel.slug}.localhost:${port}`, target: '/events' }));
        assert.equal((await visitor.finalHead()).status, 200);
        return visitor;
      }),
    );
    await replace(B, tunnel, { password: PASSWORD });
    await Promise.all(streams.map(({ ending }) => ending));
    for (const index of [A, B, C]) await refuses(index, tunnel);
    const cookie = await signIn(C, tunnel);
    await replace(C, tunnel, { password: PASSWORD });
    for (const index of [A, B, C]) await refuses(index, tunnel, [cookie]);
    await replace(A, tunnel, {});
    for (const index of [A, B, C])
      await eventually(20_000, async () => assert.equal((await ask(index, tunnel)).text, 'anybody'));
  });

  it('admits the same tokens on all, cuts a revoked one everywhere, and knows the last use', async () => {
    const tokens = [
      { name: 'ci', token: `ci-${PASSWORD.replaceAll(' ', '-')}-0123456789` },
      { name: 'agent' },
    ];
    const tunnel = await start({ tokens });
    const ci: Field = ['Authorization', `Bearer ${tokens[0]?.token ?? ''}`];
    const agent: Field = ['Authorization', `Bearer ${tunnel.access.tokens?.[1]?.token ?? ''}`];
    for (const index of [A, B, C]) {
      assert.equal((await ask(index, tunnel, [ci])).text, 'token:ci');
      await refuses(index, tunnel);
    }
    assert.equal((await ask(C, tunnel, [agent])).text, 'token:agent');
    await eventually(20_000, async () => {
      const shown = await new Api(cluster.relay(B), account.key).get(tunnel.id);
      assert.ok(shown.access.tokens?.every(({ last_used_at }) => last_used_at !== undefined));
    });
    const open = (token: Field) =>
      Promise.all(
        [A, B, C].map(async (index) => {
          const { port } = cluster.relay(index);
          const visitor = await RawConnection.open(scope, port, 60_000);
          const host = `${tunnel.slug}.localhost:${port}`;
          await visitor.write(formatRequest({ host, target: '/events', headers: [token] }));
          assert.equal((await visitor.finalHead()).status, 200);
          return visitor;
        }),
      );
    const [revoked, kept] = [await open(ci), await open(agent)];
    await replace(B, tunnel, { tokens: [{ name: 'agent' }] });
    await Promise.all(revoked.map(({ ending }) => ending));
    for (const index of [A, B, C]) {
      await refuses(index, tunnel, [ci]);
      assert.equal((await ask(index, tunnel, [agent])).text, 'token:agent');
    }
    for (const { socket } of kept) assert.equal(socket.destroyed, false);
  });

  it('is read again by relays that missed the change notice', async () => {
    const tunnel = await start({});
    for (const index of [A, B, C]) assert.equal((await ask(index, tunnel)).text, 'anybody');
    await cluster.redis.stop();
    await replace(B, tunnel, { password: PASSWORD });
    await refuses(B, tunnel);
    await cluster.redis.resume();
    for (const index of [A, C]) await refuses(index, tunnel);
  });
});
