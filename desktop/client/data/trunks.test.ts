import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode } from '../../../shared/control.ts';
import { timersSetBy } from '../../../shared/testing/fake-turns.ts';
import { handlerOf } from '../../../shared/testing/trunk-world.ts';
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

/** Waits until all in-memory messages have arrived. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A requested trunk, and the relay's end of it once it is accepted. */
class Asked {
  isCancelled = false;
  /** the codes with which it ended: at most one */
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

  /** A visitor connects. @returns how the stream ended */
  visit(request: string): number[] {
    return this.ask(request).ends;
  }

  /** A visitor connects. */
  ask(request: string): Visitor {
    const visitor = new Visitor(this.#relayEnd.open());
    visitor.stream.write(Buffer.from(request));
    return visitor;
  }

  /** Streams that the relay's end still has open. */
  get size(): number {
    return this.#relayEnd.size;
  }

  close(code: number): void {
    this.#relayEnd.close(code);
  }

  lose(): void {
    this.#relayEnd.close(CloseCode.abnormal);
  }

  get #relayEnd(): Trunk {
    return this.#trunk ?? assert.fail('it was not taken');
  }
}

/** The relay's end of a visitor's stream. */
class Visitor {
  readonly stream: TrunkStream;
  received = '';
  /** how it ended: at most one code */
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

/** A requested data socket. */
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
  /** the streams that visitors are served over, and their received data */
  let streams: DataSocket[];
  let received: string;
  let ends: number[];
  let trunks: Trunks;
  let losses: number;

