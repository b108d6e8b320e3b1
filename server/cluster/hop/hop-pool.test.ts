import assert from 'node:assert/strict';
import { HOP_IDLE_MAX, HOP_IDLE_MS } from '../../limits.ts';
import type { HopConnection, HopHandler } from './hop-connection.ts';
import { HopPool } from './hop-pool.ts';

class FakeConnection {
  handler: HopHandler | undefined;
  isOpen = true;
  timeout = 0;

  setTimeout(ms: number): void {
    this.timeout = ms;
  }

  destroy(): void {
    if (this.isOpen) this.handler?.onClose();
    this.isOpen = false;
  }

  get connection(): HopConnection {
    return this as unknown as HopConnection;
  }
}

describe('HopPool', () => {
  let pool: HopPool;

  beforeEach(() => {
    pool = new HopPool();
  });

  function kept(incarnation = 'one'): FakeConnection {
    const fake = new FakeConnection();
    pool.keep(incarnation, fake.connection);
    return fake;
  }

  it('hands out what was kept last, for the same relay only, and each once', () => {
    const [first, second] = [kept(), kept()];
    assert.equal(pool.take('two'), undefined);
    assert.equal(pool.take('one'), second.connection);
    assert.equal(pool.take('one'), first.connection);
    assert.equal(pool.take('one'), undefined);
  });

  it('closes a connection after 30 s in which it was not needed', () => {
    const fake = kept();
    assert.equal(fake.timeout, HOP_IDLE_MS);
    pool.take('one');
    assert.equal(fake.timeout, 0);
  });

  it('keeps 64 connections to each relay', () => {
    for (let count = 1; count <= HOP_IDLE_MAX; count += 1) assert.equal(kept().isOpen, true);
    assert.equal(kept().isOpen, false);
    assert.equal(kept('two').isOpen, true);
  });

  it('forgets a connection that is closed, or on which something comes unasked', () => {
    const [closed, talks, ends] = [kept(), kept(), kept()];
    closed.destroy();
    talks.handler?.onPiece(Buffer.from('x'), true);
    ends.handler?.onEnd();
    assert.equal(pool.take('one'), undefined);
  });

  it('does not keep one that is already closed', () => {
    const fake = new FakeConnection();
    fake.isOpen = false;
    pool.keep('one', fake.connection);
    assert.equal(pool.take('one'), undefined);
  });

  it('closes all of them', () => {
    const all = [kept(), kept(), kept('two')];
    pool.close();
    assert.deepEqual(
      all.map(({ isOpen }) => isOpen),
      [false, false, false],
    );
  });
});
