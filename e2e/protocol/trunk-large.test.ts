import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Tunnel } from '../../shared/tunnel.ts';
import { AccountPool, administer, createAccount, onlyAccount, withNewKey } from '../support/accounts.ts';
import { assertAtLimit, assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request, SocketReader, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { concurrentTests } from '../support/scope.ts';
import { payload, payloadChecksum } from '../support/services/echo.ts';
import { startRawService } from '../support/services/listen.ts';
import { openData } from '../support/spec-client/client.ts';
import { Kind, type TrunkClient, type TrunkClientStream } from '../support/spec-client/trunk.ts';
import { WebSocketClient } from '../support/spec-client/websocket.ts';
import {
  assertHeldAtMost,
  checksum,
  closeCode,
  endOf,
  HOPS_BYTES,
  LARGE,
  ok,
  onTheWay,
  READ_BYTES,
  refusalOf,
  sendUntilMove,
  TrunkWorld,
  UPGRADE,
  WITH_TRUNKS,
} from '../support/trunk-world.ts';

const WINDOW = 65_536;
/** far more than what the system and the relay keep for a visitor who does not read */
const UNREAD_MAX = 256 * 1024 * 1024;
/** of a message of 126 to 65,535 bytes from a client (RFC 6455 section 5.2) */
const DATA_HEADER_BYTES = 8;
/** the head of a response that ends with its connection */
const UNTIL_END = 'HTTP/1.1 200 OK\r\n\r\n';
const NOT_FOUND = [404, 'connection not found'];

/** How far a stream has moved. */
type Moved = 'the relay alone' | 'both';
const HALVES: readonly Moved[] = ['the relay alone', 'both'];

/** A visitor in the middle of a response, on a stream that may move. */
interface Midway {
  readonly visitor: RawConnection;
  readonly stream: TrunkClientStream;
  /** the part of the body that was sent */
  readonly first: Buffer;
  /** checksum of the whole body, or what went wrong */
  readonly rest: Promise<string>;
}

/** A visitor in the middle of an upload, on a stream that may move. */
interface Uploading {
  readonly visitor: RawConnection;
  readonly stream: TrunkClientStream;
  /** Settles when nearly all of it has been sent. */
  readonly writing: Promise<void>;
}

/** A visitor whose stream has a data socket. */
interface Moving extends Midway {
  readonly client: ManualClient;
  readonly trunk: TrunkClient;
  readonly data: WebSocketClient;
}

function movesOf(trunk: TrunkClient): number {
  return trunk.frames.filter(({ kind }) => kind === Kind.move).length;
}

async function assertCounted(
  { account, tunnel }: ManualClient,
  expected: Pick<Tunnel, 'bytes_in' | 'bytes_out' | 'requests'>,
): Promise<void> {
  await eventually(20_000, async () => {
    const { bytes_in, bytes_out, requests } = await account.api.get(tunnel.id);
    assert.deepEqual({ bytes_in, bytes_out, requests }, expected);
  });
}

async function assertBroken(rest: Promise<string>): Promise<void> {
  assert.match(await rest, /the body ended by reset/);
}

async function codeOf(data: WebSocketClient): Promise<number> {
  return (await within(20_000, 'end of the data socket', data.closed)).code;
}

describe('large streams (protocol.md section 10.3)', () => {
  const { scope, relay, pool } = sharedRelaySuite(WITH_TRUNKS);
  const world = new TrunkWorld(scope, relay, pool);

  /** @param key API key to send, if any */
  async function open(id: string, key?: string): Promise<WebSocketClient> {
    return await WebSocketClient.open(scope, {
      port: relay.port,
      host: `localhost:${relay.port}`,
      target: `/ws/data?id=${id}`,
      headers: key === undefined ? [] : [['Authorization', `Bearer ${key}`]],
    });
  }

  /** A visitor whose download has become large. The test sends the rest of it. */
  async function downloading(
    client: ManualClient,
    trunk: TrunkClient,
    request: Partial<Request> = {},
    head = UNTIL_END,
  ): Promise<Midway> {
    const [visitor, stream] = await world.connect(client, trunk, request);
    stream.send(head);
    const rest = visitor.response().then(
      ({ body }) => checksum(body),
      (error: unknown) => String(error),
    );
    return { visitor, stream, first: await sendUntilMove(stream), rest };
  }

  /** A visitor whose upload has become large. The client grants the relay no more bytes. */
  async function uploading(client: ManualClient, trunk: TrunkClient, body: Buffer): Promise<Uploading> {
    trunk.grants = false;
    const visitor = await RawConnection.open(scope, relay.port, 60_000);
    const writing = visitor.write(formatRequest({ host: client.host, method: 'POST', body }));
    // A visitor who leaves or is cut off stops writing.
    writing.catch(() => undefined);
    const stream = await trunk.accept();
    trunk.grants = true;
    for (let received = WINDOW; received < LARGE; received += WINDOW) {
      await stream.receivedBytes(received);
      stream.grant(WINDOW);
    }
    await stream.receivedBytes(LARGE);
    stream.grant(1);
    await stream.mayMove();
    return { visitor, stream, writing };
  }

  /** A visitor whose stream has moved this far. */
  async function moved(half: Moved, owner: Pick<AccountPool, 'tunnel'> = pool): Promise<Moving> {
    const client = await ManualClient.start(scope, relay, owner);
    const trunk = await client.trunk({ isFar: true });
    const midway = await downloading(client, trunk);
    const { stream } = midway;
    const data = await open(await stream.mayMove());
    stream.join(data);
    await stream.relayMoved();
    if (half === 'both') {
      stream.move();
      // By now the relay has read it.
      await world.assertServes(client, trunk);
    }
    return { ...midway, client, trunk, data };
  }

  describe('may move', () => {
    it('with more than 512 KiB one way, and not before', async () => {
      const { client, trunk } = await world.farClient();
      const [visitor, stream] = await world.connect(client, trunk);
      stream.send(UNTIL_END);
      stream.send(Buffer.alloc(LARGE - UNTIL_END.length));
      await visitor.finalHead();
      await visitor.reader.exactly(LARGE - UNTIL_END.length);
      await world.assertServes(client, trunk);
      assert.equal(stream.connectionId, undefined);
      stream.send('x');
      await stream.mayMove();
    });

    it('but do not if the client does not move', async () => {
      const { client, trunk } = await world.farClient();
      const download = await downloading(client, trunk);
      const last = randomBytes(5_000_000);
      download.stream.send(last);
      download.stream.end();
      assert.equal(await download.rest, checksum(Buffer.concat([download.first, last])));
      const body = randomBytes(5_000_000);
      const { visitor, stream, writing } = await uploading(client, trunk, body);
      stream.grants = true;
      stream.grant(WINDOW);
      const head = (await stream.receivedUpTo('\r\n\r\n')).indexOf('\r\n\r\n') + 4;
      const received = await stream.receivedBytes(head + body.length);
      await writing;
      assert.equal(checksum(received.subarray(head)), checksum(body));
      stream.send(ok('taken'));
      assert.equal((await visitor.response()).text, 'taken');
      assert.equal(movesOf(trunk), 2);
    });
  });

  describe('move and lose nothing:', () => {
    it('a download of 5 MB, every byte of it counted once', async () => {
      const { client, trunk } = await world.farClient();
      const body = randomBytes(5_000_000);
      const { stream, first, rest } = await downloading(client, trunk);
      const request = stream.received.length;
      stream.join(await open(await stream.mayMove()));
      stream.move();
      stream.send(body);
      stream.end();
      assert.equal(await rest, checksum(Buffer.concat([first, body])));
      assert.equal(stream.sent, UNTIL_END.length + first.length);
      assert.equal(movesOf(trunk), 1);
      const bytes_out = UNTIL_END.length + first.length + body.length;
      await assertCounted(client, { bytes_in: request, bytes_out, requests: 1 });
    });

    it('an upload of 5 MB, every byte of it counted once', async () => {
      const { client, trunk } = await world.farClient();
      const body = randomBytes(5_000_000);
      const { visitor, stream, writing } = await uploading(client, trunk, body);
      stream.join(await open(await stream.mayMove()));
      stream.move();
      stream.grants = true;
      stream.grant(WINDOW);
      const head = (await stream.receivedUpTo('\r\n\r\n')).indexOf('\r\n\r\n') + 4;
      const received = await stream.receivedBytes(head + body.length);
      await writing;
      assert.ok(stream.relayHasMoved);
      assert.equal(checksum(received.subarray(head)), checksum(body));
      stream.send(ok('taken'));
      assert.equal((await visitor.response()).text, 'taken');
      const bytes_out = ok('taken').length;
      await assertCounted(client, { bytes_in: received.length, bytes_out, requests: 1 });
    });

    it('the next requests of the visitor’s connection, which use the data socket', async () => {
      const { client, trunk } = await world.farClient();
      const size = 4_000_000;
      const head = `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`;
      const { visitor, stream, rest, first } = await downloading(client, trunk, {}, head);
      stream.join(await open(await stream.mayMove()));
      stream.move();
      const last = randomBytes(size - first.length);
      stream.send(last);
      assert.equal(await rest, checksum(Buffer.concat([first, last])));
      const { frames } = trunk;
      await stream.relayMoved();
      const seen = frames.length;
      for (const target of ['/second', '/third']) {
        await visitor.write(formatRequest({ host: client.host, target }));
        await stream.receivedUpTo(`GET ${target} `);
        stream.send(ok(target));
        assert.equal((await visitor.response()).text, target);
      }
      assert.equal(frames.length, seen);
      assert.deepEqual(client.control.messages, []);
    });

    it('a WebSocket, which talks both ways', async () => {
      const { client, trunk } = await world.farClient();
      const [visitor, stream] = await world.connect(client, trunk, { headers: UPGRADE });
      stream.send('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      await visitor.finalHead();
      const message = await sendUntilMove(stream);
      assert.ok((await visitor.reader.exactly(message.length)).equals(message));
      stream.join(await open(await stream.mayMove()));
      stream.move();
      for (const each of ['one', 'two', 'three']) {
        await visitor.write(`to ${each}`);
        await stream.receivedUpTo(`to ${each}`);
        stream.send(`from ${each}`);
        assert.equal((await visitor.reader.exactly(each.length + 5)).toString(), `from ${each}`);
      }
      visitor.halfClose();
      assert.equal(await endOf(stream), 1000);
    });
  });

  it('hold up nobody when a visitor does not read, with at most three reads in the relay', async () => {
    const { client, trunk } = await world.farClient();
    const [visitor, stream] = await world.connect(client, trunk);
    stream.send(UNTIL_END);
    const first = await sendUntilMove(stream);
    const data = await open(await stream.mayMove());
    stream.join(data);
    stream.move();
    await eventually(20_000, () => assert.equal(stream.sent, UNTIL_END.length + first.length));
    visitor.socket.pause();
    // Messages that are sent one after the other, so that the number sent is known, until the buffers of the system are
    // full: each of two connections may have 36 MiB.
    const PIECE = 4096;
    const pieces = randomBytes(1024 * PIECE);
    const sent = createHash('sha256').update(first);
    let at = 0;
    const send = (): void => {
      const from = at % pieces.length;
      const piece = pieces.subarray(from, from + PIECE);
      sent.update(piece);
      stream.send(piece);
    };
    const feed = (): void => {
      for (; data.unsent === 0 && at < UNREAD_MAX; at += PIECE) send();
    };
    await eventually(60_000, async () => {
      feed();
      const before = at;
      // More than one visitor needs, so that the relay gets time to read.
      for (let count = 0; count < 5; count += 1) await world.assertServes(client, trunk);
      feed();
      assert.equal(at, before);
    });
    assert.ok(at < UNREAD_MAX, 'all of it has left');
    const waiting = ((data.unsent + onTheWay(data).fromHere) * PIECE) / (PIECE + DATA_HEADER_BYTES);
    // One read that is being written, with the message in which the previous read ended. When Node is told to stop, it
    // still reads until a whole read waits, which is less than two if the first of these was short.
    assertHeldAtMost(3 * READ_BYTES + PIECE + HOPS_BYTES, stream.sent + at - waiting, visitor);
    send();
    stream.end();
    assert.equal(checksum((await visitor.response()).body), sent.digest('hex'));
  });

  describe('have an id that', () => {
    it('opens none when the stream has ended, or its visitor has left', async () => {
      const { client, trunk } = await world.farClient();
      const { stream, first, rest } = await downloading(client, trunk);
      stream.end();
      assert.equal(await rest, checksum(first));
      assert.equal(await endOf(stream), 1000);
      assert.deepEqual(await refusalOf(open(await stream.mayMove())), NOT_FOUND);
      const next = await downloading(client, trunk);
      next.visitor.reset();
      await endOf(next.stream);
      assert.deepEqual(await refusalOf(open(await next.stream.mayMove())), NOT_FOUND);
    });

    it('opens none when the trunk is lost', async () => {
      const { client, trunk } = await world.farClient();
      const { stream, rest } = await downloading(client, trunk);
      trunk.socket.drop();
      await assertBroken(rest);
      assert.deepEqual(await refusalOf(open(await stream.mayMove())), NOT_FOUND);
    });
  });

  describe('end', () => {
    it('in order', async () => {
      const { trunk, client, stream, data, first, rest } = await moved('both');
      stream.end();
      assert.equal(await rest, checksum(first));
      assert.equal(await codeOf(data), 1000);
      await world.assertServes(client, trunk);
    });

    it('broken by a data socket that is lost', async () => {
      const { trunk, client, data, rest } = await moved('both');
      data.drop();
      await assertBroken(rest);
      await world.assertServes(client, trunk);
    });

    it('broken by a trunk that is lost while the client still uses it', async () => {
      const { trunk, rest } = await moved('the relay alone');
      trunk.socket.drop();
      await assertBroken(rest);
    });

    for (const half of HALVES) {
      it(`within a second of the visitor’s leaving, with ${half} moved`, async () => {
        const { trunk, client, visitor, stream } = await moved(half);
        visitor.reset();
        const { value, ms } = await timed(() => endOf(stream));
        assertWithin(ms, 1000);
        assert.equal(value, 1001);
        if (half === 'the relay alone') stream.move();
        await world.assertServes(client, trunk);
      });
    }

    it('in order, even if the trunk breaks, with both moved', async () => {
      const { client, trunk, visitor, stream, data, first, rest } = await moved('both');
      trunk.socket.drop();
      // By now the relay has seen it.
      await world.visitor(client);
      await client.announced();
      const last = randomBytes(1_000_000);
      stream.send(last);
      stream.end();
      assert.equal(await rest, checksum(Buffer.concat([first, last])));
      assert.equal(await codeOf(data), 1000);
      assert.equal(await visitor.ending, 'end');
    });

    it('with the tunnel', async () => {
      const { client, trunk, data, rest } = await moved('both');
      await client.account.api.close(client.tunnel.id);
      await assertBroken(rest);
      assert.deepEqual([await closeCode(trunk), await codeOf(data)], [4001, 4001]);
    });

    it('with the key of the trunk', async () => {
      const owner = await createAccount(relay);
      const { trunk, data, rest } = await moved('both', onlyAccount(owner));
      await administer(relay, 'key', 'revoke', owner.keyId);
      await assertBroken(rest);
      assert.deepEqual([await closeCode(trunk), await codeOf(data)], [4003, 4003]);
    });

    it('with the key of the data socket', async () => {
      const owner = await createAccount(relay);
      const other = await withNewKey(relay, owner);
      const client = await ManualClient.start(scope, relay, onlyAccount(owner));
      const trunk = await client.trunk({ isFar: true });
      const { stream, rest } = await downloading(client, trunk);
      const data = await open(await stream.mayMove(), other.key);
      stream.join(data);
      stream.move();
      await stream.relayMoved();
      await world.assertServes(client, trunk);
      await administer(relay, 'key', 'revoke', other.keyId);
      assert.equal(await codeOf(data), 4003);
      await assertBroken(rest);
      await world.assertServes(client, trunk);
    });
  });

  it('continue when their trunk ends with 1002', async () => {
    const { client, trunk, stream, first, rest } = await moved('both');
    const other = await downloading(client, trunk);
    trunk.send(Kind.data, stream.id, 1, Buffer.from('x'));
    assert.equal(await closeCode(trunk), 1002);
    await assertBroken(other.rest);
    const last = randomBytes(500_000);
    stream.send(last);
    stream.end();
    assert.equal(await rest, checksum(Buffer.concat([first, last])));
  });
});

/** These tests wait, all of them at the same time. */
describe('large streams, in time (protocol.md section 10.3)', () => {
  const { scope, relay: shared } = sharedRelaySuite(WITH_TRUNKS);
  const together = concurrentTests();

  interface OwnWorld {
    readonly relay: Relay;
    readonly world: TrunkWorld;
    readonly client: ManualClient;
    readonly trunk: TrunkClient;
  }

  async function start(relay = shared): Promise<OwnWorld> {
    const world = new TrunkWorld(scope, relay, new AccountPool(relay));
    return { relay, world, ...(await world.farClient()) };
  }

  /** A visitor whose download has moved. */
  async function downloading({
    relay,
    world,
    client,
    trunk,
  }: OwnWorld): Promise<Midway & { data: WebSocketClient }> {
    const [visitor, stream] = await world.connect(client, trunk);
    stream.send(UNTIL_END);
    const rest = visitor.response().then(({ body }) => checksum(body), String);
    const first = await sendUntilMove(stream);
    const data = await openData(scope, relay, await stream.mayMove());
    stream.join(data);
    stream.move();
    await stream.relayMoved();
    return { visitor, stream, first, rest, data };
  }

  together('complete when the relay is told to stop, and hold no trunk', async () => {
    const own = await start(await Relay.start(scope, WITH_TRUNKS));
    const { stream, first, rest } = await downloading(own);
    own.relay.child.kill('SIGTERM');
    assert.equal((await within(20_000, 'close', own.client.control.closed)).code, 1001);
    assert.equal(await closeCode(own.trunk), 1000);
    const last = randomBytes(1_000_000);
    stream.send(last);
    stream.end();
    assert.equal(await rest, checksum(Buffer.concat([first, last])));
    assert.deepEqual(await own.relay.child.exit(20_000), { code: 0, signal: null });
  });

  together('continue when the control socket is replaced, which closes the trunk', async () => {
    const own = await start();
    const { stream, first, rest } = await downloading(own);
    await own.client.reconnect();
    assert.equal(await closeCode(own.trunk), 1000);
    const last = randomBytes(1_000_000);
    stream.send(last);
    stream.end();
    assert.equal(await rest, checksum(Buffer.concat([first, last])));
  });

  together('are probed when the control socket is lost, and cut without an answer', async () => {
    const own = await start();
    const [mute, alive] = [await downloading(own), await downloading(own)];
    mute.data.answersPings = false;
    const { value, ms } = await timed(async () => {
      own.client.control.socket.drop();
      return await mute.rest;
    });
    assert.match(value, /the body ended by reset/);
    assertAtLimit(ms, 8000);
    alive.stream.end();
    assert.equal(await alive.rest, checksum(alive.first));
  });
});

/**
 * Answers `/N` with N bytes and their length, `/end/N` with N bytes and the end of the connection, `/part/N` with N of
 * twice as many announced bytes, and uploads with their checksum.
 */
async function serve(socket: Socket): Promise<void> {
  const reader = new SocketReader(socket);
  for (;;) {
    const head = (await reader.through('\r\n\r\n')).toString('latin1');
    const [, how, count] = /^GET (?:\/(end|part))?\/(\d+) /.exec(head) ?? [];
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    const size = Number(count);
    if (count === undefined) socket.write(ok(checksum(await reader.exactly(length))));
    else if (how === 'end') socket.write(UNTIL_END);
    else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${how === 'part' ? 2 * size : size}\r\n\r\n`);
    if (count !== undefined) for (const block of payload(size)) socket.write(block);
    if (how === 'end') return void socket.end();
  }
}

/** Uses `culvert`, and counts the bytes of its connections to the relay on the way. */
describe('large streams of culvert', () => {
  const { scope, relay, pool } = sharedRelaySuite(WITH_TRUNKS);
  /** a control socket and two trunks */
  const SHARED = 3;
  const SIZE = 3_000_000;
  let proxy: FaultProxy;
  let host: string;

  before(async () => {
    const service = await startRawService(scope, (socket) => void serve(socket));
    proxy = await FaultProxy.start(scope, relay.port);
    // A distant client, so that streams move.
    proxy.shape.latencyMs = 5;
    const { key } = await pool.take();
    const { tunnel } = await Culvert.start(scope, proxy, key, service.port);
    host = hostOf(tunnel, relay);
    assert.equal((await visit(relay.port, { host, target: '/end/1' })).body.length, 1);
  });

  beforeEach(async () => {
    await assertConnections(SHARED);
  });

  async function ask(request: Partial<Request>): Promise<RawConnection> {
    const visitor = await RawConnection.open(scope, relay.port, 60_000);
    visitor.socket.write(formatRequest({ host, ...request }));
    return visitor;
  }

  async function assertDownload(target: string, size: number): Promise<RawConnection> {
    const visitor = await ask({ target });
    assert.equal(checksum((await visitor.response()).body), payloadChecksum(size), `${size} bytes`);
    return visitor;
  }

  async function assertUpload(size: number): Promise<RawConnection> {
    const visitor = await ask({ method: 'POST', body: Buffer.concat([...payload(size)]) });
    assert.equal((await visitor.response()).text, payloadChecksum(size));
    return visitor;
  }

  async function assertConnections(count: number): Promise<void> {
    await eventually(20_000, () => assert.equal(proxy.connections, count));
  }

  it('move a download, and the next request with it', async () => {
    const visitor = await assertDownload(`/${SIZE}`, SIZE);
    await assertConnections(SHARED + 1);
    const { body } = await visitor.request({ host, target: '/10' });
    assert.equal(body.length, 10);
    assert.equal(proxy.connections, SHARED + 1);
    visitor.reset();
  });

  it('move an upload, and the next request with it', async () => {
    const visitor = await assertUpload(SIZE);
    await assertConnections(SHARED + 1);
    const { body } = await visitor.request({ host, target: '/10' });
    assert.equal(body.length, 10);
    assert.equal(proxy.connections, SHARED + 1);
    visitor.reset();
  });

  it('are whole, many at a time', async () => {
    const sizes = Array.from({ length: 5 }, (_, index) => 300_000 * (index + 1));
    const visitors = await Promise.all([
      ...sizes.map((size) => assertDownload(`/${size}`, size)),
      ...sizes.map((size) => assertUpload(size)),
    ]);
    for (const visitor of visitors) visitor.reset();
  });

  it('are whole at any size when the local service ends the connection', async () => {
    // Sizes around the threshold for moving a stream.
    proxy.shape.bytesPerSecond = 2_000_000;
    for (let size = LARGE; size < 2 * LARGE; size += 50_000) await assertDownload(`/end/${size}`, size);
    proxy.shape.bytesPerSecond = 0;
  });

  it('stay on their trunk if no data socket gets through', async () => {
    proxy.close();
    const visitor = await assertDownload(`/${SIZE}`, SIZE);
    assert.equal(proxy.connections, SHARED);
    visitor.reset();
    await proxy.restore();
  });

  it('break when the network does', async () => {
    const visitor = await ask({ target: `/part/${SIZE}` });
    const head = await visitor.finalHead();
    await assertConnections(SHARED + 1);
    await proxy.cut();
    await assert.rejects(visitor.rest(head), /the stream ended .* early/);
    await proxy.restore();
  });
});
