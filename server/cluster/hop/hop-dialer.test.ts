import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { mock } from 'node:test';
import { HOP_IDLE_MAX, HOP_IDLE_MS } from '../../limits.ts';
import { FakeSocket, settled } from '../../testing/edge-fixture.ts';
import { HopConnection, type HopHandler } from './hop-connection.ts';
import { HopCarrier, HopPool } from './hop-dialer.ts';

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

  it('returns the latest connection, for the same relay only, and each once', () => {
    const [first, second] = [kept(), kept()];
    assert.equal(pool.take('two'), undefined);
    assert.equal(pool.take('one'), second.connection);
    assert.equal(pool.take('one'), first.connection);
    assert.equal(pool.take('one'), undefined);
  });

  it('closes a connection that was idle for 30 s', () => {
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

  it('forgets a connection that is closed, or receives unexpected bytes', () => {
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

const END = '\0\0\0\0';
const NOBODY = { onPiece() {}, onEnd() {}, onDrain() {}, onClose() {} };

describe('HopCarrier', () => {
  let client: FakeSocket;
  let relay: FakeSocket;
  let connection: HopConnection;
  let events: string[];

  beforeEach(() => {
    client = new FakeSocket();
    relay = new FakeSocket();
    events = [];
    connection = new HopConnection(relay as unknown as Socket, NOBODY);
    connection.handler = new HopCarrier(client, connection, {
      free: () => events.push('free'),
      done: () => events.push('done'),
    });
  });

  it('passes bytes on in both directions', async () => {
    client.push('to the relay');
    relay.push('\0\0\0\rto the client');
    await settled();
    assert.deepEqual([relay.text, client.text], ['\0\0\0\fto the relay', 'to the client']);
  });

  it('keeps reading while the system accepts large chunks immediately, and stops while it does not', async () => {
    for (const [from, to] of [
      [client, relay],
      [relay, client],
    ] as const) {
      from.push('\0\0\0\u0010more than its mark');
      await settled();
      assert.equal(from.isPaused(), false);
      to.isFast = false;
      from.push('\0\0\0\u0010');
      from.push('once more of them');
      await settled();
      assert.equal(from.isPaused(), true);
      to.release();
      await settled();
      assert.equal(from.isPaused(), false);
    }
  });

  it('passes on the end of the client, which still gets the response', async () => {
    client.push(null);
    await settled();
    assert.equal(relay.text, END);
    relay.push(`\0\0\0\na response${END}`);
    await settled();
    assert.deepEqual([client.text, relay.text], ['a response', END]);
    assert.deepEqual([client.destroyed, relay.destroyed, events], [true, false, ['free', 'done']]);
  });

  it('ends the client with the data socket, once it has read everything; the connection is free immediately', async () => {
    client.isFast = false;
    relay.push(`\0\0\0\u000ethe last words${END}`);
    await settled();
    assert.deepEqual([client.destroyed, relay.text, events], [false, '', ['free']]);
    connection.send([Buffer.from('the next')]);
    await settled();
    assert.equal(relay.text, `${END}\0\0\0\bthe next`);
    client.release();
    await settled();
    assert.deepEqual([client.text, client.destroyed, events], ['the last words', true, ['free', 'done']]);
  });

  it('gives up on a client that reads nothing for 60 s after the data socket has ended', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      client.isFast = false;
      relay.push(`\0\0\0\u000ethe last words${END}`);
      await settled();
      mock.timers.tick(59_999);
      assert.equal(client.destroyed, false);
      mock.timers.tick(1);
      assert.equal(client.destroyed, true);
    } finally {
      mock.timers.reset();
    }
  });

  it('drops a client that has ended before the relay has finished', async () => {
    client.push(null);
    await settled();
    client.destroy();
    relay.push('\0\0\0\u0007nothing');
    relay.push(END);
    await settled();
    assert.deepEqual([relay.destroyed, events], [false, ['free', 'done']]);
  });

  for (const [name, cut] of [
    ['the client', () => client.destroy(new Error('reset'))],
    ['the relay', () => relay.destroy(new Error('reset'))],
  ] as const) {
    it(`breaks both when ${name} breaks, once`, async () => {
      cut();
      await settled();
      assert.deepEqual([client.destroyed, relay.destroyed, events], [true, true, ['done']]);
    });
  }
});
