import assert from 'node:assert/strict';
import type { Replaceable } from './handoff/give.ts';
import { leave, replaceable } from './relay.ts';

describe('a relay that ends', () => {
  it('waits for what was forwarded while its last visitor was served', async () => {
    const visited = Promise.withResolvers<void>();
    let forwarded = Promise.resolve();
    let isOver = false;
    const hub = { askToMove() {}, moved: () => Promise.resolve(), drain() {} };
    void leave(hub, { empty: () => visited.promise }, { settle: () => forwarded }).then(
      () => (isOver = true),
    );
    await new Promise(setImmediate);
    const trunk = Promise.withResolvers<void>();
    forwarded = trunk.promise;
    visited.resolve();
    await new Promise(setImmediate);
    assert.equal(isOver, false);
    trunk.resolve();
    await new Promise(setImmediate);
    assert.equal(isOver, true);
  });
});

describe('replaceable', () => {
  let calls: string[];
  /** whether all requests to the relay itself end in time */
  let isIdle: boolean;
  let isLocked: boolean;
  let relay: Replaceable;

  beforeEach(() => {
    [calls, isIdle, isLocked] = [[], true, false];
    const noted = (name: string) => (): void => {
      calls.push(name);
    };
    const soon = (name: string) => async (): Promise<void> => {
      await Promise.resolve();
      calls.push(name);
    };
    relay = replaceable({
      address: '127.0.0.1:8080',
      listeners: { descriptors: new Map() },
      edge: {
        hold: async () => {
          await soon('edge held')();
          return isIdle;
        },
        resume: noted('edge goes on'),
        leave: noted('edge leaves'),
      },
      hub: { missed: [] },
      service: {
        pause: soon('service paused'),
        resume: noted('service resumed'),
        leave: noted('service leaves'),
        endElsewhere: noted('ended elsewhere'),
        followStored: soon('followed'),
      },
      domains: { pause: soon('domains paused'), resume: noted('domains resumed') },
      state: {
        lock: () => (isLocked ? Promise.reject(new Error('locked')) : soon('locked')()),
        unlock: noted('unlocked'),
      },
      log: () => {},
      adopt: () => {},
      onReplaced: noted('replaced'),
    });
  });

  it('stores no changes of domains or tunnels once another relay may have the database', async () => {
    await relay.release();
    assert.deepEqual(calls, ['edge held', 'domains paused', 'service paused', 'unlocked']);
  });

  it('resumes everything', async () => {
    await relay.release();
    calls = [];
    assert.equal(await relay.resume(), true);
    assert.deepEqual(calls, ['locked', 'service resumed', 'domains resumed', 'edge goes on']);
  });

  it('resumes nothing if another relay has the database', async () => {
    await relay.release();
    [calls, isLocked] = [[], true];
    assert.equal(await relay.resume(), false);
    assert.deepEqual(calls, []);
  });

  it('keeps the database if it cannot release it', async () => {
    isIdle = false;
    await assert.rejects(relay.release(), /does not respond/);
    assert.deepEqual(calls, ['edge held', 'domains paused', 'domains resumed', 'edge goes on']);
  });
});
