import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket as WebSocketOfWs } from 'ws';
import { assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { type DataConnection, ManualClient } from '../support/manual-client.ts';
import { formatRequest, RawConnection, type Request } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { Opcode } from '../support/spec-client/websocket.ts';

describe('the data WebSocket', () => {
  const { scope, relay, pool } = sharedRelaySuite();
  let client: ManualClient;

  before(async () => {
    client = await ManualClient.start(scope, relay, pool);
  });

  /** A visitor who has sent a request, and the data socket that carries it. */
  async function connect(request: Omit<Request, 'host'> = {}): Promise<[RawConnection, DataConnection]> {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host, ...request }));
    return [visitor, await client.accept()];
  }

  it('starts with the bytes of the request, in binary messages', async () => {
    const [, data] = await connect({
      method: 'POST',
      target: '/path?query=1',
      headers: [['X-Some', 'Value']],
      body: 'the body',
    });
    const text = await data.receivedUpTo('the body');
    assert.ok(text.startsWith('POST /path?query=1 HTTP/1.1\r\n'), text);
    assert.match(text, /\r\nX-Some: Value\r\n/);
    assert.ok(text.endsWith('\r\n\r\nthe body'), text);
    assert.deepEqual([...data.kinds], ['binary']);
  });

  it('carries a response regardless of its messages: byte by byte', async () => {
    const [visitor, data] = await connect();
    for (const byte of Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello')) {
      data.socket.send(Buffer.from([byte]));
    }
    assert.equal((await visitor.response()).text, 'hello');
  });

  it('carries a response regardless of its messages: fragments, with pings between them', async () => {
    const [visitor, data] = await connect();
    const parts = ['HTTP/1.1 200 OK\r\nContent-', 'Length: 5\r\n', '\r\nhel', 'lo'].map((part) =>
      Buffer.from(part),
    );
    parts.forEach((part, index) => {
      const opcode = index === 0 ? Opcode.binary : Opcode.continuation;
      data.socket.sendFrame(part, { opcode, final: index === parts.length - 1 });
      data.socket.sendFrame(Buffer.from('?'), { opcode: Opcode.ping });
    });
    assert.equal((await visitor.response()).text, 'hello');
  });

  it('carries a response regardless of its messages: one of 4 MiB', async () => {
    const [visitor, data] = await connect();
    const body = randomBytes(4 * 1024 * 1024);
    data.send(
      Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`), body]),
    );
    assert.ok((await visitor.response()).body.equals(body));
  });

  it('carries a response regardless of its messages: with empty ones in between', async () => {
    const [visitor, data] = await connect();
    data.send('');
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n');
    data.send('');
    data.send('hello');
    assert.equal((await visitor.response()).text, 'hello');
  });

  it('is closed when the visitor goes away', async () => {
    const [visitor, data] = await connect();
    await data.receivedUpTo('\r\n\r\n');
    visitor.reset();
    const { ms } = await timed(() => within(20_000, 'close', data.socket.closed));
    assertWithin(ms, 1000);
  });

  it('ends the visitor’s connection when it closes, at the Close frame and not only at the end of TCP', async () => {
    // At the end of TCP, it would take at least that long each time; a busy machine does not.
    await eventually(60_000, async () => {
      const [visitor, data] = await connect();
      data.send('HTTP/1.1 200 OK\r\n\r\nuntil close');
      data.socket.sendClose(1000);
      const { value, ms } = await timed(() => visitor.response());
      assert.equal(value.text, 'until close');
      assert.ok(ms < 1000, `after ${ms} ms`);
    });
  });

  for (const code of [1001, 1011, 4321]) {
    it(`that closes with ${code} breaks the response it was carrying`, async () => {
      const [visitor, data] = await connect();
      data.send('HTTP/1.1 200 OK\r\n\r\nunfinished');
      const head = await visitor.finalHead();
      data.socket.sendClose(code);
      await assert.rejects(visitor.rest(head), /ended/);
    });
  }

  for (const begun of ['', 'HTTP/1.1 200 OK\r\nContent-Le']) {
    it(`that closes after ${JSON.stringify(begun)} gives the visitor a 502 (client-closed)`, async () => {
      const [visitor, data] = await connect();
      data.send(begun);
      data.socket.close(1000);
      const { status, head } = await visitor.response();
      assert.deepEqual([status, head.field('culvert-error')], [502, 'client-closed']);
    });
  }

  it('that is lost without a Close frame breaks the response it was carrying', async () => {
    const [visitor, data] = await connect();
    data.send('HTTP/1.1 200 OK\r\n\r\nunfinished');
    const head = await visitor.finalHead();
    data.socket.drop();
    await assert.rejects(visitor.rest(head), /ended/);
  });

  it('is ended for a frame without a mask (RFC 6455 section 5.1)', async () => {
    const [visitor, data] = await connect();
    data.socket.sendFrame(Buffer.from('HTTP/1.1 204 No Content\r\n\r\n'), {
      opcode: Opcode.binary,
      masked: false,
    });
    const { code } = await within(20_000, 'close', data.socket.closed);
    assert.ok(code === 1002 || code === 1006, String(code));
    assert.equal((await visitor.response()).status, 502);
  });

  it('serves one inbound connection, which also brings the next request', async () => {
    const [visitor, data] = await connect({ target: '/first' });
    await data.receivedUpTo('\r\n\r\n');
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none');
    assert.equal((await visitor.response()).text, 'one');
    await visitor.write(formatRequest({ host: client.host, target: '/second' }));
    const text = await data.receivedUpTo('/second');
    assert.match(text, /\r\n\r\nGET \/second HTTP\/1\.1\r\n/);
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo');
    assert.equal((await visitor.response()).text, 'two');
  });

  it('is opened again for the next request after the client closed it', async () => {
    const [visitor, data] = await connect({ target: '/first' });
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none');
    data.socket.close(1000);
    assert.equal((await visitor.response()).text, 'one');
    await data.socket.closed;
    await visitor.write(formatRequest({ host: client.host, target: '/second' }));
    const next = await client.accept();
    await next.receivedUpTo('/second');
    next.send('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo');
    assert.equal((await visitor.response()).text, 'two');
  });

  describe('can be opened by any RFC 6455 client:', () => {
    it('the ws package, with all its defaults', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host, target: '/for-ws' }));
      const socket = new WebSocketOfWs(`ws://127.0.0.1:${relay.port}/ws/data?id=${await client.announced()}`);
      scope.defer(() => socket.terminate());
      const [request, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
      assert.equal(isBinary, true);
      assert.match(request.toString(), /^GET \/for-ws HTTP\/1\.1\r\n/);
      socket.send('HTTP/1.1 200 OK\r\n\r\n', { binary: true, fin: false });
      socket.send('until close', { binary: true, fin: true });
      socket.close(1000);
      assert.equal((await visitor.response()).text, 'until close');
      assert.equal(socket.extensions, '');
    });

    it('the WebSocket of browsers', async () => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host, target: '/for-browsers' }));
      const socket = new WebSocket(`ws://127.0.0.1:${relay.port}/ws/data?id=${await client.announced()}`);
      socket.binaryType = 'arraybuffer';
      scope.defer(() => socket.close());
      const [event] = (await once(socket, 'message')) as [{ data: ArrayBuffer }];
      assert.match(Buffer.from(event.data).toString(), /^GET \/for-browsers HTTP\/1\.1\r\n/);
      socket.send(Buffer.from('HTTP/1.1 200 OK\r\n\r\nuntil close'));
      socket.close();
      assert.equal((await visitor.response()).text, 'until close');
    });
  });
});
