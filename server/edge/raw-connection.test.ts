import assert from 'node:assert/strict';
import { once } from 'node:events';
import { BlockList, connect, createServer, type Server, type Socket } from 'node:net';
import { EdgeFixture, type FakeStream, settled, until } from '../testing/edge-fixture.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { AddressLimits } from './connection-limiter.ts';
import { Edge } from './edge.ts';
import { bind, boundPort } from './listener.ts';
import { ENDED_STALL_MS, RESET_LOOK_MS } from './timeouts.ts';
import { BACKLOG_MAX_BYTES } from './visitor-socket.ts';

/** A visitor's own end. */
interface Visitor {
  readonly socket: Socket;
  /** everything it has received, `end` for the end, and `reset` for a reset */
  text: string;
}

describe('RawConnection', () => {
  let fixture: EdgeFixture;
  let edge: Edge;
  let listener: Server;
  let ports: Server;
  let tunnel: LiveTunnel & { requests: number; allowed: boolean; isSuspended: boolean };
  let accepted: Socket[];
  let visitors: Visitor[];
  let limits: AddressLimits;

  beforeEach(async () => {
    fixture = new EdgeFixture();
    accepted = [];
    visitors = [];
    tunnel = Object.assign(Object.create(null) as typeof tunnel, {
      protocol: 'tcp',
      account: { id: 'one' },
      access: { allows: () => tunnel.allowed },
      isSuspended: false,
      allowed: true,
      requests: 0,
      countRequest: () => (tunnel.requests += 1),
    });
    limits = new AddressLimits(
      { connections: 0, requests: 0, streams: 10 },
      new BlockList(),
      new FakeClock(),
    );
    listener = await bind('127.0.0.1', 0);
    edge = new Edge(listener, fixture.upstreams, { visitors: 3, newcomers: 9 }, limits);
    ports = createServer({ allowHalfOpen: true, noDelay: true }, (tcp) => {
      accepted.push(tcp);
      edge.acceptRaw(tcp, () => tunnel);
    });
    ports.listen(0, '127.0.0.1');
    await once(ports, 'listening');
  });

  afterEach(() => {
    edge.destroy();
    ports.close();
    for (const { socket } of visitors) socket.destroy();
  });

  async function arrive(): Promise<Visitor> {
    const socket = connect({ port: boundPort(ports), host: '127.0.0.1', allowHalfOpen: true });
    const visitor = { socket, text: '' };
    visitors.push(visitor);
    socket.on('data', (chunk: Buffer) => (visitor.text += chunk.toString('latin1')));
    socket.on('end', () => (visitor.text += '|end'));
    socket.on('error', () => (visitor.text += '|reset'));
    await once(socket, 'connect');
    return visitor;
  }

  /** A visitor and its stream to the client. */
  async function joined(): Promise<{ visitor: Visitor; stream: FakeStream }> {
    const visitor = await arrive();
    await until(() => fixture.dials.length > 0);
    return { visitor, stream: fixture.openStream() };
  }

  it('passes bytes on before the visitor has sent any, and keeps those that come before there is a stream', async () => {
    const visitor = await arrive();
    visitor.socket.write('early');
    await until(() => fixture.dials.length > 0 && (accepted[0]?.bytesRead ?? 0) === 5);
    await settled();
    const stream = fixture.openStream();
    assert.equal(stream.received, 'early');
    stream.answer('banner');
    await until(() => visitor.text === 'banner');
    assert.equal(tunnel.requests, 1);
  });

  it('stops reading a visitor who waits for a stream, and one whose stream accepts nothing', async () => {
    const visitor = await arrive();
    visitor.socket.write(Buffer.alloc(16 * BACKLOG_MAX_BYTES));
    await until(() => accepted[0]?.isPaused() === true);
    await until(() => fixture.dials.length > 0);
    const stream = fixture.openStream();
    stream.hasRoom = false;
    const before = stream.received.length;
    assert.ok(before >= BACKLOG_MAX_BYTES && before < 4 * BACKLOG_MAX_BYTES, `${before} bytes`);
    await until(() => accepted[0]?.isPaused() === true);
    stream.hasRoom = true;
    stream.handler?.onRoom();
    await until(() => stream.received.length === 16 * BACKLOG_MAX_BYTES);
  });

  it('reads no more from the client than the visitor takes', async () => {
    const { visitor, stream } = await joined();
    visitor.socket.pause();
    while (!stream.isPaused) stream.answer('x'.repeat(BACKLOG_MAX_BYTES));
    visitor.socket.resume();
    await until(() => !stream.isPaused);
  });

  it('passes half-closes on in both directions', async () => {
    const { visitor, stream } = await joined();
    visitor.socket.end('request');
    await until(() => stream.hasEnd);
    assert.deepEqual([stream.received, stream.ended], ['request', undefined]);
    stream.answer('answer');
    stream.handler?.onSentAll?.();
    await until(() => visitor.text === 'answer|end');
    await until(() => edge.visitors === 0);
    assert.equal(stream.ended, 'finish');

    const other = await joined();
    other.stream.answer('first');
    other.stream.handler?.onSentAll?.();
    await until(() => other.visitor.text === 'first|end');
    other.visitor.socket.write('later');
    await until(() => other.stream.received === 'later');
    assert.equal(other.stream.ended, undefined);
    other.visitor.socket.end();
    await until(() => other.stream.ended === 'finish');
  });

  it('tells a visitor that has sent everything before there is a stream', async () => {
    const visitor = await arrive();
    visitor.socket.end('all');
    await until(() => fixture.dials.length > 0 && accepted[0]?.readableEnded === true);
    const stream = fixture.openStream();
    assert.deepEqual([stream.received, stream.hasEnd], ['all', true]);
  });

  it('ends as its stream does', async () => {
    const clean = await joined();
    clean.stream.answer('all');
    clean.stream.handler?.onEnded(true);
    await until(() => clean.visitor.text === 'all|end');
    const broken = await joined();
    broken.stream.answer('part');
    await until(() => broken.visitor.text === 'part');
    broken.stream.handler?.onEnded(false);
    await until(() => broken.visitor.text === 'part|reset');
    clean.visitor.socket.destroy();
    await until(() => edge.visitors === 0);
    const lines = fixture.accesses.map(
      ({ protocol, outcome, bytes_out }) => `${protocol} ${outcome} ${bytes_out}`,
    );
    assert.deepEqual(new Set(lines), new Set(['tcp answered 3', 'tcp broken 4']));
  });

  it('ends its stream, or the wait for one, when the visitor resets', async () => {
    const { visitor, stream } = await joined();
    visitor.socket.resetAndDestroy();
    await until(() => stream.ended === 'abort');
    const waiting = await arrive();
    await until(() => fixture.dials.length > 0);
    waiting.socket.resetAndDestroy();
    await until(() => fixture.cancelled === 1);
    await until(() => edge.visitors === 0);
  });

  it('ends when a visitor resets that has half-closed, or whose stream has no room', async () => {
    const [half, full] = [await joined(), await joined()];
    half.visitor.socket.end();
    await until(() => half.stream.hasEnd);
    full.stream.hasRoom = false;
    full.visitor.socket.write('x');
    await until(() => full.stream.received === 'x');
    for (const { visitor } of [half, full]) visitor.socket.resetAndDestroy();
    fixture.step = RESET_LOOK_MS;
    await until(() => half.stream.ended === 'abort' && full.stream.ended === 'abort');
    assert.equal(edge.visitors, 0);
  });

  it('is cut when nobody takes what waits long after the service has ended, but not for silence', async () => {
    const [full, slow, silent] = [await joined(), await joined(), await joined()];
    full.stream.hasRoom = false;
    full.visitor.socket.write('x');
    await until(() => full.stream.received === 'x');
    slow.visitor.socket.pause();
    slow.stream.answer(Buffer.alloc(16 << 20).toString('latin1'));
    for (const { stream } of [full, slow, silent]) stream.handler?.onSentAll?.();
    await until(() => full.visitor.text === '|end' && silent.visitor.text === '|end');
    for (const socket of accepted) {
      assert.equal(socket.timeout, ENDED_STALL_MS);
      socket.emit('timeout');
    }
    await until(() => edge.visitors === 1);
    assert.deepEqual(
      fixture.accesses.map(({ outcome }) => outcome),
      ['broken', 'broken'],
    );
    assert.deepEqual(
      [full.stream.ended, slow.stream.ended, silent.stream.ended],
      ['abort', 'abort', undefined],
    );
    silent.visitor.socket.write('later');
    await until(() => silent.stream.received === 'later');
  });

  it('gets another stream if one that was opened in advance is lost before a byte has passed', async () => {
    await arrive();
    await until(() => fixture.dials.length > 0);
    const first = fixture.openStream(true);
    first.handler?.onEnded(false, true);
    await until(() => fixture.dials.length > 0);
    const second = fixture.openStream(true);
    second.answer('banner');
    await until(() => visitors[0]?.text === 'banner');
    assert.equal(tunnel.requests, 1);
    second.handler?.onEnded(false, true);
    await until(() => visitors[0]?.text === 'banner|reset');
  });

  it('refuses visitors who may not connect, and those beyond the limits', async () => {
    tunnel.allowed = false;
    const barred = await arrive();
    await until(() => barred.text === '|end');
    tunnel.allowed = true;
    tunnel.isSuspended = true;
    const suspended = await arrive();
    await until(() => suspended.text === '|end');
    tunnel.isSuspended = false;
    for (let count = 0; count < 3; count += 1) await joined();
    const excess = await arrive();
    await until(() => excess.text === '|end');
    assert.equal(fixture.dials.length, 0);
    for (const { socket } of [barred, suspended, excess]) socket.destroy();
    await until(() => fixture.accesses.length === 3);
    assert.deepEqual(fixture.accesses.map(({ error }) => String(error)).toSorted(), [
      'access-address',
      'relay-busy',
      'suspended',
    ]);
  });

  it('ends when there is no client', async () => {
    const visitor = await arrive();
    await until(() => fixture.dials.length > 0);
    fixture.dials.shift()?.failed('tunnel-offline');
    await until(() => visitor.text === '|end');
  });

  it('sends an alert to refused visitors of a TLS tunnel', async () => {
    Object.assign(tunnel, { protocol: 'tls', allowed: false });
    const visitor = await arrive();
    await until(() => visitor.text === '\x15\x03\x03\x00\x02\x02\x31|end');
  });

  it('is cut when the visitor may not stay', async () => {
    const [first, second] = [await joined(), await joined()];
    edge.review(tunnel);
    assert.ok(!first.stream.ended && !second.stream.ended);
    tunnel.allowed = false;
    edge.review(tunnel);
    await until(() => first.visitor.text === '|reset' && second.visitor.text === '|reset');
    assert.deepEqual([first.stream.ended, second.stream.ended], ['abort', 'abort']);
  });

  it('is cut when the visitor may not stay, although only the rest of the bytes is to be read', async () => {
    const { visitor, stream } = await joined();
    visitor.socket.pause();
    stream.answer(Buffer.alloc(16 << 20).toString('latin1'));
    stream.handler?.onEnded(true);
    tunnel.allowed = false;
    edge.review(tunnel);
    visitor.socket.resume();
    await until(() => visitor.text.endsWith('|reset'));
    assert.deepEqual(
      fixture.accesses.map(({ outcome }) => outcome),
      ['broken'],
    );
  });

  it('may finish when the relay stops, which waits for its stream', async () => {
    const waiting = await arrive();
    await until(() => fixture.dials.length > 0);
    let isSettled = false;
    fixture.step = 0.1;
    const settling = edge.settle().then(() => (isSettled = true));
    await settled();
    assert.equal(isSettled, false);
    const stream = fixture.openStream();
    await settling;
    let isEmpty = false;
    const emptied = edge.empty().then(() => (isEmpty = true));
    stream.answer('still there');
    await until(() => waiting.text === 'still there');
    assert.equal(isEmpty, false);
    waiting.socket.resetAndDestroy();
    await emptied;
  });

  it('is ignored if its connection has closed before the relay accepts it', async () => {
    const visitor = await arrive();
    await until(() => fixture.dials.length > 0);
    visitor.socket.resetAndDestroy();
    await until(() => accepted[0]?.closed === true && edge.visitors === 0);
    edge.acceptRaw(accepted[0] ?? assert.fail(), () => tunnel);
    await settled();
    assert.deepEqual([edge.visitors, fixture.dials.length], [0, 1]);
  });
});
