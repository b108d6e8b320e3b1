import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { FakeClock } from '../../testing/fake-clock.ts';
import { UnansweredError } from '../store-errors.ts';
import { GuardedPool } from './open-postgres.ts';

/** A connection that answers as a test says. */
class FakeClient extends EventEmitter {
  answer: () => Promise<unknown> = () => Promise.resolve({ rows: [] });
  asked = 0;
  readonly released: boolean[] = [];

  query(): Promise<unknown> {
    this.asked += 1;
    return this.answer();
  }

  release(destroy: boolean): void {
    this.released.push(destroy);
  }
}

class FakePool extends EventEmitter {
  readonly client = new FakeClient();
  waitingCount = 0;
  tries = 0;
  failure: Error | undefined;

  connect(): Promise<FakeClient> {
    this.tries += 1;
    return this.failure === undefined ? Promise.resolve(this.client) : Promise.reject(this.failure);
  }

  end(): Promise<void> {
    return new Promise(() => {});
  }
}

describe('GuardedPool', () => {
  let clock: FakeClock;
  let raw: FakePool;
  let pool: GuardedPool;

  beforeEach(() => {
    clock = new FakeClock();
    raw = new FakePool();
    pool = new GuardedPool(raw, clock);
  });

  it('pauses 100 ms after a failure, and twice as long after each further one, up to 1 s', async () => {
    raw.failure = new Error('connect ECONNREFUSED');
    for (const [failures, wait] of [100, 200, 400, 800, 1000, 1000].entries()) {
      await assert.rejects(pool.connect(), /ECONNREFUSED/);
      clock.advance(wait - 1);
      await assert.rejects(pool.connect(), /ECONNREFUSED/);
      assert.equal(raw.tries, failures + 1);
      clock.advance(1);
    }
    raw.failure = undefined;
    await pool.connect();
    raw.failure = new Error('again');
    await assert.rejects(pool.connect(), /again/);
    clock.advance(100);
    raw.failure = undefined;
    await pool.connect();
  });

  it('counts attempts that fail together as one', async () => {
    raw.failure = new Error('connect ECONNREFUSED');
    await Promise.allSettled([pool.connect(), pool.connect(), pool.connect()]);
    clock.advance(100);
    raw.failure = undefined;
    await assert.doesNotReject(pool.connect());
  });

  it('rejects a call that would wait behind 1,000 others', async () => {
    raw.waitingCount = 999;
    await pool.connect();
    raw.waitingCount = 1000;
    await assert.rejects(pool.connect(), /more than 1000 operations wait/);
  });

  it('keeps a connection whose server has rejected a statement', async () => {
    raw.client.answer = () => Promise.reject(Object.assign(new Error('duplicate key'), { code: '23505' }));
    const client = await pool.connect();
    await assert.rejects(client.query('insert', []), /duplicate key/);
    client.release();
    assert.deepEqual(raw.client.released, [false]);
  });

  it('closes a connection that has not answered, and sends nothing further on it', async () => {
    raw.client.answer = () => Promise.reject(new Error('Query read timeout'));
    const client = await pool.connect();
    await assert.rejects(client.query('insert', []), UnansweredError);
    await assert.rejects(client.query('rollback', []), /the connection was lost/);
    client.release();
    assert.equal(raw.client.asked, 1);
    assert.deepEqual(raw.client.released, [true]);
  });

  it('survives losing idle connections', async () => {
    raw.emit('error', new Error('terminating connection'));
    const client = await pool.connect();
    raw.client.emit('error', new Error('terminating connection'));
    client.release();
    assert.deepEqual(raw.client.released, [true]);
    assert.equal(raw.client.listenerCount('error'), 0);
  });

  it('closes within 2 s, even if the server does not respond', async () => {
    const ended = pool.end();
    clock.advance(2000);
    await assert.doesNotReject(ended);
  });
});
