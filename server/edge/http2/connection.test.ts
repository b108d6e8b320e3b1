import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import {
  DEADLINE_TICK_MS,
  HEAD_TIMEOUT_MS,
  HTTP2_RESETS_BURST,
  HTTP2_RESETS_PER_SECOND,
  HTTP2_CONNECTION_WINDOW_BYTES,
  HTTP2_STANDSTILL_MS,
  HTTP2_STREAM_WINDOW_BYTES,
  HTTP2_UNREAD_MS,
} from '../../limits.ts';
import type { VisitorConnection } from '../visitor-socket.ts';
import { Http2Connection } from './connection.ts';
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FLOW_CONTROL_ERROR,
  frame,
  GOAWAY,
  HEADERS,
  NO_ERROR,
  PING,
  RST_STREAM,
  SETTINGS,
  settingsFrame,
  WINDOW_UPDATE,
} from './frames.ts';
import { HeaderEncoder } from './hpack.ts';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const KIB = 1024;

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A connection whose other end writes frames, and reads only when it is told to. */
class World {
  now = 0;
  /** Whether it confirms settings and pings. */
  confirms = true;
  readonly frames: Frame[] = [];
  /** the relay's streams, in the order of their requests */
  readonly streams: VisitorConnection[] = [];
  readonly connection: Http2Connection;
  readonly #visitor: Duplex;
  #input = Buffer.alloc(0);

  constructor(onStream: (stream: VisitorConnection) => void = () => {}) {
    const [relay, visitor] = duplexPair();
    Object.assign(relay, { setNoDelay() {} });
    this.#visitor = visitor;
    this.connection = new Http2Connection(relay as TLSSocket, {
      now: () => this.now,
      slot: () => ({ leave() {}, park() {} }) as never,
      address: () => ({ leave() {}, busy() {}, end() {} }) as never,
      onStream: (stream) => {
        stream.on('error', () => {});
        this.streams.push(stream);
        onStream(stream);
      },
      onClosed: () => {},
    });
    visitor.on('error', () => {});
    visitor.write(Buffer.concat([PREFACE, settingsFrame([])]));
  }

  /** Writes frames, and waits until the relay has done what it can. */
  async write(...frames: readonly Buffer[]): Promise<void> {
    for (const bytes of frames) this.#visitor.write(bytes);
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 2000 && this.#visitor.writableLength > 0; turn += 1) await nextTurn();
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  }

  /** Reads whatever the relay sends from now on. */
  async read(): Promise<void> {
    this.#visitor.on('data', (bytes: Buffer) => this.#receive(bytes));
    await this.settle();
  }

  /** Time passes, with the ticks of the relay. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += DEADLINE_TICK_MS) {
      this.now += DEADLINE_TICK_MS;
      this.connection.tick(this.now);
      await nextTurn();
    }
    await this.settle();
  }

  #receive(bytes: Buffer): void {
    this.#input = Buffer.concat([this.#input, bytes]);
    while (this.#input.length >= 9) {
      const end = 9 + this.#input.readUIntBE(0, 3);
      if (this.#input.length < end) return;
      const [type = 0, flags = 0] = this.#input.subarray(3, 5);
      const stream = this.#input.readUInt32BE(5);
      const payload = this.#input.subarray(9, end);
      this.#input = this.#input.subarray(end);
      this.frames.push({ type, flags, stream, payload });
      if (!this.confirms) continue;
      if (type === SETTINGS && (flags & 1) === 0) this.#visitor.write(frame(SETTINGS, ACK, 0, 0));
      if (type === PING && (flags & 1) === 0) this.#visitor.write(frame(PING, ACK, 0, payload));
    }
  }

  of(type: number, stream?: number): readonly Frame[] {
    return this.frames.filter((one) => one.type === type && (stream ?? one.stream) === one.stream);
  }

  /** the streams that the relay has reset, with the code */
  get resets(): ReadonlyMap<number, number> {
    return new Map(this.of(RST_STREAM).map(({ stream, payload }) => [stream, payload.readUInt32BE(0)]));
  }

  get goaway(): number | undefined {
    return this.of(GOAWAY)[0]?.payload.readUInt32BE(4);
  }

  hasEnded(stream: number): boolean {
    return this.frames.some((one) => one.stream === stream && one.type < 2 && (one.flags & END_STREAM) !== 0);
  }
}

/** the ids of a visitor's first streams */
function ids(count: number): number[] {
  return Array.from({ length: count }, (_, index) => 2 * index + 1);
}

