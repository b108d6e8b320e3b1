/**
 * A program that counts the steps of parsing heads, framing bodies and handling trunk frames for growing input, and
 * prints them as JSON. It counts what code does instead of how long it takes, so that a busy machine changes nothing:
 * how often each block of our own code runs (V8's precise coverage), and how many bytes, characters or elements pass
 * through the built-in functions it calls. Code that is compiled before the counter starts is counted by function only.
 */
import { Session } from 'node:inspector';
import type { Visitor as Entering } from '../../server/edge/visitor.ts';

/** How many times longer the second input is. */
const GROWTH = 4;

/** The steps for an input, and for one that is {@link GROWTH} times as long. */
interface Measured {
  readonly name: string;
  /** bytes of a piece of the input */
  readonly piece?: number;
  readonly steps: readonly number[];
}

export interface Report {
  readonly heads: readonly Measured[];
  readonly frames: readonly Measured[];
}

/** The parts of a coverage report that are read. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

/** Matches the code that is counted. */
const OURS = /\/(?:shared|server|desktop)\/(?!testing\/)/;

type Weigh = (self: unknown, args: readonly unknown[], result: unknown) => number;

const lengthOf = (value: unknown): number => (value as { length?: number } | undefined)?.length ?? 0;
const bySelf: Weigh = (self) => lengthOf(self);
const byResult: Weigh = (_self, _args, result) => lengthOf(result);
const byNumber: Weigh = (_self, _args, result) => Number(result);
const byArgument: Weigh = (_self, [argument]) => lengthOf(argument);
/** The text examined for a match: up to its end, or all of it. */
const byMatch: Weigh = (_self, [input, from], result) => {
  const match = result as RegExpExecArray | null | boolean;
  const end = match !== null && typeof match === 'object' ? match.index + match[0].length : lengthOf(input);
  return end - Number(from);
};
const bySearch: Weigh = (self, [, from], result) => {
  const start = typeof from === 'number' ? from : 0;
  return (result === -1 ? lengthOf(self) : Number(result)) - start;
};
const byBytes: Weigh = (_self, [source], result) => (source instanceof ArrayBuffer ? 0 : lengthOf(result));

const WEIGHED: readonly [object, Readonly<Record<string, Weigh>>][] = [
  [Buffer, { concat: byResult, from: byBytes }],
  [
    Buffer.prototype,
    { copy: byNumber, indexOf: bySearch, toString: byResult, write: byNumber, latin1Slice: byResult },
  ],
  [Array.prototype, { includes: bySelf, indexOf: bySelf, join: byResult, concat: byResult, slice: byResult }],
  [
    String.prototype,
    {
      includes: bySelf,
      indexOf: bySearch,
      split: bySelf,
      toLowerCase: bySelf,
      trim: bySelf,
      replace: bySelf,
      replaceAll: bySelf,
      startsWith: byArgument,
      endsWith: byArgument,
    },
  ],
  [RegExp.prototype, { exec: byMatch, test: byMatch }],
  [Set.prototype, { has: byArgument, add: byArgument }],
  [Map.prototype, { has: byArgument, get: byArgument, set: byArgument }],
];

class StepCounter {
  readonly #session = new Session();
  #native = 0;

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    for (const [owner, functions] of WEIGHED)
      for (const [name, weigh] of Object.entries(functions)) this.#replace(owner, name, weigh);
  }

  /** The steps of one run. */
  count(run: () => void): number {
    this.#native = 0;
    run();
    const native = this.#native;
    return native + this.#blocks();
  }

  #replace(owner: object, name: string, weigh: Weigh): void {
    const original = Reflect.get(owner, name) as (...args: unknown[]) => unknown;
    const add = (steps: number): void => {
      this.#native += Math.max(1, steps);
    };
    const counted = function (this: unknown, ...args: unknown[]): unknown {
      const from = this instanceof RegExp && this.global ? this.lastIndex : 0;
      const result = original.apply(this, args);
      add(weigh(this, this instanceof RegExp ? [args[0], from] : args, result));
      return result;
    };
    Reflect.set(owner, name, Object.assign(counted, original));
  }

  /** How often blocks have run since the last call. */
  #blocks(): number {
    let blocks = 0;
    this.#session.post('Profiler.takePreciseCoverage', (error, report) => {
      if (error !== null) throw error;
      for (const { url, functions } of (report as Coverage).result) {
        if (!OURS.test(url)) continue;
        for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
      }
    });
    return blocks;
  }
}

