import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AccountPool, type TestAccount } from '../support/accounts.ts';
import { assertError } from '../support/api.ts';
import { hostOf } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import { SpecClient } from '../support/spec-client/client.ts';

describe('a store that cannot be written', () => {
  const scope = suiteScope();
  let relay: Relay;
  let account: TestAccount;
  let client: SpecClient;
  let lock: DatabaseSync;

  before(async () => {
    relay = await Relay.start(scope);
    account = await new AccountPool(relay).take();
    const service = await startEchoService(scope);
    client = await SpecClient.start(scope, relay, account.key, { local_port: service.port });
    lock = new DatabaseSync(join(relay.dataDirectory, 'culvert.db'));
    scope.defer(() => lock.close());
    lock.exec('BEGIN IMMEDIATE');
  });

  it('503 for a create, with the time to come back', async () => {
    const answer = await account.api.send('POST', '/v1/tunnels', {
      json: { local_port: 1, name: 'half-done' },
    });
    assertError(answer, 503, 'service unavailable');
    assert.match(answer.head.field('retry-after') ?? '', /^\d+$/);
  });

  it('live tunnels keep serving', async () => {
    const answer = await visit(relay.port, { host: hostOf(client.tunnel, relay), target: '/still' });
    assert.equal(readEcho(answer).url, '/still');
  });

  it('nothing half-done is left, and the relay recovers by itself', async () => {
    lock.exec('ROLLBACK');
    assert.deepEqual(
      (await account.api.list()).map(({ id }) => id),
      [client.tunnel.id],
    );
    assert.equal((await account.api.create({ local_port: 1, name: 'half-done' })).slug, 'half-done');
  });
});
