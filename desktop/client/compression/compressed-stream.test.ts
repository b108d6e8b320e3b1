import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { notRun } from '../../../shared/testing/posix.ts';
import { trackBody } from '../../../shared/http1/body.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { RecordedStream, RESPONSE_HEAD_MAX_BYTES } from '../data/stream-filter.ts';
import {
  CompressedStream,
  Compression,
  isCompressionOn,
  nearnessOf,
  COMPRESSION_BREAK_MS,
} from './compressed-stream.ts';
import { CompressorSlots, hasCoding, COMPRESSION_FLUSH_MS } from './compressor.ts';
import { type Coding, WeakenedTags } from './heads.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n';
const TEXT = 'Some text that shrinks. '.repeat(200);
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';
const KNOWN = `${HEAD}Content-Length: ${TEXT.length}\r\n\r\n${TEXT}`;
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const PLAIN = 'HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\npng';

const DECODERS = {
  br: (bytes: Buffer) =>
    zlib.brotliDecompressSync(bytes, { finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }),
  gzip: (bytes: Buffer) => zlib.gunzipSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  zstd: (bytes: Buffer) => zlib.zstdDecompressSync(bytes, { finishFlush: zlib.constants.ZSTD_e_continue }),
} as const satisfies Record<Coding, (bytes: Buffer) => Buffer>;

/** A compressed response as far as it has arrived. */
interface Got {
  readonly head: string;
  readonly body: string;
  readonly isComplete: boolean;
  /** what follows it */
  readonly rest: string;
}

/** @param sent begins with a response in chunks */
function read(sent: string, coding: Coding = 'gzip'): Got {
  const at = sent.indexOf('\r\n\r\n') + 4;
  const head = sent.slice(0, at);
  const bytes = Buffer.from(sent.slice(at), 'latin1');
  const pieces: Buffer[] = [];
  const tracker = trackBody({ kind: 'chunked' }, (piece) => void pieces.push(piece));
  const end = tracker.advance(bytes, 0);
  const body = pieces.length === 0 ? '' : DECODERS[coding](Buffer.concat(pieces)).toString('latin1');
  return { head, body, isComplete: tracker.done, rest: bytes.toString('latin1', end) };
}

/** A filter between a data socket and a handler, both controlled by the test. */
function setUp({ max = 9, slots = new CompressorSlots(max) } = {}) {
  const clock = new FakeClock();
  const tags = new WeakenedTags();
  const stream = new FakeStream();
  const filter = new CompressedStream(stream, { clock, tags, slots });
  const seen = { received: '', drains: 0, closed: undefined as number | undefined };
  filter.attach({
    onStreamData: (piece) => void (seen.received += piece.toString('latin1')),
    onStreamDrain: () => void (seen.drains += 1),
    onStreamClose: (code) => void (seen.closed = code),
  });
  const respond = (text: string): boolean => filter.write(Buffer.from(text, 'latin1'));
  const isComplete = (): boolean => stream.sent.endsWith('\r\n0\r\n\r\n');
  return { clock, stream, filter, seen, slots, respond, completed: () => stream.until(isComplete) };
}

/** As `setUp`, with a request and what has come of its response. */
function answered(response: string, request = GET, options: Parameters<typeof setUp>[0] = {}) {
  const world = setUp(options);
  world.stream.receive(request);
  world.respond(response);
  return world;
}

/** Resolves when the thread pool, which compresses in order, has done what it can. */
async function compressorsIdle(): Promise<void> {
  for (let round = 0; round < 8; round++) await promisify(zlib.gzip)(Buffer.alloc(64 * 1024));
}

function piecesOf(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
}

const withField = (head: string, field: string): string => head.replace('\r\n', `\r\n${field}\r\n`);

/** Adds a field behind the others. */
const varying = (response: string): string =>
  response.replace('\r\n\r\n', '\r\nVary: Accept-Encoding\r\n\r\n');

const DEFLATE = GET.replace('gzip', 'deflate');
const POST = withField(GET.replace('GET', 'POST'), 'Content-Length: 5');
const UPGRADE = withField(GET, 'Upgrade: websocket');