const counter = new StepCounter();
const { ResponseRelay } = await import('../../server/edge/response.ts');
const { PLAIN_ENDING } = await import('../../server/edge/response-head.ts');
const { parseRequest } = await import('../../server/edge/route.ts');
const { relayRequestHead, tunnelRequestHead } = await import('../../server/edge/request-head.ts');
const { belowPrefix, ownCookies } = await import('../../server/edge/path-form.ts');
const { AddressCount, ConnectionLimiter, ConnectionSlots, Slot } =
  await import('../../server/edge/connection-limiter.ts');
const { Visitor } = await import('../../server/edge/visitor.ts');
const { SocketConnection } = await import('../../server/edge/visitor-connection.ts');
const { prefersHtml } = await import('../../shared/http1/fields.ts');
const { HeadReader, parseRequestHead } = await import('../../shared/http1/head.ts');
const { trackBody } = await import('../../shared/http1/body.ts');
const { MessageTracker } = await import('../../desktop/client/inspector/recording.ts');
const { LocalExchange } = await import('../../desktop/client/local/local-reuse.ts');
const { EdgeFixture, FakeSocket } = await import('../../server/testing/edge-fixture.ts');
const { FakeScheduler } = await import('../../shared/testing/fake-turns.ts');
const { abort, data, end, open, TrunkEnd, window } = await import('../../shared/testing/trunk-world.ts');

/* Heads and bodies. */

/** Consumes bytes as they arrive. */
type Take = (bytes: Buffer) => void;

const { context } = new EdgeFixture().upstreams;
const UNLIMITED = 1024 * 1024;

/** As many units as fit. */
const fill = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / unit.length));
/** As many different lines as fit. */
function lines(line: (index: number) => string, bytes: number): string {
  let all = '';
  for (let index = 0; all.length < bytes; index++) all += `${line(index)}\r\n`;
  return all;
}

const HEADS: Readonly<Record<string, (bytes: number) => string>> = {
  'one long field': (bytes) => `X: ${'x'.repeat(bytes)}\r\n`,
  'many short fields': (bytes) => lines((index) => `x${index}:`, bytes),
  'fields that Connection names': (bytes) =>
    lines((index) => `x${index}: y`, bytes / 2) +
    lines((index) => `Connection: z${index}, x${index}`, bytes / 2),
  'one Connection of many members, beside many fields': (bytes) =>
    `${lines((index) => `x${index}: y`, bytes / 2)}Connection: ${fill('abc,', bytes / 2)}\r\n`,
  'fields that say where a request came from': (bytes) =>
    lines((index) => `X_Forwarded_${index}-For: 1`, bytes),
  'lists of forwarded addresses': (bytes) => lines((index) => `X-Forwarded-For: 10.0.0.${index}`, bytes),
  'steering fields': (bytes) => lines((index) => `X-Accel-${index}: y`, bytes),
  'white space': (bytes) => `X:${' '.repeat(bytes)}y\r\nY:${fill(' \t', bytes)}\r\n`,
  'commas and white space': (bytes) =>
    ['Connection', 'Upgrade', 'Transfer-Encoding', 'Accept', 'X-Forwarded-For']
      .map((name) => `${name}: ${fill(', ', bytes / 5)}x\r\n`)
      .join(''),
  cookies: (bytes) => lines((index) => `Set-Cookie: a=${index}; Path=/; Domain=x;;;  ; Path`, bytes),
  'one long cookie': (bytes) => `Set-Cookie: a=b${fill('; Path=/x ; =', bytes)}\r\n`,
  'a long address': (bytes) => `Location: /${fill('a/', bytes)}\r\n`,
};

const BODIES: Readonly<Record<string, (bytes: number) => string>> = {
  'chunks of one byte': (bytes) => `${fill('1\r\nx\r\n', bytes)}0\r\n\r\n`,
  'chunks with extensions': (bytes) => `${fill('1;a="b\\"c";d ; e = f\r\nx\r\n', bytes)}0\r\n\r\n`,
  'long chunk-size lines': (bytes) => `${`1${fill(';a', bytes / 4)}\r\nx\r\n`.repeat(4)}0\r\n\r\n`,
  trailers: (bytes) => `0\r\n${lines((index) => `x${index}: y`, bytes)}\r\n`,
  'one long trailer': (bytes) => `0\r\nx: ${'y'.repeat(bytes)}\r\n\r\n`,
};

