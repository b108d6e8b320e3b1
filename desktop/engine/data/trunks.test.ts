import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode } from '../../../shared/control.ts';
import { Trunk } from '../../../shared/trunk/trunk.ts';
import { type ByteStreamHandler, WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { TRUNK_KEEP_MS, TRUNK_RETRY_MS, TRUNKS_WANTED } from '../limits.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import type { SocketHandler } from './data-dialer.ts';
import { Trunks } from './trunks.ts';

const TOO_MANY = new RelayRefusal(429, 'too many trunks');

/** Lets everything that is under way in memory arrive. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A trunk that is asked for, and the relay's end of it once it is taken. */
class Asked {
  isCancelled = false;
  /** the codes with which it ended: one at most */
  readonly closed: number[] = [];
  readonly #handler: SocketHandler;
  #trunk: Trunk | undefined;

  constructor(handler: SocketHandler) {
    this.#handler = handler;
  }

  take(): void {
    const [near, far] = duplexPair();
    const socket = new WebSocketByteStream(far, 'server', Buffer.alloc(0));
    const closed = (code: number): void => void this.closed.push(code);
    const owner = {
      begun: () => assert.fail('the client begins none'),
      moveAsked: () => assert.fail('the client asks for no move'),
      closed,
    };
    this.#trunk = new Trunk(socket, { begins: 'this', owner });
    this.#handler.opened(new WebSocketByteStream(near, 'client', Buffer.alloc(0)));
  }

  refuse(error: RelayRefusal | RelayUnreachable): void {
    this.#handler.failed(error);
  }

  /** A visitor comes; how his stream ended. */
  visit(request: string): number[] {
    const ends: number[] = [];
    const stream = this.#relayEnd.open();
    stream.attach({ ...IDLE, onStreamClose: (code) => ends.push(code) });
    stream.write(Buffer.from(request));
    return ends;
  }

  close(code: number): void {
    this.#relayEnd.close(code);
  }

  lose(): void {
    this.#relayEnd.lose();
  }

  get #relayEnd(): Trunk {
    return this.#trunk ?? assert.fail('it was not taken');
  }
}

/** A data socket that was asked for. */
class AskedData {
  readonly connectionId: string;
  readonly #handler: SocketHandler;

  constructor(connectionId: string, handler: SocketHandler) {
    this.connectionId = connectionId;
    this.#handler = handler;
  }

  /** @returns the relay's end */
  open(): WebSocketByteStream {
    const [near, far] = duplexPair();
    this.#handler.opened(new WebSocketByteStream(near, 'client', Buffer.alloc(0)));
    return new WebSocketByteStream(far, 'server', Buffer.alloc(0));
  }

  refuse(error: RelayRefusal | RelayUnreachable): void {
    this.#handler.failed(error);
  }
}

const IDLE: ByteStreamHandler = { onStreamData() {}, onStreamDrain() {}, onStreamClose() {} };

