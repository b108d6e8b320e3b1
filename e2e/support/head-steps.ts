/**
 * A program that counts the steps of parsing heads and of framing bodies, for growing input, and prints them as JSON.
 */
import type { Visitor as Entering } from '../../server/edge/visitor.ts';
import { StepCounter } from './step-counter.ts';

/** The steps for one kind of input, split into pieces of a given size. */
export interface Measured {
  readonly name: string;
  /** bytes of a piece */
  readonly piece: number;
  /** steps for an input, and for one that is {@link GROWTH} times as long */
  readonly steps: readonly number[];
}

/** How many times longer the second input is. */
const GROWTH = 4;

/** Consumes bytes as they arrive. */
type Take = (bytes: Buffer) => void;

const counter = new StepCounter();
const { ResponseRelay } = await import('../../server/edge/response.ts');
const { PLAIN_ENDING } = await import('../../server/edge/response.ts');
const { parseRequest } = await import('../../server/edge/route.ts');
const { tunnelRequestHead, relayRequestHead } = await import('../../server/edge/request-head.ts');
const { belowPrefix } = await import('../../server/edge/path-form.ts');
const { Slot, ConnectionSlots } = await import('../../server/edge/connection-limiter.ts');
const { AddressCount } = await import('../../server/edge/connection-limiter.ts');
const { ConnectionLimiter } = await import('../../server/edge/connection-limiter.ts');
const { ownCookies } = await import('../../server/edge/path-form.ts');
const { Visitor } = await import('../../server/edge/visitor.ts');
const { prefersHtml } = await import('../../shared/http1/fields.ts');
const { HeadReader } = await import('../../shared/http1/head.ts');
const { parseRequestHead } = await import('../../shared/http1/head.ts');
const { trackBody } = await import('../../shared/http1/body.ts');
const { MessageTracker } = await import('../../desktop/client/inspector/recording.ts');
const { LocalExchange } = await import('../../desktop/client/local/local-reuse.ts');
const { EdgeFixture } = await import('../../server/testing/edge-fixture.ts');
const { FakeSocket } = await import('../../server/testing/edge-fixture.ts');

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
function relay(minor: 0 | 1, mapped = false): Take {
  const mapField = mapped
    ? belowPrefix({ prefix: '/t/abc', isBare: false, target: '/', ownHosts: ['localhost'] })
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
    { send() {}, isFull: false },
  );
  return (piece) => void response.push(piece);
}

function planner(): Take {
  const reader = new HeadReader(UNLIMITED);
  return (piece) => {
    const end = reader.push(piece);
    if (typeof end !== 'object') return;
    parseRequest(end.head, context);
    // With any number of fields: the limit of a request would hide how the work grows.
    const head = parseRequestHead(end.head, { target: UNLIMITED, fields: UNLIMITED });
    if (typeof head === 'string') throw new Error(head);
    const peer = { address: '203.0.113.9', proto: 'http', trusted: true } as const;
    tunnelRequestHead(head, peer, {
      target: '/',
      prefix: '',
      upgrade: false,
      hidesAuthorization: false,
      visitor: undefined,
    });
    relayRequestHead(head, '/', peer.address);
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
  void new Visitor(socket as never, peer, fixture.upstreams, { enter, gone() {} });
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

const measured: Measured[] = [];

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
    measured.push({ name, piece, steps });
  }
}

for (const [name, head] of Object.entries(HEADS)) {
  measure(`request, ${name}`, 900, (bytes) => requestOf(head(bytes)), planner);
  measure(
    `response, ${name}`,
    900,
    (bytes) => responseOf(head(bytes)),
    () => relay(1),
  );
  measure(
    `response below a prefix, ${name}`,
    900,
    (bytes) => responseOf(head(bytes)),
    () => relay(1, true),
  );
  const interims = (bytes: number): string =>
    `HTTP/1.1 103 x
${head(200)}
`.repeat(bytes / 225);
  measure(`interim responses, ${name}`, 900, interims, () => relay(1));
  measure(
    `recorded request, ${name}`,
    900,
    (bytes) => requestOf(head(bytes)),
    () => tracker('request'),
  );
  measure(
    `recorded response, ${name}`,
    900,
    (bytes) => responseOf(head(bytes)),
    () => tracker('response'),
  );
  measure(`local response, ${name}`, 900, (bytes) => responseOf(head(bytes)), localExchange);
}
for (const [name, body] of Object.entries(BODIES)) {
  measure(`body, ${name}`, 1000, body, () => {
    const tracked = trackBody({ kind: 'chunked' });
    return (piece) => void tracked.advance(piece, 0);
  });
  measure(
    `response, ${name}`,
    1000,
    (bytes) => chunkedOf(body(bytes)),
    () => relay(1),
  );
  measure(
    `response without its chunks, ${name}`,
    1000,
    (bytes) => chunkedOf(body(bytes)),
    () => relay(0),
  );
  measure(
    `recorded response, ${name}`,
    1000,
    (bytes) => chunkedOf(body(bytes)),
    () => tracker('response'),
  );
}
// The first request is in progress, and the following ones wait.
measure('requests that wait', 4000, (bytes) => requestOf('') + fill(requestOf(''), bytes), visitor);
measure(
  'a body that waits',
  15_000,
  (bytes) => requestOf('Content-Length: 99999\r\n') + fill('x', bytes),
  visitor,
);

console.log(JSON.stringify(measured));
