import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import {
  DEADLINE_TICK_MS,
  DRAIN_IDLE_MS,
  HEAD_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  LINGER_TIMEOUT_MS,
} from '../timeouts.ts';
import type { VisitorConnection } from '../visitor-connection.ts';
import { ownerOf } from '../../testing/edge-fixture.ts';
import { HTTP2_CONTROL_BURST, HTTP2_RESETS_BURST, HTTP2_RESETS_PER_SECOND } from './allowance.ts';
import { Http2Connection } from './connection.ts';
import {
  ACK,
  COMPRESSION_ERROR,
  CONTINUATION,
  DATA,
  ENABLE_CONNECT_PROTOCOL,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FLOW_CONTROL_ERROR,
  frame,
  FRAME_SIZE_ERROR,
  GOAWAY,
  HEADERS,
  INTERNAL_ERROR,
  NO_ERROR,
  PADDED,
  PING,
  PRIORITY,
  PRIORITY_UPDATE,
  PROTOCOL_ERROR,
  PUSH_PROMISE,
  REFUSED_STREAM,
  RST_STREAM,
  SETTINGS,
  settingsFrame,
  STREAM_CLOSED,
  WINDOW_MAX,
  WINDOW_UPDATE,
} from './frames.ts';
import { HeaderDecoder, HeaderEncoder } from './hpack.ts';
import { HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_STANDSTILL_MS, HTTP2_STREAM_WINDOW_BYTES } from './intake.ts';
import { HTTP2_UNREAD_MS } from './unread.ts';

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
  readonly #relay: Duplex;
  readonly #visitor: Duplex;
  #input = Buffer.alloc(0);

  /** @param onData gets what arrives on a stream, its head first */
  constructor(
    onStream: (stream: VisitorConnection) => void = () => {},
    onData: (stream: VisitorConnection, bytes: Buffer) => void = () => {},
  ) {
    const [relay, visitor] = duplexPair();
    Object.assign(relay, { setNoDelay() {} });
    this.#relay = relay;
    this.#visitor = visitor;
    this.connection = new Http2Connection(relay as TLSSocket, {
      now: () => this.now,
      slot: () => ({ leave() {}, park() {} }) as never,
      address: () => ({ leave() {}, busy() {}, end() {} }) as never,
      onStream: (stream) => {
        this.streams.push(stream);
        stream.attach(ownerOf((bytes) => onData(stream, bytes)));
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

  get isDestroyed(): boolean {
    return this.#relay.destroyed;
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
const number = (value: number): Buffer => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value]);
const text = (value: string): Buffer => Buffer.from(value, 'latin1');
const window = (id: number, more: number): Buffer => frame(WINDOW_UPDATE, 0, id, number(more));
const end = (id: number): Buffer => frame(DATA, END_STREAM, id, text('a'));
const cancel = (id: number): Buffer => frame(RST_STREAM, 0, id, Buffer.from([0, 0, 0, 8]));

function bytesOf(frames: readonly Frame[]): number {
  return frames.reduce((sum, { payload }) => sum + payload.length, 0);
}

/** Sends a response with one field of that size; a final one with a body, to its end. */
function respond(stream: VisitorConnection | undefined, status: number, size: number, body = 'ok'): void {
  stream?.messages?.begin(status, [{ name: 'x', value: 'x'.repeat(size) }]);
  if (status < 200) return;
  if (body !== '') stream?.write(Buffer.from(body));
  stream?.messages?.finish([]);
}

const get = (id: number, priority: string): Buffer =>
  frame(HEADERS, END_HEADERS | END_STREAM, id, fieldsOf('GET', [['priority', priority]]));
const prioritize = (id: number, priority: string): Buffer =>
  frame(PRIORITY_UPDATE, 0, 0, Buffer.concat([number(id), text(priority)]));

/** of the response on the first stream */
function statusOf(world: World): string | undefined {
  let status: string | undefined;
  new HeaderDecoder().decode(world.of(HEADERS, 1)[0]?.payload ?? Buffer.alloc(0), (field) => {
    if (field.name === ':status') status = field.value;
  });
  return status;
}

/** Reads all responses. @returns the streams in the order in which they ended */
async function endsOf(world: World): Promise<number[]> {
  await world.read();
  await world.write(window(0, WINDOW_MAX - 65_535));
  return world.frames
    .filter(({ flags, type }) => type === DATA && flags === END_STREAM)
    .map(({ stream }) => stream);
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
  const world = new World(undefined, (stream) => stream.pause());
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
      for (let count = 0; count < 60; count += 1) respond(stream, 103, 8 * KIB);
    await world.settle();
    for (const stream of world.streams) respond(stream, 200, 1);
    await world.read();
    assert.ok(ids(10).every((id) => world.hasEnded(id)));
    assert.ok(bytesOf(world.frames) < 20 * KIB, `${bytesOf(world.frames)}`);
  });

  it('passes an informational response on to a visitor that reads', async () => {
    const world = new World((stream) => {
      respond(stream, 103, 2000);
      respond(stream, 200, 1);
    });
    await world.read();
    await world.write(head(1));
    assert.equal(world.of(HEADERS).length, 2);
  });

  it('passes a head of the largest size on, beside another stream', async () => {
    const world = new World();
    await world.read();
    await world.write(head(1), head(3));
    respond(world.streams[0], 200, 65_000);
    respond(world.streams[1], 200, 1);
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
      const world = new World(undefined, (stream) => stream.pause());
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
    for (const stream of world.streams) respond(stream, 200, 1, 'x'.repeat(30 * KIB));
    await world.settle();
    await world.pass(HTTP2_UNREAD_MS - DEADLINE_TICK_MS);
    const waiting = (): number => world.streams.reduce((sum, { writableLength }) => sum + writableLength, 0);
    assert.ok(waiting() > 2 * HTTP2_CONNECTION_WINDOW_BYTES);
    await world.pass(DEADLINE_TICK_MS);
    assert.ok(waiting() <= HTTP2_CONNECTION_WINDOW_BYTES + HTTP2_STREAM_WINDOW_BYTES, `${waiting()}`);
  });

  describe('priorities (RFC 9218)', () => {
    it('decide which responses are sent first', async () => {
      const world = new World();
      await world.write(get(1, 'u=5'), get(3, 'i'), get(5, 'u=0'), get(7, 'u=1, i'), head(9));
      for (const stream of world.streams) respond(stream, 200, 1);
      assert.deepEqual(await endsOf(world), [5, 7, 3, 9, 1]);
    });

    it('can change, also before the request', async () => {
      const world = new World();
      await world.write(
        get(1, 'u=0'),
        prioritize(5, 'u=1'),
        get(3, 'u=3'),
        get(5, 'u=7'),
        prioritize(1, 'u=4'),
      );
      for (const stream of world.streams) respond(stream, 200, 1);
      assert.deepEqual(await endsOf(world), [5, 3, 1]);
    });

    it('of a response that waits to be sent can change', async () => {
      const world = new World();
      await world.write(get(1, 'u=1'), get(3, 'u=2'), setting(4, 0));
      for (const stream of world.streams) respond(stream, 200, 1);
      await world.write(prioritize(1, 'u=6'), setting(4, 99));
      assert.deepEqual(await endsOf(world), [3, 1]);
    });

    it('keep no response waiting for as long as there are more urgent ones', async () => {
      const world = new World();
      await world.write(setting(4, WINDOW_MAX), get(1, 'u=7'), get(3, 'u=0'), get(5, 'u=0'));
      for (const [index, stream] of world.streams.entries())
        respond(stream, 200, 1, 'x'.repeat((index === 0 ? 2 : 40) * 16 * KIB));
      assert.deepEqual(await endsOf(world), [1, 3, 5]);
    });
  });

  describe('a stream that opens a WebSocket (RFC 8441)', () => {
    const CONNECT = ((): Buffer => {
      const encoder = new HeaderEncoder();
      encoder.begin();
      const fields = {
        method: 'CONNECT',
        protocol: 'websocket',
        scheme: 'https',
        authority: 'abc.test',
        path: '/',
      };
      for (const [name, value] of Object.entries(fields)) encoder.add(`:${name}`, value);
      return frame(HEADERS, END_HEADERS, 1, encoder.finish());
    })();
    const seen: string[] = [];
    const see = (bytes: Buffer): unknown => seen.push(String(bytes).split('\r\n', 1)[0] ?? '');

    /** a connection with such a stream, and what its owner is told */
    async function openSocket(): Promise<World> {
      seen.length = 0;
      const world = new World((stream) => {
        stream.attach({
          ...ownerOf(see),
          ended: () => seen.push('ended'),
          closed: () => seen.push('closed'),
        });
      });
      await world.read();
      await world.write(CONNECT);
      return world;
    }

    it('is announced', async () => {
      const world = new World();
      await world.read();
      assert.ok(
        world.of(SETTINGS)[0]?.payload.includes(Buffer.from([0, ENABLE_CONNECT_PROTOCOL, 0, 0, 0, 1])),
      );
    });

    it('carries both directions as they are, until either side ends', async () => {
      const world = await openSocket();
      const [stream] = world.streams;
      stream?.messages?.begin(101, []);
      stream?.write(text('hello'));
      await world.write(data(1, 3), frame(DATA, END_STREAM, 1, text('x')));
      assert.deepEqual(seen, ['GET / HTTP/1.1', '\0\0\0', 'x', 'ended']);
      assert.deepEqual([statusOf(world), String(world.of(DATA, 1)[0]?.payload)], ['200', 'hello']);
      assert.equal(world.hasEnded(1), false);
      stream?.messages?.finish([]);
      await world.settle();
      assert.deepEqual([world.hasEnded(1), world.resets.size, seen.at(-1)], [true, 0, 'closed']);
    });

    it('tells its owner of the end only after what came before it', async () => {
      const world = await openSocket();
      world.streams[0]?.pause();
      await world.write(frame(DATA, END_STREAM, 1, text('x')));
      assert.deepEqual(seen, ['GET / HTTP/1.1']);
      world.streams[0]?.resume();
      await world.settle();
      assert.deepEqual(seen, ['GET / HTTP/1.1', 'x', 'ended']);
    });

    it('does not take another success of a service for a WebSocket', async () => {
      const world = await openSocket();
      respond(world.streams[0], 204, 1, '');
      await world.settle();
      assert.deepEqual([statusOf(world), world.hasEnded(1)], ['501', true]);
    });

    it('fails with trailers', async () => {
      const world = await openSocket();
      await world.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, 0));
      assert.deepEqual([...world.resets], [[1, PROTOCOL_ERROR]]);
    });
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
      respond(world.streams[0], 200, 1);
      await world.settle();
      assert.ok(world.hasEnded(1));
    });

    for (const [what, fault] of [
      ['an empty window', (id: number) => window(id, 0)],
      ['a window above the limit', (id: number) => window(id, WINDOW_MAX)],
      ['content behind its end', (id: number) => end(id)],
      ['a wrong PRIORITY', (id: number) => frame(PRIORITY, 0, id, 0)],
    ] as const)
      it(`count as well when the relay has to reset them, for ${what}`, async () => {
        const world = new World();
        await world.read();
        for (const id of ids(HTTP2_RESETS_BURST + 20)) {
          if (id % 20 === 1) await world.settle();
          void world.write(head(id), fault(id));
        }
        await world.settle();
        assert.equal(world.goaway, ENHANCE_YOUR_CALM);
      }).timeout(20_000);

    it('do not count when their responses were complete', async () => {
      const world = new World((stream) => respond(stream, 200, 1));
      await world.read();
      for (const id of ids(HTTP2_RESETS_BURST + 20)) {
        await world.write(head(id));
        await world.write(cancel(id));
      }
      assert.equal(world.goaway, undefined);
    }).timeout(20_000);
  });

  describe('its end', () => {
    it('tells a visitor that reads late why', async () => {
      const world = new World();
      await world.write(head(1));
      const length = 65_535;
      respond(world.streams[0], 200, 1, 'x'.repeat(length));
      await world.settle();
      await world.write(data(0, 1));
      await world.read();
      assert.equal(world.goaway, PROTOCOL_ERROR);
    });

    it('comes behind the last reset', async () => {
      const world = new World();
      await world.read();
      await world.write(head(1));
      world.connection.drain();
      await world.pass(2 * DRAIN_IDLE_MS);
      world.streams[0]?.destroy();
      await world.settle();
      assert.deepEqual([...world.resets], [[1, INTERNAL_ERROR]]);
    });

    it('leaves time to read it', async () => {
      const world = new World();
      await world.read();
      await world.pass(IDLE_TIMEOUT_MS + DEADLINE_TICK_MS);
      assert.deepEqual([world.goaway, world.isDestroyed], [NO_ERROR, false]);
      await world.pass(LINGER_TIMEOUT_MS);
      assert.ok(world.isDestroyed);
    });

    it('never admits more streams than it said before', async () => {
      const world = new World();
      await world.read();
      await world.write(head(1));
      await leave(world, 2, HTTP2_RESETS_BURST + 20);
      world.connection.drain();
      await world.settle();
      assert.equal(world.of(GOAWAY).length, 1);
    });

    it('takes no notice of the order in which streams come too late', async () => {
      const world = new World();
      await world.read();
      await world.write(post(1));
      world.connection.drain();
      await world.pass(2 * DRAIN_IDLE_MS);
      await world.write(post(3), post(5), post(3), data(5, 1));
      assert.deepEqual([world.goaway, world.of(GOAWAY).length], [NO_ERROR, 2]);
    });
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
      const world = new World(undefined, (stream, bytes) => {
        if (bytes.length > 16 * KIB) respond(stream, 431, 1);
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

    it('that would be too much for the relay while others wait are refused', async () => {
      const world = new World(undefined, (stream) => stream.pause());
      await world.read();
      const large = fieldsOf('GET', [['x', 'a'.repeat(12 * KIB)]]);
      await world.write(...ids(100).map((id) => frame(HEADERS, END_HEADERS | END_STREAM, id, large)));
      const refused = [...world.resets.values()];
      assert.deepEqual(new Set(refused), new Set([REFUSED_STREAM]));
      assert.ok(refused.length >= 5 && refused.length <= 10, `${refused.length}`);
    });

    it('may follow an end that the system has not confirmed to the relay', async () => {
      const world = new World();
      await world.write(...ids(100).map((id) => head(id)));
      const length = 65_535;
      respond(world.streams[0], 200, 1, 'x'.repeat(length));
      await world.settle();
      await world.write(head(201));
      await world.read();
      assert.deepEqual([world.hasEnded(1), [...world.resets]], [true, []]);
    });

    it('may be split at every read of a busy connection', async () => {
      const world = new World((stream) => respond(stream, 200, 1));
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

/** What a visitor gets: an error of the connection, of its first stream, or none. */
type Verdict = readonly ['connection' | 'stream', code: number] | 'nothing';

const setting = (name: number, value: number): Buffer => settingsFrame([[name, value]]);
const FIELDS = fieldsOf('GET');
const BEGUN = head(1, 'GET', END_STREAM);
const OPEN = post(1);
const BODY = frame(DATA, 0, 1, text('abc'));
const PADDED_DATA = frame(DATA, PADDED, 1, Buffer.from([9, 1, 1]));
const withLength = (length: string): Buffer =>
  frame(HEADERS, END_HEADERS, 1, fieldsOf('POST', [['content-length', length]]));

/** Frames behind the preface and the first SETTINGS, and what the relay makes of them. */
const RULES: readonly (readonly [rule: string, frames: readonly Buffer[], verdict: Verdict])[] = [
  // Frames (RFC 9113 sections 4.1 to 4.3)
  ['4.1 an unknown frame', [frame(22, 255, 0, text('a')), head(1)], 'nothing'],
  ['4.1 reserved bits', [frame(PING, 0xfe, 0x80000000, Buffer.alloc(8)), head(1)], 'nothing'],
  ['4.2 a large frame of a stream', [OPEN, data(1, 16 * KIB + 1)], ['connection', FRAME_SIZE_ERROR]],
  ['4.2 a large head', [frame(HEADERS, 5, 1, Buffer.alloc(16 * KIB + 1))], ['connection', FRAME_SIZE_ERROR]],
  [
    '4.3 a block that cannot be read',
    [frame(HEADERS, 5, 1, text('\x80'))],
    ['connection', COMPRESSION_ERROR],
  ],
  [
    '4.3 PRIORITY within a block',
    [BEGUN, frame(PRIORITY, 0, 1, Buffer.alloc(5))],
    ['connection', PROTOCOL_ERROR],
  ],
  ['4.3 an unknown frame within a block', [BEGUN, frame(22, 0, 1, 0)], ['connection', PROTOCOL_ERROR]],
  ['4.3 DATA within a block', [BEGUN, end(1)], ['connection', PROTOCOL_ERROR]],
  // States (section 5.1)
  ['5.1 DATA of an idle stream', [end(1)], ['connection', PROTOCOL_ERROR]],
  ['5.1 DATA of an even stream', [post(3), end(2)], ['connection', PROTOCOL_ERROR]],
  ['5.1 RST_STREAM of an idle stream', [cancel(1)], ['connection', PROTOCOL_ERROR]],
  ['5.1 RST_STREAM of an even stream', [post(3), cancel(2)], ['connection', PROTOCOL_ERROR]],
  ['5.1 WINDOW_UPDATE of an idle stream', [window(1, 9)], ['connection', PROTOCOL_ERROR]],
  ['5.1 WINDOW_UPDATE of an even stream', [post(3), window(2, 9)], ['connection', PROTOCOL_ERROR]],
  ['5.1 CONTINUATION of an idle stream', [frame(CONTINUATION, 4, 1, FIELDS)], ['connection', PROTOCOL_ERROR]],
  ['5.1 DATA after the end', [head(1), end(1)], ['stream', STREAM_CLOSED]],
  ['5.1 a head after the end', [head(1), head(1)], ['stream', STREAM_CLOSED]],
  ['5.1 a window after the end', [head(1), window(1, 9)], 'nothing'],
  ['5.1 a reset after the end', [head(1), cancel(1)], 'nothing'],
  [
    '5.1 CONTINUATION after the end',
    [head(1), frame(CONTINUATION, 4, 1, FIELDS)],
    ['connection', PROTOCOL_ERROR],
  ],
  ['5.1 DATA after a reset', [OPEN, cancel(1), end(1)], ['stream', STREAM_CLOSED]],
  ['5.1 a head after a reset', [OPEN, cancel(1), head(1)], ['connection', STREAM_CLOSED]],
  ['5.1 a window after a reset', [OPEN, cancel(1), window(1, 9)], 'nothing'],
  ['5.1.1 an even stream', [head(2)], ['connection', PROTOCOL_ERROR]],
  ['5.1.1 a lower stream', [head(5), head(3)], ['connection', STREAM_CLOSED]],
  ['5.1.2 too many streams', ids(101).map(post), ['stream', REFUSED_STREAM]],
  // DATA and HEADERS (sections 6.1, 6.2 and 6.10)
  ['6.1 DATA of no stream', [OPEN, end(0)], ['connection', PROTOCOL_ERROR]],
  ['6.1 more padding than DATA', [OPEN, PADDED_DATA], ['connection', PROTOCOL_ERROR]],
  ['6.1 padding without a length', [OPEN, frame(DATA, PADDED, 1, 0)], ['connection', PROTOCOL_ERROR]],
  ['6.1 DATA of padding alone', [OPEN, frame(DATA, PADDED, 1, Buffer.from([2, 0, 0]))], 'nothing'],
  ['6.2 a head of no stream', [frame(HEADERS, 5, 0, FIELDS)], ['connection', PROTOCOL_ERROR]],
  [
    '6.2 more padding than head',
    [frame(HEADERS, 13, 1, Buffer.from([9, 0x82]))],
    ['connection', PROTOCOL_ERROR],
  ],
  [
    '6.2 a padded head',
    [frame(HEADERS, 13, 1, Buffer.concat([text('\x02'), FIELDS, Buffer.alloc(2)]))],
    'nothing',
  ],
  ['6.2 a short priority', [frame(HEADERS, 0x25, 1, text('\x82'))], ['connection', FRAME_SIZE_ERROR]],
  [
    '6.10 a block in pieces',
    [
      frame(HEADERS, 1, 1, FIELDS.subarray(0, 5)),
      frame(CONTINUATION, 0, 1, 0),
      frame(CONTINUATION, 4, 1, FIELDS.subarray(5)),
    ],
    'nothing',
  ],
  [
    '6.10 CONTINUATION of another stream',
    [BEGUN, frame(CONTINUATION, 4, 3, 0)],
    ['connection', PROTOCOL_ERROR],
  ],
  ['6.10 CONTINUATION of no stream', [BEGUN, frame(CONTINUATION, 4, 0, 0)], ['connection', PROTOCOL_ERROR]],
  ['6.10 CONTINUATION after the head', [OPEN, frame(CONTINUATION, 4, 1, 0)], ['connection', PROTOCOL_ERROR]],
  // PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY (sections 6.3 to 6.8)
  ['6.3 PRIORITY of no stream', [frame(PRIORITY, 0, 0, Buffer.alloc(5))], ['connection', PROTOCOL_ERROR]],
  ['6.3 PRIORITY of an idle stream', [frame(PRIORITY, 0, 3, Buffer.alloc(5)), head(5)], 'nothing'],
  ['6.3 a short PRIORITY', [OPEN, frame(PRIORITY, 0, 1, Buffer.alloc(4))], ['stream', FRAME_SIZE_ERROR]],
  ['6.3 a short PRIORITY of an idle stream', [frame(PRIORITY, 0, 1, 0)], ['connection', FRAME_SIZE_ERROR]],
  [
    '5.3.1 a stream that depends on itself',
    [OPEN, frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 1, 1]))],
    ['stream', PROTOCOL_ERROR],
  ],
  // PRIORITY_UPDATE (RFC 9218 section 7.1)
  [
    'a PRIORITY_UPDATE of a stream',
    [OPEN, frame(PRIORITY_UPDATE, 0, 1, Buffer.from([0, 0, 0, 1]))],
    ['connection', PROTOCOL_ERROR],
  ],
  [
    'a short PRIORITY_UPDATE',
    [OPEN, frame(PRIORITY_UPDATE, 0, 0, Buffer.alloc(3))],
    ['connection', FRAME_SIZE_ERROR],
  ],
  [
    'a PRIORITY_UPDATE for no stream',
    [OPEN, frame(PRIORITY_UPDATE, 0, 0, Buffer.alloc(4))],
    ['connection', PROTOCOL_ERROR],
  ],
  [
    'a PRIORITY_UPDATE for a stream that nobody has opened, with any text',
    [OPEN, frame(PRIORITY_UPDATE, 0, 0, Buffer.from([0, 0, 0, 9, 0xff, 0x2c]))],
    'nothing',
  ],
  ['6.4 RST_STREAM of no stream', [cancel(0)], ['connection', PROTOCOL_ERROR]],
  [
    '6.4 a short RST_STREAM',
    [OPEN, frame(RST_STREAM, 0, 1, Buffer.alloc(3))],
    ['connection', FRAME_SIZE_ERROR],
  ],
  ['6.5 SETTINGS of a stream', [frame(SETTINGS, 0, 1, 0)], ['connection', PROTOCOL_ERROR]],
  [
    '6.5 a long acknowledgement',
    [frame(SETTINGS, ACK, 0, Buffer.alloc(6))],
    ['connection', FRAME_SIZE_ERROR],
  ],
  [
    '6.5 SETTINGS of a wrong length',
    [frame(SETTINGS, 0, 0, Buffer.alloc(5))],
    ['connection', FRAME_SIZE_ERROR],
  ],
  ['6.5.2 ENABLE_PUSH of 2', [setting(2, 2)], ['connection', PROTOCOL_ERROR]],
  ['6.5.2 a window above the limit', [setting(4, 2 ** 31)], ['connection', FLOW_CONTROL_ERROR]],
  ['6.5.2 frames below the limit', [setting(5, 16_383)], ['connection', PROTOCOL_ERROR]],
  ['6.5.2 frames above the limit', [setting(5, 2 ** 24)], ['connection', PROTOCOL_ERROR]],
  ['6.5.2 an unknown setting', [setting(99, 1), head(1)], 'nothing'],
  ['6.6 PUSH_PROMISE', [OPEN, frame(PUSH_PROMISE, 4, 1, Buffer.alloc(4))], ['connection', PROTOCOL_ERROR]],
  ['6.7 PING of a stream', [OPEN, frame(PING, 0, 1, Buffer.alloc(8))], ['connection', PROTOCOL_ERROR]],
  ['6.7 a short PING', [frame(PING, 0, 0, Buffer.alloc(7))], ['connection', FRAME_SIZE_ERROR]],
  ['6.8 GOAWAY of a stream', [OPEN, frame(GOAWAY, 0, 1, Buffer.alloc(8))], ['connection', PROTOCOL_ERROR]],
  ['6.8 a short GOAWAY', [frame(GOAWAY, 0, 0, Buffer.alloc(7))], ['connection', FRAME_SIZE_ERROR]],
  ['6.8 GOAWAY, and the rest', [head(1), frame(GOAWAY, 0, 0, Buffer.alloc(8))], 'nothing'],
  // Flow control (section 6.9)
  ['6.9 a window of nothing', [window(0, 0)], ['connection', PROTOCOL_ERROR]],
  ["6.9 a stream's window of nothing", [OPEN, window(1, 0)], ['stream', PROTOCOL_ERROR]],
  [
    '6.9 a short WINDOW_UPDATE',
    [frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(3))],
    ['connection', FRAME_SIZE_ERROR],
  ],
  ['6.9.1 a large window', [window(0, WINDOW_MAX)], ['connection', FLOW_CONTROL_ERROR]],
  ["6.9.1 a stream's large window", [OPEN, window(1, WINDOW_MAX)], ['stream', FLOW_CONTROL_ERROR]],
  [
    '6.9.2 a first window that makes one too large',
    [OPEN, window(1, 9), setting(4, WINDOW_MAX)],
    ['connection', FLOW_CONTROL_ERROR],
  ],
  // Messages (section 8.1)
  ['8.1 trailers that do not end', [OPEN, frame(HEADERS, END_HEADERS, 1, 0)], ['stream', PROTOCOL_ERROR]],
  ['8.1 trailers', [OPEN, BODY, frame(HEADERS, 5, 1, 0)], 'nothing'],
  [
    '8.1 trailers with a pseudo-field',
    [OPEN, frame(HEADERS, 5, 1, text('\x82'))],
    ['stream', PROTOCOL_ERROR],
  ],
  ['8.1.1 a long body', [withLength('2'), BODY], ['stream', PROTOCOL_ERROR]],
  ['8.1.1 a short body', [withLength('9'), BODY, end(1)], ['stream', PROTOCOL_ERROR]],
  [
    '8.1.1 no body',
    [frame(HEADERS, 5, 1, fieldsOf('POST', [['content-length', '9']]))],
    ['stream', PROTOCOL_ERROR],
  ],
  ['8.1.1 the announced body', [withLength('4'), BODY, end(1)], 'nothing'],
];

describe('bodies', () => {
  it('may each end with an empty frame', async () => {
    const world = new World(undefined, (stream) => {
      if (stream.bytesWritten === 0) respond(stream, 204, 1, '');
    });
    await world.read();
    for (const id of ids(HTTP2_CONTROL_BURST + 100)) {
      if (id % 20 === 1) await world.settle();
      void world.write(post(id), frame(DATA, END_STREAM, id, 0));
    }
    await world.settle();
    assert.equal(world.goaway, undefined);
  }).timeout(20_000);

  it('of padding alone count as frames that do nothing', async () => {
    const world = new World();
    await world.read();
    const nothing = frame(DATA, PADDED, 1, Buffer.alloc(1));
    await world.write(
      post(1),
      Buffer.concat(Array.from({ length: HTTP2_CONTROL_BURST + 10 }, () => nothing)),
    );
    assert.equal(world.goaway, ENHANCE_YOUR_CALM);
  });
});

describe('each rule of RFC 9113', () => {
  for (const [rule, frames, verdict] of RULES) {
    it(rule, async () => {
      const world = new World();
      await world.read();
      await world.write(...frames);
      const goaway = world.goaway;
      const [reset] = world.resets.values();
      const seen =
        goaway !== undefined ? ['connection', goaway] : reset !== undefined ? ['stream', reset] : 'nothing';
      assert.deepEqual(seen, verdict);
    });
  }
});
