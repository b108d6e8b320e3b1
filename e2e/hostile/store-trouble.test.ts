import assert from 'node:assert/strict';
import { renameSync, statSync, writeFileSync } from 'node:fs';
import { notRun } from '../../shared/testing/posix.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { AccountPool, type TestAccount } from '../support/accounts.ts';
import { assertError } from '../support/api.ts';
import { databasePath, openWaiting } from '../support/database.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Relay, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope, type Scope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import { fillDisk, smallDisk } from '../support/small-disk.ts';
import { SpecClient } from '../support/spec-client/client.ts';

/** A relay with a tunnel that is served, and a few remaining creates. */
interface Stage {
  readonly relay: Relay;
  readonly account: TestAccount;
  readonly tunnel: Tunnel;
}

async function startStage(scope: Scope, dataDirectory: string): Promise<Stage> {
  const relay = await Relay.start(scope, { CULVERT_DATA_DIR: dataDirectory });
  const account = await new AccountPool(relay).take();
  const service = await startEchoService(scope);
  const { tunnel } = await SpecClient.start(scope, relay, account.key, { local_port: service.port });
  return { relay, account, tunnel };
}

/** Asserts that every write is refused with `Retry-After`, while everything else continues. */
async function assertReadOnly({ relay, account, tunnel }: Stage): Promise<void> {
  const path = `/v1/tunnels/${tunnel.id}`;
  for (const [method, target, json] of [
    ['POST', '/v1/tunnels', { local_port: 1, name: 'half-done' }],
    ['DELETE', path, undefined],
    ['PUT', `${path}/extend`, {}],
  ] as const) {
    const answer = await account.api.send(method, target, json === undefined ? {} : { json });
    assertError(answer, 503, 'service unavailable');
    assert.match(answer.head.field('retry-after') ?? '', /^\d+$/);
  }
  assert.equal((await account.api.get(tunnel.id)).expires_at, tunnel.expires_at);
  for (let turn = 0; turn < 20; turn += 1) {
    const answer = await visit(relay.port, { host: hostOf(tunnel, relay), target: `/${turn}` });
    assert.equal(readEcho(answer).url, `/${turn}`);
  }
}

/** Writes work again without intervention, nothing half-done was left, and the counters lost nothing. */
async function assertHealed({ relay, account, tunnel }: Stage): Promise<void> {
  const made = await eventually(20_000, () => account.api.create({ local_port: 1, name: 'half-done' }));
  const extended = await account.api.extend(tunnel.id, { ttl: '2h' });
  const requests = await eventually(20_000, async () => {
    const counted = (await account.api.get(tunnel.id)).requests;
    assert.ok(counted >= 20, `${counted} requests`);
    return counted;
  });
  await relay.stop();
  await relay.restart();
  const listed = await account.api.list();
  assert.deepEqual(
    listed.map(({ id, expires_at, requests: counted }) => [id, expires_at, counted]),
    [
      [made.id, made.expires_at, 0],
      [tunnel.id, extended.expires_at, requests],
    ],
  );
}

describe('a full disk', () => {
  const scope = suiteScope();

  it('accepts no writes while live tunnels continue, and recovers by itself', async function () {
    const disk = smallDisk(scope) ?? notRun(this, 'only root may mount');
    const stage = await startStage(scope, disk);
    const free = await eventually(20_000, () => fillUp(stage.relay, disk));
    await assertReadOnly(stage);
    assert.match(stage.relay.child.stderr, /full.*store failing/);
    free();
    await assertHealed(stage);
  });
});

describe('a missing database file', () => {
  const scope = suiteScope();

  it('accepts no writes while live tunnels continue, and recovers when it is back', async () => {
    const stage = await startStage(scope, temporaryDirectory(scope));
    const path = databasePath(stage.relay);
    renameSync(path, `${path}.aside`);
    await assertReadOnly(stage);
    assert.match(stage.relay.child.stderr, /culvert\.db is missing.*store failing/);
    renameSync(`${path}.aside`, path);
    await assertHealed(stage);
  });

  it('accepts no writes when another file has replaced it', async () => {
    const stage = await startStage(scope, temporaryDirectory(scope));
    const path = databasePath(stage.relay);
    renameSync(path, `${path}.aside`);
    writeFileSync(path, 'something else');
    await assertReadOnly(stage);
    assert.match(stage.relay.child.stderr, /culvert\.db was replaced.*store failing/);
    renameSync(`${path}.aside`, path);
    await assertHealed(stage);
  });
});

/**
 * Fills a disk while the log of its database is empty. After a checkpoint, writes would fit into a log that is not.
 *
 * @returns a function that frees the space again
 * @throws AssertionError if the relay has just written
 */
function fillUp(relay: Relay, disk: string): () => void {
  const path = databasePath(relay);
  const database = openWaiting(path);
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
  const free = fillDisk(disk);
  if (statSync(`${path}-wal`).size === 0) return free;
  free();
  return assert.fail('the relay has written');
}
