import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import * as scripts from '../../server/cluster/scripts.ts';
import { RedisServer } from '../support/redis.ts';
import { suiteScope } from '../support/scope.ts';

/** The scripts themselves, on a real Redis: what each returns, step by step. */
describe('the scripts of a cluster', function () {
  const scope = suiteScope();
  let run: (script: scripts.Script, ...args: readonly (string | number)[]) => Promise<unknown>;

  before(async () => {
    const server = await RedisServer.start(scope);
    const client = new Redis(server.url).on('error', () => {});
    scope.defer(() => client.disconnect());
    run = async ({ lua }, ...args) => await client.eval(lua, 0, ...args);
  });

  it('lease a number to one incarnation, until it leaves or its lease is over', async () => {
    const lease = (incarnation: string, ms = 60_000) => run(scripts.LEASE, 1, incarnation, 'address', ms);
    assert.deepEqual([await lease('a'), await lease('a'), await lease('b')], [2, 1, 0]);
    await run(scripts.LEAVE, 1, 'b');
    assert.equal(await lease('b'), 0, 'nobody ends the lease of another');
    assert.deepEqual(await run(scripts.RELAYS), ['1', 'a', 'address']);
    await run(scripts.LEAVE, 1, 'a');
    assert.equal(await lease('b', 20), 2);
    await delay(50);
    assert.equal(await lease('a'), 2);
  });

  it('find the newest control socket of a tunnel, but not at the relay that asks, or at a dead one', async () => {
    await run(scripts.LEASE, 2, 'one', 'address', 60_000);
    await run(scripts.LEASE, 3, 'two', 'address', 60_000);
    const first = Number(await run(scripts.CLAIM, 'tunnel', 2, 'one', 'key', 60_000));
    const second = Number(await run(scripts.CLAIM, 'tunnel', 3, 'two', 'key', 60_000));
    assert.ok(second > first);
    assert.equal(Number(await run(scripts.FIND, 'tunnel', 'one')), second);
    assert.equal(await run(scripts.FIND, 'tunnel', 'two'), null);
    assert.deepEqual(await run(scripts.ONLINE, 'one', 'tunnel', 'unknown'), ['tunnel']);
    assert.deepEqual(await run(scripts.ASSERT, 2, 'one', 60_000, 'tunnel', first, 'key'), ['tunnel']);
    await run(scripts.LEAVE, 3, 'two');
    assert.equal(await run(scripts.FIND, 'tunnel', 'one'), null);
  });

  it('take tokens from a bucket until it is empty, and return them', async () => {
    const take = async () => Number(await run(scripts.TAKE, 'account', 2, 60_000));
    assert.deepEqual([await take(), await take()], [0, 0]);
    const wait = await take();
    assert.ok(wait > 50_000 && wait <= 60_000, `${wait} ms`);
    await run(scripts.GIVE_BACK, 'account', 2);
    assert.equal(await take(), 0);
  });
});
