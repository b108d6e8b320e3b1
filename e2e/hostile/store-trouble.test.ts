import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { notRun } from '../../shared/testing/posix.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { AccountPool, type TestAccount } from '../support/accounts.ts';
import { assertError } from '../support/api.ts';
import { databasePath } from '../support/database.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Relay, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope, type Scope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
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
    const folder = join(temporaryDirectory(scope), 'disk');
    mkdirSync(folder);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]);
    if (mounted.status !== 0) notRun(this, 'only root may mount');
    // Deferred actions run in reverse order.
    scope.defer(() => execFileSync('umount', [folder]));
    const stage = await startStage(scope, folder);
    const filler = join(folder, 'filler');
    fill(folder, filler);
    await assertReadOnly(stage);
    assert.match(stage.relay.child.stderr, /full.*store failing/);
    rmSync(filler);
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

/** Fills a disk to its last block. */
function fill(folder: string, filler: string): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(filler, Buffer.alloc(bavail * bsize));
  assert.equal(statfsSync(folder).bavail, 0);
}
