import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex, duplexPair } from 'node:stream';
import { mock } from 'node:test';
import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import type { ReadSocket } from '../scheduler/fair-reads.ts';
import { FakeScheduler } from '../testing/fake-turns.ts';
import { handlerOf } from '../testing/trunk-world.ts';
import { isCleanClose, PINGS_MAX, WebSocketByteStream } from './byte-stream.ts';
import { FrameReader, type Role } from './frames.ts';

/** One end, which records everything received. */
class Recorder {
  readonly stream: WebSocketByteStream;
  readonly pieces: Buffer[] = [];
  readonly closed: number[] = [];
  drained = 0;

  constructor(socket: Duplex, role: 'client' | 'server', head = '') {
    this.stream = new WebSocketByteStream(socket, role, Buffer.from(head, 'latin1'));
  }

  attach(): void {
    this.stream.attach({
      onStreamData: (piece) => this.pieces.push(Buffer.from(piece)),
      onStreamDrain: () => {
        this.drained += 1;
      },
      onStreamClose: (code) => this.closed.push(code),
    });
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString('latin1');
  }
}

/** Waits until all in-memory data has arrived. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('WebSocketByteStream', () => {
  let near: Duplex;
  let far: Duplex;
  let client: Recorder;
  let server: Recorder;

  beforeEach(() => {
    [near, far] = duplexPair();
    client = new Recorder(near, 'client');
    server = new Recorder(far, 'server');
    client.attach();
    server.attach();
  });

  afterEach(() => {
    near.destroy();
    far.destroy();
  });

  /** A stream that has read this, and whose peer is the test. */
  function alone(role: Role, head = ''): [peer: Duplex, socket: Duplex, recorder: Recorder] {
    [near, far] = duplexPair();
    const recorder = new Recorder(far, role, head);
    recorder.attach();
    return [near, far, recorder];
  }

  it('carries small and large data in both directions, then closes, and notifies only the other end', async () => {
    const large = Buffer.alloc(300_000, 'culvert');
    for (const [{ stream }, first] of [
      [server, 'down'],
      [client, 'up'],
    ] as const) {
      stream.write(Buffer.from(first));
      stream.write(Buffer.from(large));
    }
    await settled();
    assert.equal(client.text, `down${large.toString('latin1')}`);
    client.stream.write(Buffer.from('last words'));
    client.stream.close(CloseCode.normal);
    await settled();
    assert.equal(server.text, `up${large.toString('latin1')}last words`);
    assert.deepEqual([server.closed, client.closed], [[CloseCode.normal], []]);
    assert.ok(near.destroyed && far.destroyed);
  });

  it('half-closes with an empty message, in order and once, if both ends know that', async () => {
    const heard: string[] = [];
    client.stream.attach({
      onStreamData: (piece) => heard.push(piece.toString()),
      onStreamDrain() {},
      onStreamEnd: () => heard.push('end'),
      onStreamClose: (code) => heard.push(String(code)),
    });
    server.stream.end();
    server.stream.write(Buffer.alloc(0));
    server.stream.carryEnd();
    server.stream.write(Buffer.from('a'));
    server.stream.end();
    await settled();
    assert.deepEqual(heard, ['a']);
    client.stream.carryEnd();
    server.stream.write(Buffer.from('b'));
    server.stream.end();
    server.stream.write(Buffer.from('unheard'));
    server.stream.end();
    client.stream.write(Buffer.from('up'));
    await settled();
    assert.deepEqual([heard, server.text], [['a', 'b', 'end'], 'up']);
    server.stream.close(CloseCode.normal);
    await settled();
    assert.deepEqual(heard, ['a', 'b', 'end', '1000']);
  });

  it('is not disturbed by a socket that fails after it has closed', async () => {
    const closed = once(far, 'close');
    far.destroy();
    await closed;
    far.emit('error', new Error('write EBADF'));
    assert.deepEqual(server.closed, [CloseCode.abnormal]);
  });

  it('closes the connection with its answer to a Close frame, without waiting for the other end', async () => {
    const [one, other, closing] = alone('client', '\x88\x02\x03\xe8');
    const [answer] = (await once(one, 'data')) as [Buffer];
    assert.deepEqual([answer[0], answer[1]], [0x88, 0x82]);
    await settled();
    assert.deepEqual([closing.closed, other.destroyed], [[CloseCode.normal], true]);
  });

  for (const first of ['client', 'server'] as const) {
    it(`sends all queued data before it closes the connection if the ${first} closes first`, async () => {
      server.stream.pause();
      for (let count = 0; count < 50; count += 1) client.stream.write(Buffer.alloc(16_000));
      if (first === 'client') client.stream.close(CloseCode.normal);
      await settled();
      server.stream.close(CloseCode.normal);
      await settled();
      // A closed stream makes no more callbacks, but its end of the connection is not cut before the rest has arrived.
      assert.deepEqual([near.writableLength, near.destroyed, far.destroyed], [0, true, true]);
    });
  }

  it('reports a connection that ends without a Close frame', async () => {
    near.destroy();
    far.destroy();
    await settled();
    assert.deepEqual(server.closed, [CloseCode.abnormal]);
  });

  /** A stream of the relay, and the codes that it tells. */
  function told(): [peer: Duplex, stream: WebSocketByteStream, codes: number[]] {
    const [peer, socket] = duplexPair();
    [near, far] = [peer, socket];
    const options = { messages: { bytes: 10, frames: 2 }, closeTimeoutMs: 5000 };
    const stream = new WebSocketByteStream(socket, 'server', Buffer.alloc(0), options);
    const codes: number[] = [];
    stream.attach({
      onStreamData() {},
      onStreamDrain() {},
      onStreamClose() {},
      onConnectionClosed: (code) => codes.push(code),
    });
    return [peer, stream, codes];
  }

  describe('tells when the connection is closed,', () => {
    const closeFrame = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x0f, 0xa1]);

    it('with the code of the other end, whichever closes first', async () => {
      const [first, , codes] = told();
      first.write(Buffer.from(closeFrame));
      await settled();
      assert.deepEqual(codes, [4001]);
      const [second, stream, later] = told();
      stream.close(CloseCode.replaced);
      await settled();
      assert.deepEqual(later, []);
      second.write(Buffer.from(closeFrame));
      await settled();
      assert.deepEqual(later, [4001]);
    });

    it('with 1006 if the other end sends no Close frame, for which it has as long as was said', async () => {
      const [peer, , codes] = told();
      peer.destroy();
      await settled();
      assert.deepEqual(codes, [CloseCode.abnormal]);
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const [, stream, later] = told();
        stream.close(CloseCode.replaced);
        await settled();
        mock.timers.tick(4999);
        await settled();
        assert.deepEqual(later, []);
        mock.timers.tick(1);
        await settled();
        assert.deepEqual(later, [CloseCode.abnormal]);
      } finally {
        mock.timers.reset();
      }
    });
  });

  it('sends text', async () => {
    const [peer, , recorder] = alone('server');
    recorder.stream.writeText('hello');
    assert.equal(((await once(peer, 'data')) as [Buffer])[0].toString('latin1'), '\x81\x05hello');
  });

  it('closes with the protocol error code, and reads nothing more', async () => {
    near.write(Buffer.from([0x81, 0x81, 1, 2, 3, 4, 0x41]));
    near.write(Buffer.from([0x82, 0x81, 1, 2, 3, 4, 0x41]));
    await settled();
    assert.deepEqual([server.closed, server.text], [[CloseCode.abnormal], '']);
    assert.deepEqual(client.closed, [CloseCode.unsupportedData]);
  });

  it('reports when there is room again, and stops the other end while it is paused', async () => {
    server.stream.pause();
    let room = true;
    for (let count = 0; room && count < 100; count += 1) room = client.stream.write(Buffer.alloc(16_000));
    assert.ok(!room);
    await settled();
    assert.deepEqual([server.text, client.drained], ['', 0]);
    server.stream.resume();
    await settled();
    assert.deepEqual([server.text.length % 16_000, client.drained], [0, 1]);
    assert.ok(server.text.length > 0);
  });

  it('starts with data read after the handshake, on a socket left paused', async () => {
    const [one, other] = duplexPair();
    other.pause();
    const late = new Recorder(other, 'client', '\x82\x02hi');
    one.write(Buffer.from('\x82\x03 yo', 'latin1'));
    await settled();
    late.attach();
    await settled();
    assert.equal(late.text, 'hi yo');
    one.destroy();
    other.destroy();
  });

  it('answers a ping', async () => {
    const [one] = alone('client', '\x89\x02hi');
    const [pong] = (await once(one, 'data')) as [Buffer];
    assert.deepEqual([pong[0], pong[1]], [0x8a, 0x82]);
  });

  it('accepts any received or sent data as the requested sign of life', async () => {
    server.stream.probe();
    assert.equal(server.stream.isSilent, true);
    await settled();
    assert.deepEqual([server.stream.isSilent, client.pieces.length, server.pieces.length], [false, 0, 0]);
    client.stream.pause();
    server.stream.write(Buffer.alloc(300_000));
    server.stream.probe();
    await settled();
    assert.equal(server.stream.isSilent, true);
    client.stream.write(Buffer.from('busy'));
    await settled();
    assert.equal(server.stream.isSilent, false);
    server.stream.probe();
    client.stream.resume();
    await settled();
    assert.equal(server.stream.isSilent, false);
  });

  describe('once it has sent its Close frame', () => {
    beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
    afterEach(() => mock.timers.reset());

    for (const [what, reads, code, ms] of [
      ['takes it and does not answer', true, CloseCode.normal, 1000],
      ['takes nothing', false, CloseCode.normal, 60_000],
      ['takes nothing of what came before a break at the source', false, CloseCode.internalError, 60_000],
      ['takes nothing of a stream that is broken off', false, CloseCode.goingAway, 250],
    ] as const) {
      it(`cuts a peer that ${what} after ${ms / 1000} s`, async () => {
        const [one, other, { stream }] = alone('server');
        if (reads) one.resume();
        stream.write(Buffer.alloc(100_000));
        stream.close(code);
        await settled();
        mock.timers.tick(ms - 1);
        assert.equal(other.destroyed, false);
        mock.timers.tick(1);
        assert.equal(other.destroyed, true);
      });
    }
  });

  it('queues no pongs for a peer that pings but does not read, and answers the latest ping when it reads again', async () => {
    const [one, other, receiver] = alone('client');
    receiver.stream.write(Buffer.alloc(100_000));
    await settled();
    const waiting = other.writableLength;
    for (let count = 0; count < PINGS_MAX; count += 1) {
      one.write(Buffer.from(`\x89\x04${String(count).padStart(4, '0')}`, 'latin1'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(other.writableLength, waiting);
    const pongs: Buffer[] = [];
    new Recorder(one, 'server').attach();
    one.on('data', (chunk: Buffer) => pongs.push(chunk));
    await settled();
    assert.deepEqual([...(pongs.at(-1) ?? [])].slice(0, 2), [0x8a, 0x84]);
    assert.equal(pongs.filter((chunk) => chunk[0] === 0x8a).length, 1);
  });

  describe('with a peer that pings all the time', () => {
    const ping = '\x89\x80\x01\x02\x03\x04';

    beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
    afterEach(() => mock.timers.reset());

    it('continues at 100 pings a second', async () => {
      for (let second = 0; second < 3; second += 1) {
        near.write(Buffer.from(ping.repeat(PINGS_MAX), 'latin1'));
        await settled();
        mock.timers.tick(1000);
      }
      assert.deepEqual([server.closed, far.destroyed], [[], false]);
    });

    it('closes with 1008 and a reason beyond that, and reads nothing more', async () => {
      const [one, other, flooded] = alone('server');
      const received: Buffer[] = [];
      one.on('data', (chunk: Buffer) => received.push(chunk));
      one.write(Buffer.from(`${ping.repeat(PINGS_MAX + 1)}\x82\x81\x01\x02\x03\x04@`, 'latin1'));
      one.write(Buffer.from(ping.repeat(PINGS_MAX), 'latin1'));
      await settled();
      assert.ok(Buffer.concat(received).toString('latin1').endsWith('\x88\x10\x03\xf0too many pings'));
      assert.deepEqual([flooded.closed, flooded.text, other.destroyed], [[CloseCode.abnormal], '', true]);
    });
  });
});

/** A socket that accepts everything immediately, and its written data. */
function sink(): { socket: Duplex; written: () => Buffer } {
  const chunks: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { socket, written: () => Buffer.concat(chunks) };
}

describe('WebSocketByteStream.writeAll', () => {
  const NONE = Buffer.alloc(0);

  /** The data that the peer reads, and its length on the wire. */
  function sent(role: Role, send: (stream: WebSocketByteStream) => void) {
    const { socket, written } = sink();
    const stream = new WebSocketByteStream(socket, role, NONE);
    stream.attach(handlerOf({}));
    send(stream);
    const wire = written();
    const read: Buffer[] = [];
    const reader = new FrameReader(role === 'client' ? 'server' : 'client', {
      onPayload: (piece) => read.push(Buffer.from(piece)),
      onPing() {},
      onClose() {},
      onProtocolError: (code) => assert.fail(`closed with ${code}`),
    });
    reader.push(Buffer.from(wire));
    return { length: wire.length, opcode: wire[0], read: Buffer.concat(read).toString('hex') };
  }

  it('sends the same as write with joined pieces, masked and unmasked', () => {
    const length = fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 1, max: 70 }) },
      { weight: 1, arbitrary: fc.constantFrom(511, 513, 2047, 2049, 20_001, 65_536) },
    );
    const piece = fc
      .tuple(length, fc.nat(255))
      .map(([size, first]) => Buffer.alloc(size, Buffer.from([first, 7, 1])));
    fc.assert(
      fc.property(
        fc.array(piece, { minLength: 1, maxLength: 6 }),
        fc.constantFrom<Role>('client', 'server'),
        (pieces, role) => {
          const joined = Buffer.concat(pieces);
          const whole = sent(role, (stream) => stream.write(Buffer.from(joined)));
          const all = sent(role, (stream) =>
            stream.writeAll(
              pieces.map((bytes) => Buffer.from(bytes)),
              joined.length,
            ),
          );
          assert.deepEqual(all, whole);
          assert.equal(all.read, joined.toString('hex'));
        },
      ),
    );
  });

  it('reports when there is no room, and when there is again', async () => {
    const [near, far] = duplexPair();
    const sender = new Recorder(near, 'client');
    const reader = new Recorder(far, 'server');
    sender.attach();
    reader.attach();
    assert.equal(sender.stream.writeAll([Buffer.from('a'), Buffer.from('b')], 2), true);
    assert.equal(sender.stream.writeAll([Buffer.alloc(50_000), Buffer.alloc(50_000)], 100_000), false);
    await settled();
    assert.deepEqual([sender.drained, reader.text.length], [1, 100_002]);
    sender.stream.close(CloseCode.normal);
    assert.equal(sender.stream.writeAll([Buffer.alloc(50_000)], 50_000), true);
    await settled();
    assert.deepEqual([reader.text.length, reader.closed], [100_002, [CloseCode.normal]]);
  });
});

