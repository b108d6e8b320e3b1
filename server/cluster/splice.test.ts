import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { mock } from 'node:test';
import { splice } from './splice.ts';

/** A connection whose peer and system are the test: what is written stays until it is taken. */
class FakeSocket extends Duplex {
  readonly taken: string[] = [];
  #onTaken: (() => void) | undefined;
  /** whether the system takes at once what is written */
  isFast = true;

  constructor() {
    super({ highWaterMark: 4, allowHalfOpen: true });
    this.on('error', () => {});
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.taken.push(chunk.toString());
    if (this.isFast) callback();
    else this.#onTaken = callback;
  }

  release(): void {
    this.isFast = true;
    this.#onTaken?.();
  }
}

describe('splice', () => {
  let client: FakeSocket;
  let relay: FakeSocket;
  let ends: number;

  beforeEach(() => {
    client = new FakeSocket();
    relay = new FakeSocket();
    ends = 0;
    splice(client, relay, () => {
      ends += 1;
    });
  });

  it('passes on what comes, in both directions', async () => {
    client.push('to the relay');
    relay.push('to the client');
    await settled();
    assert.deepEqual([relay.taken, client.taken], [['to the relay'], ['to the client']]);
  });

  it('goes on reading while the system takes large chunks at once, and stops while it does not', async () => {
    client.push('more than the mark');
    await settled();
    assert.equal(client.isPaused(), false);
    relay.isFast = false;
    client.push('one more');
    await settled();
    assert.equal(client.isPaused(), true);
    relay.release();
    await settled();
    assert.equal(client.isPaused(), false);
  });

  it('passes the end of the client on, which still gets the answer', async () => {
    client.push(null);
    await settled();
    assert.equal(relay.writableEnded, true);
    relay.push('an answer');
    relay.push(null);
    await settled();
    assert.deepEqual(client.taken, ['an answer']);
    assert.deepEqual([client.destroyed, relay.destroyed, ends], [true, true, 1]);
  });

  it('ends the client with the relay, once it has taken everything', async () => {
    client.isFast = false;
    relay.push('the last words');
    relay.push(null);
    await settled();
    assert.deepEqual([client.destroyed, relay.destroyed, ends], [false, true, 0]);
    client.release();
    await settled();
    assert.deepEqual([client.taken, client.destroyed, ends], [['the last words'], true, 1]);
  });

  it('gives up a client that takes nothing for 60 s when the relay has ended', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      client.isFast = false;
      relay.push('the last words');
      relay.push(null);
      await settled();
      mock.timers.tick(59_999);
      assert.equal(client.destroyed, false);
      mock.timers.tick(1);
      assert.equal(client.destroyed, true);
    } finally {
      mock.timers.reset();
    }
  });

  for (const [name, cut] of [
    ['the client', (): Duplex => client.destroy(new Error('reset'))],
    ['the relay', (): Duplex => relay.destroy(new Error('reset'))],
  ] as const) {
    it(`breaks both when ${name} breaks`, async () => {
      cut();
      await settled();
      assert.deepEqual([client.destroyed, relay.destroyed, ends], [true, true, 1]);
    });
  }
});

/** Everything that is under way has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
