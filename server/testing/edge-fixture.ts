/** The edge in tests: one tunnel, an API that answers immediately, and visitors on loopback sockets. */
import { once } from 'node:events';
import { BlockList, connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { InProcessApi } from '../api/scheduler.ts';
import type { Upgrades } from '../clients/upgrades.ts';
import { AddressLimits } from '../edge/connection-limiter.ts';
import { type EdgeContext, HostResolver } from '../edge/route.ts';
import { Upstreams } from '../edge/upstreams.ts';
import type { AllowedVisitor, Standing } from '../edge/visitor-access.ts';
import type { ConnectionOwner } from '../edge/visitor-connection.ts';
import type { AccessEntry } from '../observe/logger.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream, DialHandler, StreamHandler } from '../tunnels/stream.ts';
import { FakeClock } from './fake-clock.ts';

/** The other end of a visitor's stream. */
export class FakeStream implements ByteStream {
  handler: StreamHandler | undefined;
  received = '';
  /** Whether it accepts more bytes. */
  hasRoom = true;
  ended: 'finish' | 'abort' | undefined;
  isPaused = false;

  attach(handler: StreamHandler): void {
    this.handler = handler;
  }

  write(chunk: Buffer): boolean {
    this.received += chunk.toString('latin1');
    return this.hasRoom;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  /** Whether it was told that no bytes follow. */
  hasEnd = false;

  end(): void {
    this.hasEnd = true;
  }

  finish(): void {
    this.ended = 'finish';
  }

  abort(): void {
    this.ended = 'abort';
  }

  /** Sends the visitor something. */
  answer(text: string): void {
    this.handler?.onBytes(Buffer.from(text, 'latin1'));
  }
}

const nothing = () => Promise.resolve(undefined);
/** The tunnels of a relay that knows all of them, so that none has to be looked up. */
export const ALONE = {
  isAlone: true,
  isUnknown: () => true,
  find: nothing,
  findByLabel: nothing,
  findByDomain: nothing,
  findResting: nothing,
};

/** Where an edge looks for tunnels, with one at the slug `abc` and no domains. */
export function onlyTunnel(tunnel: LiveTunnel): Pick<EdgeContext, 'registry' | 'coordination' | 'verified'> {
  const find = (slug: string): LiveTunnel | undefined => (slug === 'abc' ? tunnel : undefined);
  return {
    registry: { bySlug: find, byDomain: () => undefined },
    coordination: { ...ALONE, byLabel: find },
    verified: { domainsOf: () => [], ownerOf: () => undefined },
  };
}

/** A scheduler that starts everything immediately. */
function beginSoon(_group: string, begin: () => void): () => void {
  const turn = setImmediate(begin);
  return () => clearImmediate(turn);
}

/** An edge with a tunnel `abc` below `localhost`, whose streams the test opens. */
export class EdgeFixture {
  /** monotonic ms */
  now = 0;
  /** ms that pass with each call of the clock */
  step = 0;
  /** connections that wait for a stream, oldest first */
  readonly dials: DialHandler[] = [];
  /** number of those that were cancelled */
  cancelled = 0;
  /** connections that were given to the WebSocket endpoints */
  readonly given: Socket[] = [];
  /** the lines of the access log */
  readonly accesses: AccessEntry[] = [];
  /** what owners were told */
  readonly problems: string[] = [];
  readonly upstreams: Upstreams;
  /** `abc`; one with `access` requires access */
  readonly tunnel: LiveTunnel;
  /** the result of the access check, for new visitors to that tunnel and for those with access */
  entry: AllowedVisitor | undefined;
  standing: Standing = 'allowed';
  /** limits for addresses: none */
  readonly addresses = new AddressLimits(
    { connections: 0, requests: 0, streams: 10 },
    new BlockList(),
    new FakeClock(),
  );

  /** what the WebSocket endpoints do with a connection */
  upgrade: Upgrades['upgrade'] = (request) => {
    const taken = request.takeOver();
    if (taken !== undefined) this.given.push(taken.socket as Socket);
    taken?.socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    return Promise.resolve();
  };

  constructor() {
    const tunnel = (this.tunnel = {
      terms: { wildcard: false },
      slug: 'abc',
      account: { id: 'one', subdomain: null },
      isSuspended: false,
      countRequest() {},
    } as unknown as LiveTunnel);
    this.upstreams = new Upstreams({
      context: {
        hosts: new HostResolver({ own: 'localhost', tunnel: 'localhost', service: 'localhost' }),
        ...onlyTunnel(tunnel),
        pathForm: true,
        trustedProxies: new BlockList(),
      },
      dialer: {
        dial: (_tunnel, handler) => {
          this.dials.push(handler);
          return { cancel: () => (this.cancelled += 1) };
        },
        isAway: () => true,
      },
      api: new InProcessApi((_request, response) => response.end('api'), { take: beginSoon }),
      endpoints: {
        handles: (path) => path === '/ws/data',
        upgrade: (request) => this.upgrade(request),
      },
      indexed: true,
      secureOnly: false,
      visitorAccess: {
        enter: () => this.entry,
        submit: () => Promise.reject(new Error('no form')),
        standing: () => this.standing,
      },
      notice: undefined,
      accessLog: (entry) => void this.accesses.push(entry),
      now: () => (this.now += this.step),
      wallTime: () => 0,
      unexpected: () => new ApiError(API_ERRORS.internal),
      tellOwner: (_tunnel, { code, detail }) => void this.problems.push(`${code}: ${detail}`),
    });
  }

  /** Gives a stream to the connection that has waited longest. @param wasWarm whether it was opened in advance */
  openStream(wasWarm = false): FakeStream {
    const stream = new FakeStream();
    this.dials.shift()?.opened(stream, wasWarm);
    return stream;
  }
}

/** The owner of a connection that does nothing but read it. */
export function ownerOf(arrived: (bytes: Buffer) => unknown): ConnectionOwner {
  return { arrived, ended() {}, sent() {}, stalled() {}, closed() {} };
}

/** A visitor's own end of its connection. */
export class TestVisitor {
  readonly socket: Socket;
  /** everything it received */
  text = '';
  /** the relay has ended its side */
  readonly ended: Promise<unknown>;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.ended = new Promise((resolve) => socket.once('end', resolve).once('close', resolve));
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString('latin1');
    });
  }

  static async connect(port: number): Promise<TestVisitor> {
    const visitor = new TestVisitor(connect({ port, host: '127.0.0.1', allowHalfOpen: true }));
    await once(visitor.socket, 'connect');
    return visitor;
  }

  /** Sends a GET request. */
  get(host: string, target = '/', fields = ''): void {
    this.socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`);
  }

  /** Waits until a text has arrived, and drops everything up to its end. */
  async receives(text: string): Promise<string> {
    while (!this.text.includes(text)) await once(this.socket, 'data');
    const end = this.text.indexOf(text) + text.length;
    const taken = this.text.slice(0, end);
    this.text = this.text.slice(end);
    return taken;
  }
}

/** ms until data certainly passes through the sockets of this machine, however busy it is. */
const UNTIL_MS = 60_000;

/** Waits until data has passed through the sockets of this machine. */
export async function until(condition: () => boolean, ms = UNTIL_MS): Promise<void> {
  const deadline = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${String(condition)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/* A connection whose peer and system the test controls. */

/** Written bytes are kept until they are read; the peer's bytes are pushed. */
export class FakeSocket extends Duplex {
  readonly taken: Buffer[] = [];
  /** whether the system accepts written bytes immediately */
  isFast = true;
  #onTaken: (() => void) | undefined;

  /** @param highWaterMark number of bytes that fill it */
  constructor(highWaterMark = 4) {
    super({ highWaterMark, allowHalfOpen: true });
    this.on('error', () => {});
  }

  /** Everything that was written, as text. */
  get text(): string {
    return Buffer.concat(this.taken).toString('latin1');
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#take(chunk, callback);
  }

  #take(chunk: Buffer, callback: () => void): void {
    this.taken.push(chunk);
    if (this.isFast) callback();
    else this.#onTaken = callback;
  }

  override _writev(queued: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    this.#take(Buffer.concat(queued.map(({ chunk }) => chunk)), callback);
  }

  /** Accepts all written bytes from now on, including pending ones. */
  release(): void {
    this.isFast = true;
    this.#onTaken?.();
  }
}

/** Resolves once everything in progress is done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
