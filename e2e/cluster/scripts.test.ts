import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { systemClock } from '../../server/clock.ts';
import { Board } from '../../server/cluster/board.ts';
import { REGISTRATIONS_MAX } from '../../server/oauth/registrations.ts';
import * as scripts from '../../server/cluster/scripts.ts';
import { RedisServer } from '../support/redis.ts';
import { type Scope, suiteScope } from '../support/scope.ts';

type Run = (script: scripts.Script, ...args: readonly (string | number)[]) => Promise<unknown>;

interface Place {
  readonly run: Run;
  readonly subscribe: (channel: string) => Promise<unknown>;
  readonly unsubscribe: (channel: string) => Promise<unknown>;
}

async function onRedis(scope: Scope): Promise<Place> {
  const server = await RedisServer.start(scope);
  const client = new Redis(server.url).on('error', () => {});
  const listener = new Redis(server.url).on('error', () => {});
  scope.defer(() => [client, listener].forEach((each) => each.disconnect()));
  return {
    run: async ({ lua }, ...args) => await client.eval(lua, 0, ...args),
    subscribe: (channel) => listener.subscribe(channel),
    unsubscribe: (channel) => listener.unsubscribe(channel),
  };
}

const hear = (): void => {};

function onBoard(): Place {
  const board = new Board(systemClock);
  return {
    run: ({ name }, ...args) => Promise.resolve(board.run(name, args)),
    subscribe: (channel) => Promise.resolve(board.subscribe(channel, hear)),
    unsubscribe: () => Promise.resolve(board.unsubscribe(hear)),
  };
}

for (const [where, open] of [
  ['on a real Redis', onRedis],
  ['in the first of several processes', onBoard],
] as const)
  describe(`the scripts of a cluster ${where}`, function () {
    const scope = suiteScope();
    let place: Place;
    const run: Run = (...args) => place.run(...args);

    before(async () => {
      place = await open(scope);
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
      const find = (asking: string) => run(scripts.FIND, 'tunnel', asking);
      await place.subscribe('culvert:to:two');
      assert.deepEqual([await find('one'), await find('two')], ['two', 0]);
      assert.deepEqual(await run(scripts.ONLINE, 'one', 'tunnel', 'unknown'), ['tunnel']);
      assert.deepEqual(await run(scripts.ASSERT, 2, 'one', 60_000, 'tunnel', first, 'key'), ['tunnel']);
      await run(scripts.LEAVE, 3, 'two');
      assert.equal(await find('one'), 0);
      await run(scripts.LEASE, 3, 'two', 'address', 60_000);
      await run(scripts.CLAIM, 'tunnel', 3, 'two', 'key', 60_000);
      await place.unsubscribe('culvert:to:two');
      assert.deepEqual(
        [await find('one'), await run(scripts.ONLINE, 'one', 'tunnel')],
        [0, []],
        'nobody listens',
      );
      await run(scripts.CLAIM, 'tunnel', 2, 'one', 'key', 60_000);
      await run(scripts.RELEASE, 'tunnel', 'one', 60_000);
      await delay(50);
      const away = Number(await find('two'));
      assert.ok(away >= 50 && away < 10_000, `${away} ms`);
    });

    it('take tokens from a bucket until it is empty, and return them', async () => {
      const take = async () => Number(await run(scripts.TAKE, 'account', 2, 60_000));
      assert.deepEqual([await take(), await take()], [0, 0]);
      const wait = await take();
      assert.ok(wait > 50_000 && wait <= 60_000, `${wait} ms`);
      await run(scripts.GIVE_BACK, 'account', 2, 60_000);
      assert.equal(await take(), 0);
    });

    it('know a limited number of registered clients, and forget the oldest that nobody has approved', async () => {
      const register = (serial: string) => run(scripts.REGISTER, serial, REGISTRATIONS_MAX, 60);
      const list = String(await register('approved'));
      await register('forgotten');
      await run(scripts.APPROVE, 'approved');
      for (let each = 1; each < REGISTRATIONS_MAX; each += 1) assert.equal(await register(`${each}`), list);
      const isKnown = (serial: string, of = list) => run(scripts.IS_REGISTERED, of, serial);
      assert.deepEqual(
        [await isKnown('approved'), await isKnown('forgotten'), await isKnown('1')],
        [1, 0, 1],
      );
      assert.equal(await isKnown('forgotten', 'another list'), 1);
      for (let each = 1; each <= REGISTRATIONS_MAX; each += 1) {
        await register(`later ${each}`);
        await run(scripts.APPROVE, `later ${each}`);
      }
      assert.equal(await isKnown('approved'), 0, 'all are approved');
    });
  });
