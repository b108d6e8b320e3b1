import assert from 'node:assert/strict';
import { administer, createAccount, onlyAccount, type TestAccount } from '../support/accounts.ts';
import { type ApiResponse, assertError } from '../support/api.ts';
import { giveTunnels } from '../support/database.ts';
import { eventually } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { relaySuite, sharedRelaySuite } from '../support/relay-suite.ts';

describe('plans', () => {
  const { scope, relay } = relaySuite();
  let free: TestAccount;

  before(async () => {
    free = await createAccount(relay, { plan: 'free' });
  });

  it('show their limits', async () => {
    const accounts = await Promise.all(
      (['free', 'dev', 'team'] as const).map((plan) => createAccount(relay, { plan })),
    );
    const limits = await Promise.all(accounts.map(async ({ api }) => (await api.account()).limits));
    assert.deepEqual(
      limits.map((each) => [each.max_tunnels, each.max_connections, each.max_domains, each.max_ttl]),
      [
        [20, 200, 0, '24h0m0s'],
        [1000, 10_000, 5, '168h0m0s'],
        [null, null, null, '168h0m0s'],
      ],
    );
  });

  it('limit the life of a tunnel, and report the maximum', async () => {
    const send = (ttl: string) => free.api.send('POST', '/v1/tunnels', { json: { local_port: 9, ttl } });
    assertError(await send('24h1s'), 400, 'ttl must be at most 24h0m0s');
    assertError(await send('200h'), 400, 'ttl must be at most 24h0m0s');
    const { id } = await free.api.create({ local_port: 9, ttl: '23h' });
    const extend = (ttl: string) => free.api.send('PUT', `/v1/tunnels/${id}/extend`, { json: { ttl } });
    assertError(await extend('2h'), 400, 'ttl must be at most 24h0m0s');
    assert.equal((await extend('30m')).status, 200);
    await free.api.close(id);
  });

  it('limit simultaneous tunnels: 403 reports the limit, and it does not count as a create', async () => {
    const given = Array.from({ length: 20 }, (_, index) => ({ slug: `given-${index}`, localPort: 9 }));
    await giveTunnels(scope, relay, free, given);
    const create = () => free.api.send('POST', '/v1/tunnels', { json: { local_port: 9 } });
    const tunnels = await free.api.list();
    const first = tunnels.map(({ expires_at }) => expires_at).sort()[0] ?? '';
    const text = `the Free plan allows 20 tunnels at a time; close one, or wait until ${first}, when the next one expires`;
    for (let count = 0; count < 8; count += 1) assertError(await create(), 403, text);
    await free.api.close(tunnels[0]?.id ?? '');
    const answers = await Promise.all([create(), create()]);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201, 403]));
  });

  it('limit open connections of a tunnel: 503 reports the limit; another plan applies within 1 s', async () => {
    const account = await createAccount(relay, { plan: 'free' });
    const client = await ManualClient.start(scope, relay, onlyAccount(account));
    const ask = async (): Promise<RawConnection> => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host, headers: [['Accept', 'application/json']] }));
      return visitor;
    };
    const visitors = await Promise.all(Array.from({ length: 200 }, ask));
    await eventually(20_000, () => assert.equal(client.control.messages.length, 200));
    const refused = await (await ask()).response();
    assert.deepEqual([refused.status, refused.head.field('culvert-error')], [503, 'plan-limit']);
    assert.match(refused.head.field('retry-after') ?? '', /^\d+$/);
    const { error } = JSON.parse(refused.text) as { error: string };
    assert.match(error, /200 open connections, which is the maximum on its owner's Free plan/);

    // A visitor who leaves makes room for another.
    visitors.pop()?.reset();
    await eventually(20_000, async () => {
      await ask();
      // One that is announced late takes the only place, and those after it are refused.
      await eventually(200, () => assert.equal(client.control.messages.length, 201));
    });
    await administer(relay, 'account', 'set-plan', '--name', account.name, '--plan', 'team');
    const known = client.control.messages.length;
    await eventually(9000, async () => {
      await ask();
      await eventually(200, () => assert.ok(client.control.messages.length > known));
    });
  });
});

describe('idle connections', () => {
  const { scope, relay } = sharedRelaySuite();

  it('do not count against the plan of a tunnel when another visitor needs a slot', async () => {
    const account = await createAccount(relay, { plan: 'free' });
    const client = await ManualClient.start(scope, relay, onlyAccount(account));
    for (let count = 0; count < 203; count += 1) {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host }));
      (await client.accept()).send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      assert.equal((await visitor.response()).text, 'ok');
    }
  }).timeout(600_000);
});

async function askFor(account: TestAccount, name: string): Promise<ApiResponse> {
  return await account.api.send('POST', '/v1/tunnels', { json: { local_port: 9, name } });
}

describe('names of ended tunnels (CULVERT_NAME_HOLD)', () => {
  const { relay } = relaySuite({ CULVERT_NAME_HOLD: '1h' });
  let owner: TestAccount;
  let other: TestAccount;

  before(async () => {
    [owner, other] = await Promise.all([createAccount(relay), createAccount(relay)]);
  });

  it('stay with their account after a close, including across a restart', async () => {
    const { id } = await owner.api.create({ local_port: 9, name: 'mine' });
    await owner.api.close(id);
    assertError(await askFor(other, 'mine'), 409, 'name already in use');
    await relay.stop('SIGKILL');
    await relay.restart();
    assertError(await askFor(other, 'mine'), 409, 'name already in use');
  });

  it('stay with their account after an expiry, and are immediately available to it', async () => {
    const { id } = await owner.api.create({ local_port: 9, name: 'brief', ttl: '1s' });
    await eventually(20_000, async () =>
      assert.equal((await owner.api.send('GET', `/v1/tunnels/${id}`)).status, 404),
    );
    assertError(await askFor(other, 'brief'), 409, 'name already in use');
    assert.equal((await askFor(owner, 'brief')).status, 201);
  });
});