  beforeEach(() => {
    clock = new FakeClock();
    losses = 0;
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
      onLost: () => (losses += 1),
    });
  });

  function at(index: number): Asked {
    return asked.at(index) ?? assert.fail('fewer were asked for');
  }

  /** Accepts all requested trunks, and closes them as the relay closes unused ones. */
  async function takeAndClose(): Promise<void> {
    for (const one of asked.splice(0)) {
      one.take();
      one.close(CloseCode.normal);
    }
    await settled();
  }

  it('keep the remaining bytes of an ended stream for 5 min for a relay that reads none of them', async () => {
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

  it('open one when the tunnel is online, and a second with the first visitor', async () => {
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

  it('open two for announced visitors as well', () => {
    trunks.start();
    trunks.visited();
    assert.equal(asked.length, TRUNKS_WANTED);
  });

  it('open as many as the relay accepts, until the next control connection', async () => {
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

  it('try again if the relay accepted none at all, because the previous ones still existed', () => {
    trunks.start();
    at(0).refuse(TOO_MANY);
    trunks.visited();
    assert.equal(asked.length, 1);
    clock.advance(TRUNK_RETRY_MS);
    trunks.visited();
    assert.equal(asked.length, 2);
  });

  it('open none for a relay without trunks, until the next control connection', () => {
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

  for (const [what, fail] of Object.entries<() => void>({
    'had no room': () => at(0).refuse(new RelayRefusal(503, 'too many client connections')),
    'was not reached': () => at(0).refuse(new RelayUnreachable('no data connection')),
    'has lost one': () => {
      at(0).take();
      at(0).lose();
    },
  })) {
    it(`wait 5 s before another request after the relay ${what}`, async () => {
      trunks.start();
      fail();
      await settled();
      clock.advance(TRUNK_RETRY_MS - 1);
      trunks.visited();
      assert.deepEqual([asked.length, trunks.size], [1, 0]);
      clock.advance(1);
      trunks.visited();
      assert.equal(asked.length, 1 + TRUNKS_WANTED);
    });
  }

  it('go back to one when the relay closes unused ones, and to none after a long idle time', async () => {
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

  it('do not keep asking a relay that closes each immediately', async () => {
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

  it('open new ones when another control connection takes over, while the previous ones keep serving', async () => {
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
    // Two, because a visitor has connected.
    assert.deepEqual([asked.length, trunks.size], [1 + TRUNKS_WANTED, TRUNKS_WANTED]);
  });

  for (const [what, act] of Object.entries<() => void>({
    'the relay shuts down': () => trunks.pause(),
    'the control connection has ended': () => trunks.leave(),
  })) {
    it(`keep serving once ${what}, and open no further trunks`, async () => {
      trunks.start();
      at(0).take();
      act();
      at(0).visit('GET /late');
      await settled();
      assert.deepEqual([served, asked.length, trunks.size], [['GET /late'], 1, 1]);
      at(0).close(CloseCode.normal);
      await settled();
      assert.deepEqual([asked.length, trunks.size], [1, 0]);
    });
  }

  it('report one that breaks, unless it belongs to an earlier control connection or the relay closed it', async () => {
    trunks.start();
    at(0).take();
    at(0).close(CloseCode.goingAway);
    await settled();
    assert.equal(losses, 0);
    trunks.renew();
    at(-1).take();
    at(-1).lose();
    await settled();
    assert.equal(losses, 1);
    trunks.renew();
    at(-1).take();
    trunks.renew();
    at(-2).lose();
    trunks.stop();
    await settled();
    assert.equal(losses, 1);
  });

  it('are cut when the tunnel has ended, including previous and requested ones', async () => {
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

  it('do not count against the next control connection when they fail late', () => {
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

    it('open the data socket with the id that the relay gave, and continue there', async () => {
      assert.deepEqual([askedData.length, data.connectionId], [1, 'the id']);
      stream.write(Buffer.from('a'));
      visitor.stream.write(Buffer.from('1'));
      visitor.stream.moveTo(data.open());
      stream.write(Buffer.from('b'));
      visitor.stream.write(Buffer.from('2'));
      await settled();
      assert.deepEqual([at(0).size, visitor.received, received], [0, 'ab', '12']);
      // The trunk is no longer needed for it.
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
      it(`keep the stream on the trunk without one: ${error.message}`, async () => {
        data.refuse(error);
        stream.write(Buffer.from('a'));
        visitor.stream.write(Buffer.from('1'));
        await settled();
        assert.deepEqual([visitor.received, received, at(0).size], ['a', '1', 1]);
        stream.close(CloseCode.normal);
        await settled();
        assert.deepEqual([visitor.ends, at(0).closed], [[CloseCode.normal], []]);
        trunks.visited();
        // This failure is no reason to stop opening trunks.
        assert.equal(asked.length, TRUNKS_WANTED);
      });
    }

    it('break the stream off if the relay has moved it and they cannot', async () => {
      const [near] = duplexPair();
      visitor.stream.moveTo(new WebSocketByteStream(near, 'server', Buffer.alloc(0)));
      await settled();
      assert.deepEqual(ends, []);
      data.refuse(new RelayUnreachable('no data connection'));
      await settled();
      assert.deepEqual([ends, visitor.ends], [[CloseCode.abnormal], [CloseCode.goingAway]]);
      assert.deepEqual([at(0).size, at(0).closed], [0, []]);
    });

    it('close an open data socket when the stream has ended', async () => {
      visitor.stream.destroy();
      await settled();
      const closed: number[] = [];
      data.open().attach(handlerOf({ onStreamClose: (code) => closed.push(code) }));
      await settled();
      assert.deepEqual([closed, ends], [[CloseCode.goingAway], [CloseCode.goingAway]]);
    });

    it('open no data socket once the trunk has ended', async () => {
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

    it('cancel nothing that has already ended', async () => {
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
    it(`retries every 250 ms after "${error.message}"`, () => {
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
    it(`accepts ${status} as the relay's answer about the visitor`, () => {
      open();
      tries[0]?.failed(new RelayRefusal(status, 'no'));
      assert.deepEqual([tries.length, results], [1, ['no']]);
    });
  }

  it('gives up after 10 s, when the relay has given up the visitor', () => {
    open();
    for (let at = 0; at < tries.length && results.length === 0; at += 1) {
      tries[at]?.failed(new RelayUnreachable('no connection'));
      clock.advance(DATA_RETRY_MS);
    }
    assert.deepEqual(results, ['no connection']);
    assert.ok(clock.monotonic() <= 10_000 && tries.length >= 35, `${tries.length} tries`);
    assert.equal(deadlines.size, 0);
  });

  it('stops trying when cancelled, also between tries', () => {
    const attempt = open();
    tries[0]?.failed(new RelayUnreachable('no connection'));
    attempt.cancel();
    clock.advance(1000);
    assert.deepEqual([tries.length, cancelled, results, deadlines.size], [1, 1, [], 0]);
  });
});