/** Forwards a response to a visitor. */
function relay(minor: 0 | 1 = 1, mapped = false): Take {
  const mapField = mapped
    ? belowPrefix({
        prefix: '/t/abc',
        isBare: false,
        target: '/',
        onCookieLeftOut() {},
        ownHosts: ['localhost'],
      })
    : ownCookies;
  const base = {
    method: 'GET',
    interims: 'all',
    upgrade: false,
    close: false,
    owner: { staysOpen() {} },
    heldBack: undefined,
  } as const;
  const response = new ResponseRelay(
    { ...base, minor, rules: { ending: PLAIN_ENDING, mapField } },
    { send() {}, isFull: false, statusMax: Infinity, messages: undefined, begin() {} },
  );
  return (piece) => void response.push(piece);
}

function planner(): Take {
  const reader = new HeadReader(UNLIMITED);
  return (piece) => {
    const read = reader.push(piece);
    if (typeof read !== 'object') return;
    parseRequest(read.head, context);
    // With any number of fields: the limit of a request would hide how the work grows.
    const head = parseRequestHead(read.head, { target: UNLIMITED, fields: UNLIMITED });
    if (typeof head === 'string') throw new Error(head);
    const peer = { address: '203.0.113.9', proto: 'http', trusted: true } as const;
    tunnelRequestHead(head, peer, {
      target: '/',
      prefix: '',
      upgrade: false,
      hidesAuthorization: false,
      visitor: undefined,
    });
    relayRequestHead(head, '/', peer.address, peer.address);
    for (const field of head.fields) prefersHtml(field.value);
  };
}

function visitor(): Take {
  const fixture = new EdgeFixture();
  const peer = { address: '203.0.113.9', proto: 'http', trusted: false } as const;
  const place = new ConnectionSlots({ visitors: 1, newcomers: 1 });
  const enter = (entering: Entering) =>
    new ConnectionLimiter(new Slot(place, entering), new AddressCount(fixture.addresses, peer, entering));
  const socket = new FakeSocket(UNLIMITED);
  void new Visitor(new SocketConnection(socket as never), peer, fixture.upstreams, { enter, gone() {} });
  return (piece) => void socket.emit('data', piece);
}

function tracker(expecting: 'request' | 'response'): Take {
  const made = new MessageTracker();
  return (piece) => void made.advance(piece, 0, expecting);
}

