import assert from 'node:assert/strict';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { query } from '../support/postgres.ts';
import { type Response, visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const TOKEN = 'x'.repeat(24);
const OTHER_TOKEN = 'y'.repeat(24);
const SOON_MS = 15_000;
/** Columns of a tunnel that a relay of the version before tokens knows (`0016_relay_info`). */
const OLD_COLUMNS =
  'account_id, name, local_port, ttl_seconds, idle, created_at, expires_at, bytes_in, bytes_out, requests, ' +
  'access_revision, knocks_revision, terms_revision';

/**
 * A relay of the version before tokens, beside two of this version, during a rolling upgrade. Its statements stand for
 * it: it reads and writes access policies without `tokens`.
 */
describe('tokens at relays of two versions', () => {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let service: HttpService;
  let account: TestAccount;

  before(async () => {
    cluster = await RelayCluster.shared();
    service = await startHttpService(suite, (request, response) => {
      response.end(request.headers['culvert-visitor'] ?? 'anybody');
    });
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(0), { plan: 'team' });
  });

  function apis(): Api[] {
    return [0, 1].map((index) => new Api(cluster.relay(index), account.key));
  }

  async function ask(index: number, slug: string, token: string): Promise<Response> {
    const { port } = cluster.relay(index);
    const headers = [['Authorization', `Bearer ${token}`]] as const;
    return await visit(port, { host: `${slug}.localhost:${port}`, headers: [...headers] });
  }

  /** The old relay replaces the policy of a tunnel. Relays of this version learn it when they next read the tunnel. */
  async function replaceAsBefore(id: string, fields: object): Promise<void> {
    const access = { version: 'of-old', allow: [], basic: [], password: null, links: false, knock: false };
    const written = JSON.stringify({ ...access, ...fields });
    await query(
      cluster.database,
      `update tunnels set access = '${written}', access_revision = access_revision + 1 where id = '${id}'`,
    );
    for (const api of apis()) await api.get(id);
  }

  it('never make the old one serve a tunnel to everybody that only tokens guard', async () => {
    const [api] = apis();
    const tokens = [{ name: 'ci', token: TOKEN }];
    const tunnel = await api?.create({ local_port: service.port, access: { tokens } });
    const [row] = await query(cluster.database, `select access from tunnels where id = '${tunnel?.id}'`);
    const { password, basic, links, knock } = JSON.parse(String(row?.['access'])) as Record<string, unknown>;
    // It asks for a password, and none has this hash.
    assert.deepEqual([password, basic, links, knock], ['', [], false, false]);
  });

  it('revoke the tokens when the old one replaces the policy, and accept new ones afterwards', async () => {
    const request = { local_port: service.port, access: { tokens: [{ name: 'ci', token: TOKEN }] } };
    const { tunnel } = await SpecClient.start(scope, cluster.relay(0), account.key, request);
    for (const index of [0, 1]) assert.equal((await ask(index, tunnel.slug, TOKEN)).text, 'token:ci');
    await replaceAsBefore(tunnel.id, { links: true });
    for (const index of [0, 1]) assert.equal((await ask(index, tunnel.slug, TOKEN)).status, 401);
    const json = { tokens: [{ name: 'ci', token: OTHER_TOKEN }] };
    const changed = await apis()[1]?.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json });
    assert.equal(changed?.status, 200);
    for (const index of [0, 1]) {
      await eventually(SOON_MS, async () =>
        assert.equal((await ask(index, tunnel.slug, OTHER_TOKEN)).text, 'token:ci'),
      );
      assert.equal((await ask(index, tunnel.slug, TOKEN)).status, 401);
    }
  });

  it('guard a tunnel that the old one has created', async () => {
    const [api, other] = apis();
    const made = await api?.create({ local_port: service.port });
    const id = '11111111-2222-4333-8444-555555555555';
    await query(
      cluster.database,
      `insert into tunnels (id, slug, ${OLD_COLUMNS}) select '${id}', 'of-old', ${OLD_COLUMNS} from tunnels where id = '${made?.id}'`,
    );
    const json = { tokens: [{ name: 'ci', token: TOKEN }] };
    assert.equal((await other?.send('PUT', `/v1/tunnels/${id}/access`, { json }))?.status, 200);
    for (const index of [0, 1]) {
      await eventually(SOON_MS, async () =>
        assert.equal((await ask(index, 'of-old', OTHER_TOKEN)).status, 401),
      );
      // Without a client, a visitor with access learns that there is none.
      assert.equal((await ask(index, 'of-old', TOKEN)).status, 503);
    }
  });
});
