import assert from 'node:assert/strict';
import type { TestAccount } from '../support/accounts.ts';
import { Api, assertError } from '../support/api.ts';
import { openRelayDatabase, type RelayDatabase } from '../support/database.ts';
import { assertWithin, eventually, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { POSTGRES_URL, Relay, spawnRelay } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { relaySuite, sharedRelaySuite } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import { SpecClient } from '../support/spec-client/client.ts';

describe('a store that cannot be written', () => {
  const { scope, relay, pool } = sharedRelaySuite();
  let account: TestAccount;
  let client: SpecClient;
  let database: RelayDatabase;

  before(async () => {
    account = await pool.take();
    const service = await startEchoService(scope);
    client = await SpecClient.start(scope, relay, account.key, { local_port: service.port });
    database = await openRelayDatabase(scope, relay);
    await database.holdWrites();
  });

  it('answers 503 to a create, with Retry-After', async () => {
    const answer = await account.api.send('POST', '/v1/tunnels', {
      json: { local_port: 1, name: 'half-done' },
    });
    assertError(answer, 503, 'service unavailable');
    assert.match(answer.head.field('retry-after') ?? '', /^\d+$/);
  });

  it('answers 503 to a close and an extend, immediately with SQLite because the lock is known to last', async () => {
    const path = `/v1/tunnels/${client.tunnel.id}`;
    await eventually(60_000, async () => {
      const { ms } = await timed(async () => {
        assertError(await account.api.send('DELETE', path), 503, 'service unavailable');
        assertError(await account.api.send('PUT', `${path}/extend`), 503, 'service unavailable');
        assert.equal((await account.api.get(client.tunnel.id)).expires_at, client.tunnel.expires_at);
      });
      // A statement that waits for the lock waits 2 s each time. PostgreSQL only knows how long each one has waited.
      if (POSTGRES_URL === undefined) assert.ok(ms < 2000, `${ms} ms`);
      else assertWithin(ms, 6000);
    });
  });

  it('keeps live tunnels serving', async () => {
    const answer = await visit(relay.port, { host: hostOf(client.tunnel, relay), target: '/still' });
    assert.equal(readEcho(answer).url, '/still');
  });

  it('leaves nothing half-done, and the relay recovers by itself', async () => {
    await database.release();
    assert.deepEqual(
      (await account.api.list()).map(({ id }) => id),
      [client.tunnel.id],
    );
    assert.equal((await account.api.create({ local_port: 1, name: 'half-done' })).slug, 'half-done');
  });
});

describe('a database that another relay uses', () => {
  const { scope, relay } = relaySuite();

  it('is refused with a message that names the cause, while commands for accounts and keys work', async () => {
    const second = spawnRelay(scope, ['serve'], {
      ...relay.databaseSettings,
      CULVERT_PORT: '0',
    });
    assert.equal((await second.exit()).code, 1);
    assert.match(second.stderr, /another relay is using the database .*; stop that relay first/);
    assert.deepEqual(second.lines, []);
    await relay.administer('account', 'create', '--name', 'meanwhile', '--plan', 'free');
  });

  it('is free again when that relay was killed', async () => {
    await relay.stop('SIGKILL');
    await relay.restart();
    assert.deepEqual(await new Api(relay, relay.bootstrapKey).list(), []);
  });
});

describe('a database of another version', () => {
  const scope = suiteScope();

  it('is refused with a line that explains what to do, and not changed', async () => {
    const relay = await Relay.start(scope);
    await relay.stop();
    const database = await openRelayDatabase(scope, relay);
    await database.rows('update schema_version set version = 99');
    const before = await stateOf(database);
    const child = spawnRelay(scope, ['serve'], {
      ...relay.databaseSettings,
      CULVERT_PORT: '0',
    });
    assert.equal((await child.exit()).code, 1);
    assert.match(
      child.stderr,
      /another version of Culvert has created the database.*install that version or restore a backup/,
    );
    assert.deepEqual(await stateOf(database), before);
  });
});

async function stateOf(database: RelayDatabase): Promise<unknown[]> {
  return [await database.schema(), await database.rows('select version from schema_version')];
}