function fieldsOf(method: string, more: readonly (readonly [string, string])[] = []): Buffer {
  const encoder = new HeaderEncoder();
  encoder.begin();
  encoder.add(':method', method);
  encoder.add(':scheme', 'https');
  encoder.add(':authority', 'abc.test');
  encoder.add(':path', '/');
  for (const [name, value] of more) encoder.add(name, value);
  return encoder.finish();
}

function head(id: number, method = 'GET', flags = END_HEADERS | END_STREAM): Buffer {
  return frame(HEADERS, flags, id, fieldsOf(method));
}

const post = (id: number): Buffer => head(id, 'POST', END_HEADERS);
const data = (id: number, size: number): Buffer => frame(DATA, 0, id, Buffer.alloc(size));
const cancel = (id: number): Buffer => frame(RST_STREAM, 0, id, Buffer.from([0, 0, 0, 8]));

function bytesOf(frames: readonly Frame[]): number {
  return frames.reduce((sum, { payload }) => sum + payload.length, 0);
}

/** A response with one field of that size. */
function response(status: number, size: number, rest = 'Content-Length: 2\r\n\r\nok'): Buffer {
  return Buffer.from(`HTTP/1.1 ${status} A\r\nX: ${'x'.repeat(size)}\r\n${rest}`);
}

/** Opens streams and cancels them, ten at a time. */
async function leave(world: World, first: number, count: number): Promise<void> {
  for (let done = 0; done < count; done += 10) {
    const ten = ids(10).map((id) => id + first + 2 * done);
    await world.write(Buffer.concat(ten.map((id) => Buffer.concat([head(id), cancel(id)]))));
  }
}

/** A connection with bodies that nobody takes, each of a whole window. */
const full = async (count: number): Promise<World> => {
  const world = new World((stream) => {
    stream.on('data', () => stream.pause());
  });
  await world.read();
  await world.write(...ids(count).map(post));
  for (let round = 0; round < 4; round += 1) {
    world.now += 1;
    await world.write(...ids(count).map((id) => data(id, 16 * KIB - 1)));
  }
  return world;
};