describe('WebSocketByteStream.roundTripMs', () => {
  let turns: FakeScheduler;
  let socket: Duplex;
  let written: () => Buffer;
  let stream: WebSocketByteStream;

  beforeEach(() => {
    turns = new FakeScheduler();
    ({ socket, written } = sink());
    stream = new WebSocketByteStream(socket, 'server', Buffer.alloc(0));
    stream.attach(handlerOf({}));
  });

  afterEach(() => {
    turns.reset();
    socket.destroy();
  });

  /** Contents of the sent pings. */
  function pings(): Buffer[] {
    const seen: Buffer[] = [];
    new FrameReader('client', {
      onPayload() {},
      onPing: (content) => seen.push(Buffer.from(content)),
      onClose() {},
      onProtocolError: (code) => assert.fail(`closed with ${code}`),
    }).push(written());
    return seen;
  }

  /** The peer sends a pong after that many ms. */
  function pong(content: Buffer | undefined, ms: number): void {
    assert.ok(content !== undefined);
    turns.pass(ms);
    // The mask is all zeros.
    socket.emit('data', Buffer.from([0x8a, 0x80 | content.length, 0, 0, 0, 0, ...content]));
  }

  it('is the time between a ping and its pong, the minimum of several, with one ping at a time', () => {
    turns.pass(1000);
    for (let count = 0; count < 2; count += 1) stream.measureRoundTrip();
    assert.equal(pings().length, 1);
    turns.pass(30);
    assert.equal(stream.roundTripMs, Infinity);
    pong(pings()[0], 10.5);
    const took = [10, 20].map((ms) => {
      const before = stream.roundTripMs;
      stream.measureRoundTrip();
      pong(pings().at(-1), ms);
      return [before, stream.roundTripMs];
    });
    assert.deepEqual(took, [
      [40.5, 10],
      [10, 10],
    ]);
    assert.equal(pings().length, 3);
  });

  it('uses only the first pong to the measuring ping', () => {
    pong(Buffer.from('round trip'), 1);
    assert.deepEqual([pings(), stream.roundTripMs], [[], Infinity]);
    stream.probe();
    stream.measureRoundTrip();
    const [probe, measuring] = pings();
    pong(probe, 10);
    pong(Buffer.from('another'), 10);
    assert.equal(stream.roundTripMs, Infinity);
    pong(measuring, 10);
    pong(measuring, 10);
    assert.equal(stream.roundTripMs, 30);
  });
});

