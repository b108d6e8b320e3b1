import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode } from '../../../shared/control.ts';
import { timersSetBy } from '../../../shared/testing/held-timers.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import { Trunk } from '../../../shared/trunk/trunk.ts';
import { WebSocketByteStream } from '../../../shared/websocket/byte-stream.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { Deadlines } from '../clock.ts';
import { DATA_RETRY_MS, TRUNK_FLUSH_MS, TRUNK_KEEP_MS, TRUNK_RETRY_MS, TRUNKS_WANTED } from '../limits.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import type { DataHandler, DataSocket, SocketHandler } from './data-dialer.ts';
import { RetriedData, Trunks } from './trunks.ts';

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
    this.#trunk = new Trunk(socket, { flushMs: 300_000, begins: 'this', owner });
    this.#handler.opened(new WebSocketByteStream(near, 'client', Buffer.alloc(0)));
  }

  refuse(error: RelayRefusal | RelayUnreachable): void {
    this.#handler.failed(error);
  }

  /** A visitor comes; how his stream ended. */
  visit(request: string): number[] {
    return this.ask(request).ends;
  }

  /** A visitor comes. */
  ask(request: string): Visitor {
    const visitor = new Visitor(this.#relayEnd.open());
    visitor.stream.write(Buffer.from(request));
    return visitor;
  }

  /** Streams that the relay's end has not done with. */
  get size(): number {
    return this.#relayEnd.size;
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

/** The relay's end of a visitor's stream. */
class Visitor {
  readonly stream: TrunkStream;
  received = '';
  /** how it ended: one code at most */
  readonly ends: number[] = [];

  constructor(stream: TrunkStream) {
    this.stream = stream;
    stream.attach({
      onStreamData: (piece) => (this.received += piece.toString()),
      onStreamDrain() {},
      onStreamClose: (code) => this.ends.push(code),
    });
  }
}

/** A data socket that was asked for. */
class AskedData {
  isCancelled = false;
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

describe('Trunks', () => {
  let clock: FakeClock;
  let asked: Asked[];
  let askedData: AskedData[];
  let served: string[];
  /** what visitors are served over, and what has come there */
  let streams: DataSocket[];
  let received: string;
  let ends: number[];
  let trunks: Trunks;

  beforeEach(() => {
    clock = new FakeClock();
    asked = [];
    askedData = [];
    served = [];
    streams = [];
    received = '';
    ends = [];
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
        return { cancel: () => (one.isCancelled = true) };
      },
      serve(stream, first) {
        served.push(first.toString());
        streams.push(stream);
        stream.attach({
          onStreamData: (piece) => (received += piece.toString()),
          onStreamDrain() {},
          onStreamClose: (code) => ends.push(code),
        });
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

  it('keep what is before the end of a stream for 5 min for a relay that takes nothing of it', async () => {
    trunks.start();
    at(0).take();
    const visitor = at(0).ask('GET');
    visitor.stream.pause();
    await settled();
    const [stream] = streams;
    stream?.write(Buffer.alloc(2 * 64 * 1024));
    await settled();
    const timers = timersSetBy(() => stream?.close(CloseCode.normal));
    await settled();
    assert.deepEqual(
      timers.map(({ ms }) => ms),
      [TRUNK_FLUSH_MS],
    );
    timers[0]?.callback();
    visitor.stream.resume();
    await settled();
    assert.deepEqual(visitor.ends, [CloseCode.goingAway]);
  });

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
    const visitorEnds = at(0).visit('GET /old');
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
      [visitorEnds, at(0).closed, at(2).closed],
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

  describe('with a stream that the relay asks to move', () => {
    let visitor: Visitor;
    let data: AskedData;
    let stream: DataSocket;

    beforeEach(async () => {
      trunks.start();
      at(0).take();
      visitor = at(0).ask('GET /large');
      visitor.stream.offerMove('the id');
      await settled();
      data = askedData[0] ?? assert.fail('no data socket was asked for');
      stream = streams[0] ?? assert.fail('nobody was served');
    });

    it('open the data socket of the id that the relay has given, and go on there', async () => {
      assert.deepEqual([askedData.length, data.connectionId], [1, 'the id']);
      stream.write(Buffer.from('a'));
      visitor.stream.write(Buffer.from('1'));
      visitor.stream.moveTo(data.open());
      stream.write(Buffer.from('b'));
      visitor.stream.write(Buffer.from('2'));
      await settled();
      assert.deepEqual([at(0).size, visitor.received, received], [0, 'ab', '12']);
      // The trunk is not needed for it any more.
      at(0).lose();
      stream.write(Buffer.from('c'));
      await settled();
      assert.deepEqual([visitor.received, visitor.ends, ends], ['abc', [], []]);
      stream.close(CloseCode.normal);
      await settled();
      assert.deepEqual(visitor.ends, [CloseCode.normal]);
    });

    for (const error of [
      new RelayRefusal(404, 'connection not found'),
      new RelayUnreachable('no data connection'),
    ]) {
      it(`leave it where it is without one: ${error.message}`, async () => {
        data.refuse(error);
        stream.write(Buffer.from('a'));
        visitor.stream.write(Buffer.from('1'));
        await settled();
        assert.deepEqual([visitor.received, received, at(0).size], ['a', '1', 1]);
        stream.close(CloseCode.normal);
        await settled();
        assert.deepEqual([visitor.ends, at(0).closed], [[CloseCode.normal], []]);
        trunks.visited();
        // That is no reason to open no trunks.
        assert.equal(asked.length, TRUNKS_WANTED);
      });
    }

    it('break it off where the relay has moved, and they cannot', async () => {
      const [near] = duplexPair();
      visitor.stream.moveTo(new WebSocketByteStream(near, 'server', Buffer.alloc(0)));
      await settled();
      assert.deepEqual(ends, []);
      data.refuse(new RelayUnreachable('no data connection'));
      await settled();
      assert.deepEqual([ends, visitor.ends], [[CloseCode.abnormal], [CloseCode.goingAway]]);
      assert.deepEqual([at(0).size, at(0).closed], [0, []]);
    });

    it('close a data socket that is open when the stream is over', async () => {
      visitor.stream.destroy();
      await settled();
      const closed: number[] = [];
      data
        .open()
        .attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose: (code) => closed.push(code) });
      await settled();
      assert.deepEqual([closed, ends], [[CloseCode.goingAway], [CloseCode.goingAway]]);
    });

    it('open none any more once the trunk has ended', async () => {
      for (const end of [
        () => trunks.stop(),
        () => at(0).lose(),
        () => at(0).close(CloseCode.tunnelClosed),
      ]) {
        end();
        await settled();
        assert.equal(askedData.at(-1)?.isCancelled, true);
        trunks.leave();
        asked.length = 0;
        trunks.start();
        at(0).take();
        at(0).ask('GET /next').stream.offerMove('next id');
        await settled();
        assert.deepEqual([askedData.at(-1)?.connectionId, askedData.at(-1)?.isCancelled], ['next id', false]);
      }
    });

    it('cancel nothing that has come to its end', async () => {
      visitor.stream.moveTo(data.open());
      visitor = at(0).ask('GET /other');
      visitor.stream.offerMove('other id');
      await settled();
      askedData[1]?.refuse(new RelayRefusal(404, 'connection not found'));
      at(0).lose();
      await settled();
      assert.deepEqual(
        askedData.map(({ isCancelled }) => isCancelled),
        [false, false],
      );
    });
  });
});

describe('RetriedData', () => {
  let clock: FakeClock;
  let tries: DataHandler[];
  let cancelled: number;
  let results: unknown[];
  let data: RetriedData;
  let deadlines: Deadlines;

  beforeEach(() => {
    clock = new FakeClock();
    tries = [];
    cancelled = 0;
    results = [];
    deadlines = new Deadlines(clock);
    const source = {
      open: (id: string, handler: DataHandler) => {
        assert.equal(id, 'id');
        tries.push(handler);
        return { cancel: () => (cancelled += 1) };
      },
    };
    data = new RetriedData(source, deadlines);
  });

  const open = () =>
    data.open('id', {
      opened: (stream) => results.push(stream),
      failed: (error) => results.push(error.message),
    });

  for (const error of [
    new RelayUnreachable('no connection'),
    new RelayRefusal(502, 'bad gateway'),
    new RelayRefusal(429, 'too many'),
  ]) {
    it(`tries again every 250 ms after "${error.message}"`, () => {
      open();
      tries[0]?.failed(error);
      assert.deepEqual([tries.length, results], [1, []]);
      clock.advance(DATA_RETRY_MS);
      assert.equal(tries.length, 2);
      tries[1]?.failed(error);
      clock.advance(DATA_RETRY_MS);
      const stream = new FakeStream();
      tries[2]?.opened(stream);
      assert.deepEqual([results, deadlines.size, DATA_RETRY_MS], [[stream], 0, 250]);
    });
  }

  for (const status of [400, 401, 404]) {
    it(`takes ${status} for the relay's word about the visitor`, () => {
      open();
      tries[0]?.failed(new RelayRefusal(status, 'no'));
      assert.deepEqual([tries.length, results], [1, ['no']]);
    });
  }

  it('gives up when the relay has given the visitor up, after 10 s', () => {
    open();
    for (let at = 0; at < tries.length && results.length === 0; at += 1) {
      tries[at]?.failed(new RelayUnreachable('no connection'));
      clock.advance(DATA_RETRY_MS);
    }
    assert.deepEqual(results, ['no connection']);
    assert.ok(clock.monotonic() <= 10_000 && tries.length >= 35, `${tries.length} tries`);
    assert.equal(deadlines.size, 0);
  });

  it('tries nothing any more when it is cancelled, also while it waits', () => {
    const attempt = open();
    tries[0]?.failed(new RelayUnreachable('no connection'));
    attempt.cancel();
    clock.advance(1000);
    assert.deepEqual([tries.length, cancelled, results, deadlines.size], [1, 1, [], 0]);
  });
});