describe('CompressedStream', () => {
  for (const coding of ['br', 'zstd', 'gzip'] as const) {
    it(`compresses with ${coding}, if Node has it`, async function () {
      if (!hasCoding(coding)) notRun(this, `Node ${process.versions.node} has no ${coding}`);
      const { stream, completed } = answered(KNOWN, GET.replace('gzip', coding));
      await completed();
      const { head, body } = read(stream.sent, coding);
      assert.equal(
        head,
        `${HEAD}Vary: Accept-Encoding\r\nContent-Encoding: ${coding}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      assert.equal(body, TEXT);
      assert.ok(stream.sent.length < TEXT.length / 4);
    });
  }

  for (const [name, response] of [
    ['of known length', KNOWN],
    ['in chunks', `${CHUNKED}9;a=b\r\n${TEXT.slice(0, 9)}\r\n12b7;a=b\r\n${TEXT.slice(9)}\r\n0\r\n\r\n`],
    ['in chunks with blanks behind their sizes', `${CHUNKED}12c0  \r\n${TEXT}\r\n0  \r\n\r\n`],
  ] as const)
    for (const size of [1, 7, 64, 10_000])
      it(`compresses a body ${name} that arrives in pieces of ${size} bytes`, async () => {
        const { stream, respond, completed, seen } = setUp();
        for (const part of piecesOf(GET, 5)) stream.receive(part);
        for (const part of piecesOf(response, size)) respond(part);
        await completed();
        assert.equal(read(stream.sent).body, TEXT);
        assert.equal(seen.received, GET);
      });

  it('compresses one response after the other on a connection, and leaves no timer', async () => {
    const { clock, stream, respond, completed, seen } = setUp();
    const requests = [GET, `${POST}hello`, GET];
    for (const request of requests) {
      stream.sent = '';
      stream.receive(request);
      respond(KNOWN);
      assert.deepEqual(clock.waiting, []);
      await completed();
      assert.deepEqual([read(stream.sent).body, clock.waiting], [TEXT, []]);
      stream.sent = '';
      stream.receive(GET);
      respond(PLAIN);
      assert.equal(stream.sent, PLAIN);
    }
    assert.equal(seen.received, requests.map((request) => request + GET).join(''));
  });

  for (const [name, request, response, passed = response] of [
    ['a type that does not shrink', GET, PLAIN],
    ['events', GET, `${CHUNKED.replace('plain', 'event-stream')}6\r\ndata:\n\r\n`],
    ['another transfer coding', GET, `${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`],
    ['an ambiguous length', GET, `${withField(CHUNKED, 'Content-Length: 5000')}0\r\n\r\n`],
    ['a head that is too long', GET, withField(KNOWN, `X: ${'x'.repeat(RESPONSE_HEAD_MAX_BYTES)}`)],
    ['a malformed head', GET, `HTTP/1.1 200 OK\nContent-Type: text/html\n\n${TEXT}`],
    ['a response without a request', '', KNOWN],
    ['a response to a malformed request', 'GET / HTTP/1.1\nHost: x\n\n', KNOWN],
    ['a response that varies already', DEFLATE, withField(KNOWN, 'Vary: *')],
    ['a response for a visitor that accepts no coding, but for Vary,', DEFLATE, KNOWN, varying(KNOWN)],
    [
      'a response to HEAD, but for Vary, and the next one',
      GET.replace('GET', 'HEAD') + GET,
      `${HEAD}Content-Length: 5000\r\nETag: "x"\r\n\r\n${PLAIN}`,
      varying(`${HEAD}Content-Length: 5000\r\nETag: "x"\r\n\r\n`) + PLAIN,
    ],
  ] as const)
    it(`passes ${name} unchanged, in any pieces`, () => {
      for (const size of [1, 5, 50, 100_000]) {
        const { stream, respond, seen } = setUp();
        stream.receive(request);
        for (const piece of piecesOf(response, size)) respond(piece);
        assert.equal(stream.sent, passed);
        assert.equal(seen.received, request);
      }
    });

  it('only adds Vary while as many as allowed are being compressed', async () => {
    const first = setUp({ max: 1 });
    first.stream.receive(GET);
    first.respond(CHUNKED);
    const second = setUp({ slots: first.slots });
    second.stream.receive(GET);
    second.respond(KNOWN);
    assert.match(second.stream.sent, /Content-Length: 4800\r\nVary: Accept-Encoding\r\n\r\nSome text/);
    first.respond('0\r\n\r\n');
    await first.completed();
    second.stream.receive(GET);
    second.stream.sent = '';
    second.respond(KNOWN);
    await second.completed();
    assert.equal(read(second.stream.sent).body, TEXT);
  });

  it('passes informational responses before it', async () => {
    const { stream, respond, completed } = setUp();
    stream.receive(GET);
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n';
    respond(early);
    assert.equal(stream.sent, early);
    respond(`HTTP/1.1 100 Continue\r\n\r\n${KNOWN}`);
    await completed();
    assert.ok(stream.sent.startsWith(`${early}HTTP/1.1 100 Continue\r\n\r\n${HEAD}Vary`));
  });

  it('passes everything after an upgrade, both ways, and compresses after a refused one', async () => {
    const { stream, respond, seen, completed } = setUp();
    stream.receive(UPGRADE);
    respond('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
    stream.receive(GET);
    stream.sent = '';
    respond(KNOWN);
    await completed();
    assert.equal(read(stream.sent).body, TEXT);
    const agreed = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n';
    seen.received = '';
    stream.sent = '';
    stream.receive(`${UPGRADE}early`);
    respond(`${agreed}frame`);
    stream.receive(GET);
    respond(KNOWN);
    assert.equal(seen.received, `${UPGRADE}early${GET}`);
    assert.equal(stream.sent, `${agreed}frame${KNOWN}`);
  });

  it('passes on the responses of requests that are sent too early, in order', async () => {
    const { stream, respond, seen } = setUp();
    stream.receive(GET + GET);
    assert.equal(respond(KNOWN + KNOWN), false);
    await stream.until(({ sent }) => sent.endsWith(KNOWN));
    assert.equal(seen.received, GET + GET);
    const { body, rest } = read(stream.sent);
    assert.deepEqual([body, rest], [TEXT, KNOWN]);
    assert.equal(seen.drains, 1);
  });

  it('compresses a response that is complete before its request', async () => {
    const { stream, respond, completed, seen } = setUp();
    stream.receive(`${POST}he`);
    respond(KNOWN);
    await completed();
    stream.receive(`llo${GET}`);
    stream.sent = '';
    respond(KNOWN);
    await completed();
    assert.equal(read(stream.sent).body, TEXT);
    assert.equal(seen.received, `${POST}hello${GET}`);
  });

  it('keeps trailers except digests of the uncompressed content', async () => {
    const { stream } = answered(
      `${CHUNKED}3\r\nabc\r\n0\r\nServer-Timing: a\r\nContent-Digest: sha-256=:a:\r\nX: 1\r\n\r\n`,
    );
    await stream.until(({ sent }) => sent.endsWith('\r\n0\r\nServer-Timing: a\r\nX: 1\r\n\r\n'));
    assert.equal(read(stream.sent).body, 'abc');
  });

  for (const [what, response, code] of [
    ['ends with the connection', `${HEAD}\r\n${TEXT}`, 1000],
    ['ends with the connection of HTTP/1.0', `${HEAD.replace('HTTP/1.1', 'HTTP/1.0')}\r\n${TEXT}`, 1000],
    ['is complete', KNOWN, 1000],
    ['is complete, with the code of the handler', KNOWN, 1011],
  ] as const)
    it(`closes after a response that ${what}`, async () => {
      const { stream, filter } = answered(response);
      filter.close(code);
      assert.equal(stream.ended, undefined);
      await stream.until(({ ended }) => ended !== undefined);
      const { head, body, isComplete } = read(stream.sent);
      assert.deepEqual([body, isComplete, stream.ended], [TEXT, true, code]);
      assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
      assert.equal(head.includes('\r\nConnection: close\r\n'), response !== KNOWN);
    });

  describe('with a response that pauses', () => {
    it('sends what has arrived after 10 ms', async () => {
      for (const coding of ['br', 'zstd', 'gzip'] as const) {
        if (!hasCoding(coding)) continue;
        const { clock, stream, respond } = answered(CHUNKED, GET.replace('gzip', coding));
        assert.deepEqual(clock.waiting, []);
        for (const part of ['one', 'two', 'three']) {
          const before = stream.sent.length;
          respond(`${part.length}\r\n${part}\r\n`);
          assert.deepEqual(clock.waiting, [COMPRESSION_FLUSH_MS]);
          clock.advance(COMPRESSION_FLUSH_MS);
          await stream.until(({ sent }) => sent.length > before && read(sent, coding).body.endsWith(part));
          assert.deepEqual(clock.waiting, []);
        }
        assert.equal(read(stream.sent, coding).body, 'onetwothree');
      }
    });

    it('does not wait longer because more arrives', async () => {
      const { clock, stream, respond } = answered(CHUNKED);
      for (let ms = 0; ms < COMPRESSION_FLUSH_MS; ms++) {
        respond('1\r\nx\r\n');
        clock.advance(1);
      }
      await stream.until(({ sent }) => read(sent).body === 'x'.repeat(COMPRESSION_FLUSH_MS));
    });
  });

  describe('with a visitor that reads nothing', () => {
    it('stops reading from the service, and continues when the visitor reads again', async () => {
      const { stream, respond, seen } = setUp();
      const piece = randomBytes(24 * 1024).toString('base64');
      const count = 40;
      stream.receive(GET);
      respond(`${HEAD}Content-Length: ${piece.length * count}\r\n\r\n`);
      stream.room = false;
      let isStuck = false;
      for (let written = 0; written < count; written++) {
        if (respond(piece)) continue;
        await compressorsIdle();
        if (seen.drains > 0) {
          seen.drains = 0;
          continue;
        }
        // Nothing is taken until the visitor reads, and then only so much.
        assert.ok(isStuck || written < 10, `${written} pieces of ${piece.length} bytes`);
        isStuck = true;
        while (seen.drains === 0) {
          const { length } = stream.sent;
          stream.drain();
          stream.room = false;
          await compressorsIdle();
          assert.ok(stream.sent.length - length < 200_000, `${stream.sent.length - length} bytes`);
        }
        seen.drains = 0;
      }
      assert.ok(isStuck);
      stream.drain();
      await stream.until(({ sent }) => sent.endsWith('\r\n0\r\n\r\n'));
      assert.equal(read(stream.sent).body, piece.repeat(count));
    });

    it('tells the handler of room for a response that is not compressed', () => {
      const { stream, respond, seen } = setUp();
      stream.receive(GET);
      stream.room = false;
      assert.equal(respond(PLAIN), false);
      stream.drain();
      assert.equal(seen.drains, 1);
    });

    it('still breaks off within 500 ms', async () => {
      const { clock, stream, respond, filter } = answered(CHUNKED);
      stream.room = false;
      const noise = randomBytes(200_000).toString('base64');
      respond(`${noise.length.toString(16)}\r\n${noise}`);
      filter.close(1000);
      clock.advance(COMPRESSION_BREAK_MS);
      assert.equal(stream.ended, 1011);
      assert.deepEqual(clock.waiting, []);
    });
  });

  describe('with a response that breaks off', () => {
    for (const [name, response, code] of [
      ['ends before its length', KNOWN.slice(0, -5), 1000],
      ['ends between two chunks', `${CHUNKED}3\r\nabc\r\n`, 1000],
      ['ends within its trailers', `${CHUNKED}3\r\nabc\r\n0\r\nX: 1\r\n`, 1000],
      ['is reset', `${HEAD}\r\n${TEXT}`, 1011],
    ] as const)
      it(`sends what it has, without an end, if it ${name}`, async () => {
        const { clock, stream, filter, slots } = answered(response, GET, { max: 1 });
        filter.close(code);
        await stream.until(({ ended }) => ended !== undefined);
        assert.equal(stream.ended, 1011);
        const { body, isComplete } = read(stream.sent);
        assert.equal(isComplete, false);
        assert.ok(body.length > 0 && (TEXT.startsWith(body) || body === 'abc'));
        assert.deepEqual(clock.waiting, []);
        assert.ok(slots.take());
      });

    it('cuts both sides if its chunks are malformed', () => {
      const { stream, respond, seen, slots } = answered(`${CHUNKED}3\r\nabcdef\r\n`, GET, { max: 1 });
      assert.equal(stream.ended, 'cut');
      assert.equal(seen.closed, 1006);
      assert.ok(slots.take());
      assert.equal(respond('more'), true);
    });

    it('passes on a part of a head', () => {
      const { stream, filter } = answered('HTTP/1.1 200 OK\r\nContent-');
      filter.close(1000);
      assert.deepEqual([stream.sent, stream.ended], ['HTTP/1.1 200 OK\r\nContent-', 1000]);
    });
  });

  it('stops when the visitor leaves, whatever the service still sends', () => {
    for (const code of [1000, 1006, 'cut'] as const) {
      const { clock, stream, respond, slots, filter } = answered(`${CHUNKED}3\r\nabc\r\n`, GET, { max: 1 });
      if (code === 'cut') filter.destroy();
      else stream.closeByRelay(code);
      respond('3\r\nabc\r\n');
      filter.close(1000);
      assert.ok(slots.take());
      assert.deepEqual(clock.waiting, []);
    }
  });

  it('sends the tag of the service back to it, and the weak one with a 304', async () => {
    const { stream, respond, completed, seen } = answered(withField(KNOWN, 'ETag: "v1"'));
    await completed();
    assert.match(read(stream.sent).head, /\r\nETag: W\/"v1"\r\n/);
    seen.received = '';
    stream.sent = '';
    stream.receive(withField(GET, 'If-None-Match: W/"v1"'));
    assert.equal(seen.received, withField(GET, 'If-None-Match: "v1"'));
    respond('HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n');
    assert.equal(stream.sent, 'HTTP/1.1 304 Not Modified\r\nETag: W/"v1"\r\nVary: Accept-Encoding\r\n\r\n');
  });

  it('lets a recorder see the response as the service sent it', async () => {
    const stream = new FakeStream();
    const filter = new CompressedStream(stream, { clock: new FakeClock(), tags: new WeakenedTags() });
    let seen = '';
    const recorded = new RecordedStream(filter, {
      open: () => ({
        connected() {},
        rehearsed() {},
        toLocal() {},
        toVisitor: (bytes) => void (seen += bytes.toString('latin1')),
        end() {},
      }),
    });
    recorded.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose() {} });
    stream.receive(GET);
    recorded.write(Buffer.from(KNOWN));
    await stream.until(({ sent }) => sent.endsWith('\r\n0\r\n\r\n'));
    assert.equal(seen, KNOWN);
    assert.equal(read(stream.sent).body, TEXT);
  });
});

describe('nearnessOf', () => {
  for (const [nearness, hosts] of [
    ['loopback', '127.0.0.1 127.9.9.9 ::1 ::ffff:127.0.0.1 localhost a.localhost'],
    [
      'private',
      '10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.0.1 ::ffff:10.0.0.1 fd00::1 fe80::1 fe80::1%eth0',
    ],
    [
      'public',
      '203.0.113.7 172.32.0.1 11.0.0.1 100.64.0.1 2001:db8::1 ::ffff:203.0.113.7 relay.example.com 10.example.com',
    ],
  ] as const)
    for (const host of hosts.split(' '))
      it(`is ${nearness} for ${host}`, () => assert.equal(nearnessOf(host), nearness));
});

const results = (mode: 'auto' | 'on' | 'off') =>
  (['loopback', 'private', 'public'] as const).map((relay) => isCompressionOn(mode, relay));

describe('isCompressionOn', () => {
  it('depends on the mode, and with auto on the location of the relay', () => {
    assert.deepEqual(results('auto'), [false, false, true]);
    assert.deepEqual(results('on'), [true, true, true]);
    assert.deepEqual(results('off'), [false, false, false]);
  });
});

describe('Compression', () => {
  it('with auto, depends on the address at which the relay was reached', () => {
    const compression = new Compression('auto', 'relay.example.com', new FakeClock());
    const isOn = (): boolean => compression.around(new FakeStream()) !== undefined;
    const seen = [isOn()];
    for (const address of ['10.0.0.1', '203.0.113.7', '::1']) {
      compression.reached(address);
      seen.push(isOn());
    }
    assert.deepEqual(seen, [true, false, true, false]);
  });
});