describe('Trunks', () => {
  let clock: FakeClock;
  let asked: Asked[];
  let askedData: AskedData[];
  let served: string[];
  let trunks: Trunks;

  beforeEach(() => {
    clock = new FakeClock();
    asked = [];
    askedData = [];
    served = [];
    trunks = new Trunks({
      clock,
      open(handler) {
        const one = new Asked(handler);
        asked.push(one);
        return { cancel: () => (one.isCancelled = true) };
      },
      openData(connectionId, handler) {
        const one = new AskedData(connectionId, handler);
        askedData.push(one);
        return { cancel: () => {} };
      },
      serve(stream, first) {
        served.push(first.toString());
        stream.attach(IDLE);
      },
    });
  });

  function at(index: number): Asked {
    return asked.at(index) ?? assert.fail('fewer were asked for');
  }

  /** Takes all that were asked for, and closes them as the relay closes those that nobody uses. */
  async function takeAndClose(): Promise<void> {
    for (const one of asked.splice(0)) {
      one.take();
      one.close(CloseCode.normal);
    }
    await settled();
  }

  it('are one as soon as the tunnel is online, and two when visitors come', async () => {
    trunks.visited();
    assert.equal(asked.length, 0);
    trunks.start();
    assert.deepEqual([asked.length, trunks.size], [1, 1]);
    at(0).take();
    at(0).visit('GET /one');
    await settled();
    assert.deepEqual(served, ['GET /one']);
    assert.deepEqual([asked.length, trunks.size], [TRUNKS_WANTED, TRUNKS_WANTED]);
    at(1).take();
    at(1).visit('GET /two');
    trunks.visited();
    await settled();
    assert.deepEqual(served, ['GET /one', 'GET /two']);
    assert.equal(asked.length, TRUNKS_WANTED);
  });

  it('are two for visitors who are announced, too', () => {
    trunks.start();
    trunks.visited();
    assert.equal(asked.length, TRUNKS_WANTED);
  });

  it('are as many as the relay takes, until the next control connection', async () => {
    trunks.start();
    trunks.visited();
    at(0).take();
    at(1).refuse(TOO_MANY);
    clock.advance(10 * TRUNK_RETRY_MS);
    for (let visitor = 0; visitor < 5; visitor += 1) trunks.visited();
    assert.deepEqual([asked.length, trunks.size], [2, 1]);
    trunks.leave();
    trunks.start();
    trunks.visited();
    assert.equal(asked.length, 2 + TRUNKS_WANTED);
  });

  it('are tried again where the relay took none at all: those of before were not gone yet', () => {
    trunks.start();
    at(0).refuse(TOO_MANY);
    trunks.visited();
    assert.equal(asked.length, 1);
    clock.advance(TRUNK_RETRY_MS);
    trunks.visited();
    assert.equal(asked.length, 2);
  });

  it('are none where the relay knows none, until the next control connection', () => {
    for (const status of [400, 401, 404, 426]) {
      asked.length = 0;
      trunks.start();
      at(0).refuse(new RelayRefusal(status, 'no'));
      clock.advance(10 * TRUNK_RETRY_MS);
      trunks.visited();
      assert.deepEqual([asked.length, trunks.size], [1, 0], String(status));
      trunks.leave();
    }
    trunks.start();
    assert.equal(asked.length, 2);
  });

  for (const [what, error] of Object.entries({
    'had no room': new RelayRefusal(503, 'too many client connections'),
    'was not reached': new RelayUnreachable('no data connection'),
  })) {
    it(`are not asked for again for 5 s after the relay ${what}`, () => {
      trunks.start();
      at(0).refuse(error);
      clock.advance(TRUNK_RETRY_MS - 1);
      trunks.visited();
      assert.deepEqual([asked.length, trunks.size], [1, 0]);
      clock.advance(1);
      trunks.visited();
      assert.equal(asked.length, 1 + TRUNKS_WANTED);
    });
  }

  it('are not asked for again for 5 s after one was lost', async () => {
    trunks.start();
    at(0).take();
    at(0).lose();
    await settled();
    trunks.visited();
    assert.deepEqual([asked.length, trunks.size], [1, 0]);
    clock.advance(TRUNK_RETRY_MS);
    trunks.visited();
    assert.equal(asked.length, 1 + TRUNKS_WANTED);
  });

  it('are one again when the relay closes those that nobody uses, and none after a long quiet', async () => {
    trunks.start();
    trunks.visited();
    await takeAndClose();
    assert.deepEqual([asked.length, trunks.size], [1, 1]);
    clock.advance(TRUNK_KEEP_MS - 1);
    await takeAndClose();
    assert.deepEqual([asked.length, trunks.size], [1, 1]);
    clock.advance(1);
    await takeAndClose();
    assert.deepEqual([asked.length, trunks.size], [0, 0]);
    trunks.visited();
    assert.equal(asked.length, TRUNKS_WANTED);
  });

  it('are not asked for again and again of a relay that closes each at once', async () => {
    trunks.start();
    await takeAndClose();
    assert.equal(asked.length, 1);
    clock.advance(TRUNK_RETRY_MS - 1);
    await takeAndClose();
    assert.deepEqual([asked.length, trunks.size], [0, 0]);
    clock.advance(1);
    trunks.visited();
    await takeAndClose();
    assert.equal(asked.length, 1);
  });

  it('are opened anew when another control connection takes over; those of before serve on', async () => {
    trunks.start();
    at(0).take();
    trunks.renew();
    assert.deepEqual([asked.length, trunks.size], [2, 2]);
    at(0).visit('GET /old');
    await settled();
    assert.deepEqual(served, ['GET /old']);
    at(1).take();
    at(0).close(CloseCode.normal);
    await settled();
    // Two, because a visitor has come.
    assert.deepEqual([asked.length, trunks.size], [1 + TRUNKS_WANTED, TRUNKS_WANTED]);
  });

  it('are no more than they were once the relay shuts down, and serve on', async () => {
    trunks.start();
    at(0).take();
    trunks.pause();
    at(0).visit('GET /late');
    await settled();
    assert.deepEqual([served, asked.length], [['GET /late'], 1]);
    at(0).close(CloseCode.normal);
    await settled();
    assert.deepEqual([asked.length, trunks.size], [1, 0]);
  });

  it('serve on when the control connection has ended, and are no more', async () => {
    trunks.start();
    at(0).take();
    trunks.leave();
    at(0).visit('GET /late');
    await settled();
    assert.deepEqual([served, asked.length, trunks.size], [['GET /late'], 1, 1]);
    at(0).close(CloseCode.normal);
    await settled();
    assert.deepEqual([asked.length, trunks.size], [1, 0]);
  });

  it('are cut when the tunnel has ended, those of before and those that are only asked for, too', async () => {
    trunks.start();
    at(0).take();
    const ends = at(0).visit('GET /old');
    await settled();
    trunks.renew();
    at(-1).take();
    trunks.visited();
    const before = asked.length;
    assert.equal(trunks.size, 2 * TRUNKS_WANTED);
    trunks.stop();
    await settled();
    assert.equal(trunks.size, 0);
    assert.deepEqual(
      asked.map(({ isCancelled }) => isCancelled),
      [false, true, false, true],
    );
    assert.deepEqual(
      [ends, at(0).closed, at(2).closed],
      [[CloseCode.abnormal], [CloseCode.abnormal], [CloseCode.abnormal]],
    );
    trunks.visited();
    assert.equal(asked.length, before);
  });

  it('are not counted against the next control connection when they fail late', () => {
    trunks.start();
    trunks.renew();
    at(0).refuse(new RelayRefusal(404, 'tunnel not connected'));
    trunks.visited();
    assert.equal(asked.length, 1 + TRUNKS_WANTED);
  });
});
