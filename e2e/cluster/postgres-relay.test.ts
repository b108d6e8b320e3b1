import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { AccountPool, type TestAccount } from '../support/accounts.ts';
import { Api, assertError } from '../support/api.ts';
import { assertWithin, eventually, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { newDatabase, PostgresServer, query } from '../support/postgres.ts';
import { Relay, spawnRelay } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import { SpecClient } from '../support/spec-client/client.ts';

interface Stage {
  readonly server: PostgresServer;
  readonly url: string;
  readonly relay: Relay;
  readonly account: TestAccount;
  readonly tunnel: Tunnel;
}

/** A relay with a served tunnel, on its own PostgreSQL server that a test may stop. */
async function startStage(scope: Scope): Promise<Stage> {
  const server = await PostgresServer.start();
  scope.defer(() => server.remove());
  const url = await newDatabase(scope, server.url);
  const relay = await Relay.start(scope, { CULVERT_DATABASE_URL: url });
  const account = await new AccountPool(relay).take();
  const service = await startEchoService(scope);
  const { tunnel } = await SpecClient.start(scope, relay, account.key, { local_port: service.port });
  return { server, url, relay, account, tunnel };
}

async function assertServing({ relay, tunnel }: Stage, times = 20): Promise<void> {
  for (let turn = 0; turn < times; turn += 1) {
    const answer = await visit(relay.port, { host: hostOf(tunnel, relay), target: `/${turn}` });
    assert.equal(readEcho(answer).url, `/${turn}`);
  }
}

async function createRefused({ account }: Stage, within: number): Promise<void> {
  const { ms } = await timed(async () => {
    const answer = await account.api.send('POST', '/v1/tunnels', {
      json: { local_port: 1, name: 'half-done' },
    });
    assertError(answer, 503, 'service unavailable');
    assert.match(answer.head.field('retry-after') ?? '', /^\d+$/);
  });
  assertWithin(ms, within);
}

/** Writes work again without intervention, nothing half-done was left, and the counters lost nothing. */
async function assertHealed(
  { relay, account, tunnel }: Stage,
  requests: number,
  tunnels: number,
): Promise<void> {
  const { ms } = await timed(() =>
    eventually(20_000, () => account.api.create({ local_port: 1, name: 'half-done' })),
  );
  assertWithin(ms, 5000);
  await eventually(20_000, () =>
    assert.match(relay.child.stderr, /store failing[^]*store recovered[^]*store failing[^]*store recovered/),
  );
  const extended = await account.api.extend(tunnel.id, { ttl: '2h' });
  await relay.stop();
  await relay.restart();
  const kept = await account.api.get(tunnel.id);
  assert.equal(kept.expires_at, extended.expires_at);
  assert.equal(kept.requests, requests);
  assert.equal((await account.api.list()).length, tunnels);
}

describe('a PostgreSQL server', () => {
  const scope = suiteScope();
  let stage: Stage;
  before(async () => {
    stage = await startStage(scope);
  });

  it('that does not answer accepts no writes: 503 within 5 s, then within 2 s; live tunnels continue', async () => {
    stage.server.freeze();
    try {
      await createRefused(stage, 7500);
      await assertServing(stage);
      await createRefused(stage, 3500);
    } finally {
      stage.server.thaw();
    }
    await eventually(20_000, () => stage.account.api.list());
    const made = await stage.account.api.create({ local_port: 1, name: 'after' });
    assert.equal(made.slug, 'after');
  }).timeout(600_000);

  it('that crashed accepts no writes while live tunnels continue, and everything recovers by itself', async () => {
    await stage.server.stop('SIGQUIT');
    await createRefused(stage, 3000);
    await assertServing(stage);
    await createRefused(stage, 1000);
    await stage.server.resume();
    await assertHealed(stage, 40, 3);
  }).timeout(600_000);

  it('gets at most 10 connections from a relay, and one more for its lock', async () => {
    await Promise.all(Array.from({ length: 200 }, () => stage.account.api.list()));
    const [row] = await query(
      stage.url,
      "select count(*)::int as count from pg_stat_activity where application_name = 'culvert-relay'",
    );
    assert.ok(Number(row?.['count']) <= 11 && Number(row?.['count']) > 1, String(row?.['count']));
  });
});

describe('a PostgreSQL database that another relay uses', () => {
  const { scope, relay } = relaySuite();
  let url: string;

  before(async () => {
    url = relay.databaseSettings['CULVERT_DATABASE_URL'] ?? '';
  });

  it('is refused after 2 s with a message that names the cause, while admin commands work', async () => {
    const second = spawnRelay(scope, ['serve'], { ...relay.databaseSettings, CULVERT_PORT: '0' });
    assert.equal((await second.exit()).code, 1);
    const { host, pathname, password } = new URL(url);
    assert.match(second.stderr, /another relay is using the database .*; stop that relay first/);
    assert.ok(second.stderr.includes(`${host}${pathname}`) && !second.stderr.includes(password));
    await relay.administer('account', 'create', '--name', 'meanwhile', '--plan', 'free');
  });

  it('is free again when that relay was killed', async () => {
    await relay.stop('SIGKILL');
    await relay.restart();
    assert.deepEqual(await new Api(relay, relay.bootstrapKey).list(), []);
  });

  it('is locked again after the lock was lost, with a warning if another relay was faster', async () => {
    const holder =
      "select pid from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())";
    const [taken] = await query(url, `select pg_terminate_backend(pid) from (${holder}) as holder`);
    assert.deepEqual(taken, { pg_terminate_backend: true });
    await eventually(20_000, async () => assert.equal((await query(url, holder)).length, 1));
    assert.doesNotMatch(relay.child.stderr, /database shared/);
    await query(
      url,
      `do $$ declare holder int; id bigint; begin
        select pid, (classid::bigint << 32) | objid::bigint into holder, id from pg_locks where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database());
        perform pg_terminate_backend(holder, 5000);
        perform pg_advisory_lock(id);
        perform pg_sleep(2);
      end $$`,
    );
    await eventually(20_000, () => assert.match(relay.child.stderr, /database shared/));
    await eventually(20_000, async () => assert.equal((await query(url, holder)).length, 1));
    assert.equal(relay.child.stderr.split('database shared').length, 2, 'told once');
  });
});

describe('a PostgreSQL server that refuses', () => {
  const scope = suiteScope();

  for (const [what, change, said] of [
    ['the password', (url: URL) => (url.password = 'wrong-one'), /password authentication failed/],
    ['connections', (url: URL) => (url.port = '1'), /ECONNREFUSED/],
    ['the database', (url: URL) => (url.pathname = 'none'), /database \\"none\\" does not exist/],
  ] as const) {
    it(`${what}: the start ends with a message that names the cause, without the password`, async () => {
      const url = new URL(process.env['TEST_POSTGRES_URL'] ?? '');
      change(url);
      const child = spawnRelay(scope, ['serve'], { CULVERT_DATABASE_URL: url.href, CULVERT_PORT: '0' });
      assert.equal((await child.exit()).code, 1);
      assert.match(child.stderr, said);
      assert.match(child.stderr, /start refused/);
      assert.ok(!child.stderr.includes(url.password), child.stderr);
    });
  }
});
