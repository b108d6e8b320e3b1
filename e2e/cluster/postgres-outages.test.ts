import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api, assertError } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { assertWithin, eventually, timed } from '../support/deadline.ts';
import { describeFailure, Load, tallyOf } from '../support/load.ts';
import { PostgresServer } from '../support/postgres.ts';
import { type Response, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const WORKERS = 6;
/** requests a second to each relay */
const RATE = 30;

/** The responses that one client got about its tunnels from any of the relays. */
class Ledger {
  /** id to the `expires_at` that was acknowledged last */
  readonly open = new Map<string, string>();
  readonly closed = new Set<string>();
  /** tunnels whose close was not acknowledged */
  readonly unsure = new Set<string>();
  acknowledged = 0;
  refused = 0;
  readonly #apis: readonly Api[];
  readonly #beforeCreate: () => Promise<unknown>;
  #turn = 0;

  constructor(apis: readonly Api[], beforeCreate: () => Promise<unknown>) {
    this.#apis = apis;
    this.#beforeCreate = beforeCreate;
  }

  /** Creates a tunnel, extends it on another relay, and usually closes it on the third. */
  async work(): Promise<void> {
    await this.#beforeCreate();
    const made = (await this.#ask('POST', '/v1/tunnels', { local_port: 9 }, 201)) as Tunnel | undefined;
    if (made === undefined) return;
    const path = `/v1/tunnels/${made.id}`;
    this.open.set(made.id, made.expires_at);
    const extended = (await this.#ask('PUT', `${path}/extend`, { ttl: '1h' }, 200)) as Tunnel | undefined;
    if (extended !== undefined) this.open.set(made.id, extended.expires_at);
    if (this.#turn % 4 === 0) return;
    const closed = await this.#ask('DELETE', path, undefined, 200);
    if (closed === undefined) this.unsure.add(made.id);
    else if (this.open.delete(made.id)) this.closed.add(made.id);
  }

  /** @returns what differs from the acknowledged state */
  differences(found: readonly Tunnel[]): string[] {
    const stored = new Map(found.map(({ id, expires_at }) => [id, expires_at]));
    const differences: string[] = [];
    for (const [id, expiresAt] of this.open) {
      const end = stored.get(id);
      if (end === undefined && !this.unsure.has(id)) differences.push(`${id} was created and is not there`);
      if (end !== undefined && end < expiresAt)
        differences.push(`${id} was extended to ${expiresAt}: ${end}`);
    }
    for (const id of stored.keys()) {
      if (this.closed.has(id)) differences.push(`${id} was closed and is there`);
      else if (!this.open.has(id)) differences.push(`${id} was never acknowledged and is there`);
    }
    return differences;
  }

  /** @returns the response, `undefined` for a 503 */
  async #ask(method: string, path: string, json: object | undefined, status: number): Promise<unknown> {
    this.#turn += 1;
    const api = this.#apis[this.#turn % this.#apis.length];
    const answer = await api?.send(method, path, json === undefined ? {} : { json });
    if (answer?.status === 503) {
      assertError(answer, 503, 'service unavailable');
      this.refused += 1;
      return undefined;
    }
    assert.equal(answer?.status, status, `${method} ${path}: ${JSON.stringify(answer?.json)}`);
    this.acknowledged += 1;
    return answer.json;
  }
}

describe('three relays whose PostgreSQL server', function () {
  const scope = suiteScope();
  let server: PostgresServer;
  let cluster: RelayCluster;
  let account: TestAccount;
  let port: number;
  let holder: Client;

  before(async () => {
    server = await PostgresServer.start();
    scope.defer(() => server.remove());
    cluster = await RelayCluster.start(scope, 3, {}, server.url);
    account = await createAccount(cluster.relay(0), { plan: 'team' });
    ({ port } = await startHttpService(scope, ({ url: path }, response) => response.end(path)));
  });

  /** Blocks reads and writes of tunnels until `holder` ends. */
  async function lockTunnels(): Promise<void> {
    holder = new Client({ connectionString: cluster.database });
    await holder.connect();
    await holder.query('begin; lock table tunnels in access exclusive mode');
  }

  /** Creates a tunnel whose client is on the first relay. */
  async function newTunnel(): Promise<Tunnel> {
    const { tunnel } = await SpecClient.start(scope, cluster.relay(0), account.key, { local_port: port });
    return tunnel;
  }

  async function request(index: number, slug: string): Promise<Response> {
    const relay = cluster.relay(index);
    return await visit(relay.port, { host: `${slug}.localhost:${relay.port}`, target: '/x' });
  }

  async function assertServed(index: number, { slug }: Tunnel): Promise<void> {
    const { status, text } = await request(index, slug);
    assert.deepEqual([status, text], [200, '/x'], text);
  }

  /** A relay that has not loaded a tunnel cannot know whether it exists. */
  async function assertUnsure(index: number, slug: string, within: number): Promise<void> {
    const { value, ms } = await timed(() => request(index, slug));
    assert.deepEqual([value.status, value.head.field('culvert-error')], [503, 'tunnel-offline'], value.text);
    assert.match(value.text, /cannot check right now/);
    assertWithin(ms, within);
  }

  async function assertRefuses(index: number, within: number): Promise<void> {
    const api = new Api(cluster.relay(index), account.key);
    const { value, ms } = await timed(() => api.send('POST', '/v1/tunnels', { json: { local_port: 9 } }));
    assertError(value, 503, 'service unavailable');
    assert.match(value.head.field('retry-after') ?? '', /^\d+$/);
    assertWithin(ms, within);
  }

  for (const [what, takeAway, bringBack, within] of [
    [
      'stands still',
      () => server.freeze(),
      () => server.thaw(),
      // A statement is abandoned after 5 s, waiting for a connection after 2 s.
      7500,
    ],
    // A statement waits 2 s for a lock that another transaction holds.
    ['is slow', lockTunnels, () => holder.end(), 3500],
    ['has crashed', () => server.stop('SIGQUIT'), () => server.resume(), 1500],
  ] as const) {
    it(`${what} serve the tunnels they know, answer 503 otherwise, and recover by themselves`, async () => {
      const [met, unmet] = [await newTunnel(), await newTunnel()];
      for (const index of [0, 1]) await assertServed(index, met);
      await takeAway();
      try {
        await Promise.all([
          assertUnsure(2, unmet.slug, within),
          assertUnsure(1, `unknown-${unmet.slug}`, within),
          assertRefuses(0, within),
          assertRefuses(2, within),
        ]);
        for (const index of [0, 1]) await assertServed(index, met);
      } finally {
        await bringBack();
      }
      // The failure is not cached: the first answer of the database counts.
      await eventually(20_000, () => assertServed(2, unmet));
      await eventually(20_000, async () =>
        assert.equal((await request(1, `unknown-${unmet.slug}`)).status, 404),
      );
      for (const index of [2, 0]) {
        await eventually(20_000, async () => {
          await cluster.redis.command(`DEL culvert:bucket:key:${account.keyId}`);
          await new Api(cluster.relay(index), account.key).create({ local_port: 9 });
        });
      }
    });
  }

  it('is paused and restarted under load lose nothing they have acknowledged, and no visitor', async () => {
    const tunnel = await newTunnel();
    for (const index of [0, 1, 2]) await assertServed(index, tunnel);
    const { requests: before } = await account.api.get(tunnel.id);
    const owners = await Promise.all(
      Array.from({ length: WORKERS }, () => createAccount(cluster.relay(0), { plan: 'team' })),
    );
    const ledgers = owners.map(
      ({ keyId, key }) =>
        new Ledger(
          cluster.relays.map((relay) => new Api(relay, key)),
          () => cluster.redis.command(`DEL culvert:bucket:key:${keyId}`),
        ),
    );
    const loads = cluster.relays.map((relay) => {
      const host = `${tunnel.slug}.localhost:${relay.port}`;
      return new Load(relay.port, RATE, 6, () => ({ host, target: '/x' }));
    });
    const begin = performance.now();
    const over = new AbortController();
    const work = Promise.all(
      ledgers.map(async (ledger) => {
        while (!over.signal.aborted) await ledger.work();
      }),
    );
    const total = (what: 'acknowledged' | 'refused'): number =>
      ledgers.reduce((sum, ledger) => sum + ledger[what], 0);
    const more = async (what: 'acknowledged' | 'refused', count: number): Promise<void> => {
      const wanted = total(what) + count;
      await eventually(60_000, () => assert.ok(total(what) >= wanted, `${total(what)} of ${wanted} ${what}`));
    };
    for (let round = 0; round < 3; round += 1) {
      await more('acknowledged', 30);
      server.freeze();
      await delay(1000 + round * 1000);
      server.thaw();
      await more('acknowledged', 30);
      await server.stop(round === 0 ? 'SIGINT' : 'SIGQUIT');
      await more('refused', 4);
      await server.resume();
    }
    await more('acknowledged', 30);
    over.abort();
    await work;
    await Promise.all(loads.map((load) => load.stop()));

    const asked = loads.flatMap((load) => load.asked);
    const { sent, failed } = tallyOf(asked, () => '/x');
    assert.deepEqual(
      failed.map((one) => describeFailure(one, begin)),
      [],
    );
    console.log(
      `      ${total('acknowledged')} acknowledged, ${total('refused')} refused, ${sent} requests, none failed`,
    );
    // A create that was refused but stored is removed as soon as the database is back.
    await eventually(20_000, async () => {
      for (const [at, ledger] of ledgers.entries()) {
        for (const relay of cluster.relays) {
          assert.deepEqual(ledger.differences(await new Api(relay, owners[at]?.key).list()), []);
        }
      }
    });
    await eventually(20_000, async () => {
      const { requests } = await account.api.get(tunnel.id);
      assert.ok(requests - before >= sent, `${requests - before} counted of ${sent}`);
    });
  });
});