describe('Http2Connection', () => {
  it('drops informational responses that would have to wait', async () => {
    const world = new World();
    await world.write(...ids(10).map((id) => head(id)));
    for (const stream of world.streams)
      for (let count = 0; count < 60; count += 1) stream.write(response(103, 8 * KIB, '\r\n'));
    await world.settle();
    for (const stream of world.streams) stream.write(response(200, 1));
    await world.read();
    assert.ok(ids(10).every((id) => world.hasEnded(id)));
    assert.ok(bytesOf(world.frames) < 20 * KIB, `${bytesOf(world.frames)}`);
  });

  it('passes an informational response on to a visitor that reads', async () => {
    const world = new World((stream) => {
      stream.write(response(103, 2000, '\r\n'));
      stream.write(response(200, 1));
    });
    await world.read();
    await world.write(head(1));
    assert.equal(world.of(HEADERS).length, 2);
  });

  it('passes a head of the largest size on, beside another stream', async () => {
    const world = new World();
    await world.read();
    await world.write(head(1), head(3));
    world.streams[0]?.write(response(200, 65_000));
    world.streams[1]?.write(response(200, 1));
    await world.settle();
    assert.deepEqual([world.hasEnded(1), world.hasEnded(3), world.goaway], [true, true, undefined]);
  });

  describe('while a tunnel does not take the bodies of requests', () => {
    it('gives nothing of the window of the connection back', async () => {
      const world = await full(16);
      assert.deepEqual([world.resets.size, world.goaway], [0, undefined]);
      const first = world.of(WINDOW_UPDATE, 0).length;
      await world.pass(1000);
      assert.equal(world.of(WINDOW_UPDATE, 0).length, first);
      await world.write(data(1, 16 * KIB));
      assert.equal(world.goaway, FLOW_CONTROL_ERROR);
    });

    it('resets the body that has stood still for longest when they use the window up', async () => {
      const world = await full(16);
      const [, second] = world.streams;
      world.now += 1000;
      // They ask for more twice, so they have accepted what they were given first.
      for (let round = 0; round < 2; round += 1) {
        for (const stream of world.streams) if (stream !== second) stream.resume();
        await world.settle();
      }
      const others = ids(16).filter((id) => id !== 3);
      for (let round = 0; round < 4; round += 1)
        await world.write(...others.map((id) => data(id, 16 * KIB - 1)));
      await world.pass(HTTP2_STANDSTILL_MS - DEADLINE_TICK_MS);
      assert.deepEqual([...world.resets], [[3, ENHANCE_YOUR_CALM]]);
    });

    it('counts what arrives in tiny frames, as chunks', async () => {
      const world = new World((stream) => {
        stream.on('data', () => stream.pause());
      });
      await world.read();
      await world.write(...ids(4).map(post));
      for (const id of ids(4))
        await world.write(Buffer.concat(Array.from({ length: 65_000 }, () => data(id, 1))));
      // Each byte takes six as a chunk.
      assert.equal(world.resets.size, 2);
    });
  });

  it('resets responses that stand still for 10 s, if more than 1 MiB and one window wait', async () => {
    const world = new World();
    await world.write(...ids(90).map((id) => head(id)));
    const body = `Content-Length: ${30 * KIB}\r\n\r\n${'x'.repeat(30 * KIB)}`;
    for (const stream of world.streams) stream.write(response(200, 1, body));
    await world.settle();
    await world.pass(HTTP2_UNREAD_MS - DEADLINE_TICK_MS);
    const waiting = (): number => world.streams.reduce((sum, { writableLength }) => sum + writableLength, 0);
    assert.ok(waiting() > 2 * HTTP2_CONNECTION_WINDOW_BYTES);
    await world.pass(DEADLINE_TICK_MS);
    assert.ok(waiting() <= HTTP2_CONNECTION_WINDOW_BYTES + HTTP2_STREAM_WINDOW_BYTES, `${waiting()}`);
  });

  describe('cancelled streams', () => {
    it('end nothing: 1,000 in a burst, and 100 per second', async () => {
      const world = new World();
      await world.read();
      await leave(world, 0, HTTP2_RESETS_BURST);
      for (let second = 0; second < 5; second += 1) {
        world.now += 1000;
        await leave(world, 2 * (HTTP2_RESETS_BURST + second * 100), HTTP2_RESETS_PER_SECOND);
      }
      assert.equal(world.goaway, undefined);
    });

    it('end the connection beyond that, after what is in progress', async () => {
      const world = new World();
      await world.read();
      await world.write(head(1));
      await leave(world, 2, HTTP2_RESETS_BURST + 20);
      assert.equal(world.goaway, ENHANCE_YOUR_CALM);
      await world.pass(100_000);
      assert.equal(world.connection.isWaiting, false);
      world.streams[0]?.write(response(200, 1));
      await world.settle();
      assert.ok(world.hasEnded(1));
    });

    it('do not count when their responses were complete', async () => {
      const world = new World((stream) => stream.write(response(200, 1)));
      await world.read();
      for (const id of ids(HTTP2_RESETS_BURST + 20)) {
        await world.write(head(id));
        await world.write(cancel(id));
      }
      assert.equal(world.goaway, undefined);
    }).timeout(20_000);
  });

  describe('heads', () => {
    it('that are not complete within 15 s end the connection', async () => {
      const world = new World();
      await world.read();
      // Nothing may come between the frames of a head.
      world.confirms = false;
      await world.write(head(1), head(3, 'GET', 0));
      await world.pass(HEAD_TIMEOUT_MS - DEADLINE_TICK_MS);
      assert.equal(world.goaway, undefined);
      await world.pass(2 * DEADLINE_TICK_MS);
      assert.deepEqual([world.goaway, world.hasEnded(3)], [NO_ERROR, true]);
    });

    it('that are large get 431, beside other streams', async () => {
      const world = new World((stream) => {
        stream.once('data', (bytes: Buffer) => {
          if (bytes.length > 16 * KIB) stream.write(response(431, 1));
        });
      });
      await world.read();
      const bytes = fieldsOf('GET', [['x', 'a'.repeat(65_000)]]);
      const pieces = Array.from({ length: Math.ceil(bytes.length / 16_000) }, (_, index) =>
        bytes.subarray(16_000 * index, 16_000 * (index + 1)),
      );
      const frames = pieces.map((piece, index) => {
        const flags = (index === pieces.length - 1 ? END_HEADERS : 0) | (index === 0 ? END_STREAM : 0);
        return frame(index === 0 ? HEADERS : CONTINUATION, flags, 3, piece);
      });
      await world.write(head(1), ...frames);
      assert.deepEqual([world.hasEnded(3), world.hasEnded(1), world.goaway], [true, false, undefined]);
    });

    it('may be split at every read of a busy connection', async () => {
      const world = new World((stream) => stream.write(response(200, 1)));
      await world.read();
      let half: Buffer = Buffer.alloc(0);
      for (const id of ids(60)) {
        const whole = head(id);
        await world.write(Buffer.concat([half, whole.subarray(0, 12)]));
        half = whole.subarray(12);
        await world.pass(DEADLINE_TICK_MS);
      }
      assert.equal(world.goaway, undefined);
    });
  });
});