function localExchange(): Take {
  const exchange = LocalExchange.of(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
  return (piece) => exchange?.follow(piece);
}

const requestOf = (fields: string): string => `GET / HTTP/1.1\r\nHost: abc.localhost\r\n${fields}\r\n`;
const responseOf = (fields: string): string => `HTTP/1.1 204 x\r\n${fields}\r\n`;
const chunkedOf = (body: string): string => `HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;

const heads: Measured[] = [];

/** Measures for two sizes, byte by byte and in one piece. */
function measure(name: string, smallest: number, text: (bytes: number) => string, make: () => Take): void {
  for (const piece of [1, UNLIMITED]) {
    const steps = [1, GROWTH].map((times) => {
      const bytes = Buffer.from(text(smallest * times), 'latin1');
      const take = make();
      return counter.count(() => {
        for (let at = 0; at < bytes.length; at += piece) take(bytes.subarray(at, at + piece));
      });
    });
    heads.push({ name, piece, steps });
  }
}

for (const [name, head] of Object.entries(HEADS)) {
  const interims = (bytes: number): string => `HTTP/1.1 103 x\n${head(200)}\n`.repeat(bytes / 225);
  const request = (bytes: number): string => requestOf(head(bytes));
  const response = (bytes: number): string => responseOf(head(bytes));
  measure(`request, ${name}`, 900, request, planner);
  measure(`response, ${name}`, 900, response, relay);
  measure(`response below a prefix, ${name}`, 900, response, () => relay(1, true));
  measure(`interim responses, ${name}`, 900, interims, relay);
  measure(`recorded request, ${name}`, 900, request, () => tracker('request'));
  measure(`recorded response, ${name}`, 900, response, () => tracker('response'));
  measure(`local response, ${name}`, 900, response, localExchange);
}
for (const [name, body] of Object.entries(BODIES)) {
  const chunked = (bytes: number): string => chunkedOf(body(bytes));
  measure(`body, ${name}`, 1000, body, () => {
    const tracked = trackBody({ kind: 'chunked' });
    return (piece) => void tracked.advance(piece, 0);
  });
  measure(`response, ${name}`, 1000, chunked, relay);
  measure(`response without its chunks, ${name}`, 1000, chunked, () => relay(0));
  measure(`recorded response, ${name}`, 1000, chunked, () => tracker('response'));
}
// The first request is in progress, and the following ones wait.
measure('requests that wait', 4000, (bytes) => requestOf('') + fill(requestOf(''), bytes), visitor);
const uploading = (bytes: number): string => requestOf('Content-Length: 99999\r\n') + fill('x', bytes);
measure('a body that waits', 15_000, uploading, visitor);

/* Frames of a trunk that arrive together. */

/** Frames in a message. Four times as many fill a read of 64 KiB. */
const FRAMES = 1500;
/** Streams that are ready to send. Four times as many are nearly as many as a trunk can have. */
const STREAMS = 900;

const frames = (count: number, frame: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => frame(index)));

interface Flood {
  /** streams that are opened first; as many as frames by default */
  readonly streams?: number;
  readonly count: number;
  readonly frame: (index: number) => Buffer;
  readonly isPaused?: boolean;
}

const FLOODS: Readonly<Record<string, Flood>> = {
  'a byte a frame': { streams: 1, count: FRAMES, frame: () => data(1, 1) },
  'a byte a frame, of streams in turn': {
    streams: 2,
    count: FRAMES,
    frame: (index) => data(1 + (index % 2), 1),
  },
  'nine bytes a frame': { streams: 1, count: FRAMES, frame: () => data(1, 9) },
  'a byte a frame of a stream that is paused': {
    streams: 1,
    count: FRAMES,
    frame: () => data(1, 1),
    isPaused: true,
  },
  'ends of all streams': { count: STREAMS, frame: (index) => end(index + 1) },
  'breaks of all streams': { count: STREAMS, frame: (index) => abort(index + 1) },
  'streams that begin': { streams: 0, count: STREAMS, frame: (index) => open(index + 1) },
  'streams that begin and end': {
    streams: 0,
    count: STREAMS,
    frame: (index) => Buffer.concat([open(index + 1), data(index + 1, 1), end(index + 1)]),
  },
};

/** Steps for this many frames in one message, and for what is sent as a result. */
function stepsOf({ streams, count, frame, isPaused = false }: Flood, times: number): number {
  const turns = new FakeScheduler();
  const near = new TrunkEnd(turns, 'peer');
  const opened = streams ?? count * times;
  near.hear(frames(opened, (index) => Buffer.concat([open(index + 1), data(index + 1, '?')])));
  if (isPaused) for (const { stream } of near.begun) stream.pause();
  near.sent();
  const bytes = frames(count * times, frame);
  const steps = counter.count(() => {
    near.socket.receive(bytes);
    near.sent();
  });
  turns.reset();
  return steps;
}

/** Windows of one byte for uploads, each of which releases one byte. */
function windowSteps(times: number): number {
  const turns = new FakeScheduler();
  const near = new TrunkEnd(turns, 'this');
  const { stream } = near.open();
  stream.write(Buffer.alloc(128 * 1024));
  near.sent();
  const bytes = frames(FRAMES * times, () => window(1, 1));
  const steps = counter.count(() => {
    near.socket.receive(bytes);
    near.sent();
  });
  turns.reset();
  return steps;
}

const floods: Measured[] = Object.entries(FLOODS).map(([name, flood]) => ({
  name,
  steps: [stepsOf(flood, 1), stepsOf(flood, GROWTH)],
}));
floods.push({ name: 'windows of a byte', steps: [windowSteps(1), windowSteps(GROWTH)] });

console.log(JSON.stringify({ heads, frames: floods } satisfies Report));