describe('WebSocketByteStream whose reads are held back', () => {
  let held: Buffer[];
  let socket: Duplex;
  let peer: Duplex;
  let text: string;
  let closed: number[];
  let stream: WebSocketByteStream;

  beforeEach(async () => {
    held = [];
    text = '';
    closed = [];
    [peer, socket] = duplexPair();
    const read: ReadSocket = (from, onChunk) => {
      from.on('data', (chunk: Buffer) => held.push(chunk));
      const flush = (): void => held.splice(0).forEach(onChunk);
      return { isPaused: false, pause() {}, resume() {}, flush };
    };
    stream = new WebSocketByteStream(socket, 'client', Buffer.alloc(0), { read });
    stream.attach({
      onStreamData: (piece) => (text += piece.toString()),
      onStreamDrain() {},
      onStreamClose: (code) => closed.push(code),
    });
    peer.write(Buffer.from('\x82\x05bytes', 'latin1'));
    await settled();
  });

  it('gets held data before the end of its socket', async () => {
    assert.equal(text, '');
    socket.destroy();
    await settled();
    assert.equal(text, 'bytes');
    assert.deepEqual(closed, [CloseCode.abnormal]);
  });

  it('processes a held Close frame of the peer when it ends the stream itself', async () => {
    peer.write(Buffer.from('\x88\x02\x03\xe8', 'latin1'));
    await settled();
    stream.close(CloseCode.normal);
    await settled();
    assert.equal(text, '');
    assert.ok(socket.destroyed);
  });
});

describe('isCleanClose', () => {
  it('accepts a normal close or one without a code', () => {
    assert.deepEqual([1000, 1005, 1001, 1006, 1011].map(isCleanClose), [true, true, false, false, false]);
  });
});
