import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { HOP_LINE_MAX_BYTES } from '../../limits.ts';
import { FakeSocket, settled } from '../../testing/edge-fixture.ts';
import { HopConnection, hopKey, readRequest, writeRequest } from './hop-connection.ts';

describe('HopConnection', () => {
  let socket: FakeSocket;
  let connection: HopConnection;
  let heard: string[];

  beforeEach(() => {
    socket = new FakeSocket();
    heard = [];
    connection = new HopConnection(socket as unknown as Socket, {
      onPiece: (piece, isLast) => heard.push(`${piece.toString()}${isLast ? '.' : ''}`),
      onEnd: () => heard.push('end'),
      onDrain: () => heard.push('drain'),
      onClose: () => heard.push('closed'),
    });
  });

  it('writes each frame with its length, and an empty one as the end', async () => {
    connection.send([Buffer.from('one'), Buffer.from(' two')]);
    connection.send([Buffer.alloc(0x01_02_03, 'x')]);
    connection.sendEnd();
    await settled();
    assert.equal(socket.text, `\0\0\0\u0007one two\0\u0001\u0002\u0003${'x'.repeat(0x01_02_03)}\0\0\0\0`);
  });

  it('reads frames however they are split', async () => {
    const bytes = Buffer.from('\0\0\0\u0003one\0\0\0\0\0\0\0\u0003two');
    for (let cut = 1; cut < bytes.length; cut += 1) {
      heard.length = 0;
      connection.read(bytes.subarray(0, cut));
      connection.read(bytes.subarray(cut));
      assert.equal(heard.join(''), 'one.endtwo.', `cut at ${cut}`);
    }
    heard.length = 0;
    for (const byte of bytes) connection.read(Buffer.of(byte));
    assert.deepEqual(heard, ['o', 'n', 'e.', 'end', 't', 'w', 'o.']);
  });

  it('reports when too much is queued, and when it has been sent', async () => {
    socket.isFast = false;
    assert.equal(connection.send([Buffer.from('some')]), false);
    socket.release();
    await settled();
    assert.deepEqual(heard, ['drain']);
  });

  it('passes nothing on once it was cut, and reports that', async () => {
    const handler = connection.handler;
    connection.handler = { ...handler, onEnd: () => connection.destroy() };
    connection.read(Buffer.from('\0\0\0\0\0\0\0\u0003one'));
    await settled();
    assert.deepEqual(heard, ['closed']);
    assert.equal(connection.isOpen, false);
  });

  it('ends when the other relay ends it', async () => {
    socket.push(null);
    await settled();
    assert.deepEqual(heard, ['closed']);
  });
});

const SECRET = 's'.repeat(32);
const request = { id: 'id', key: 'key', authorization: `Bearer cvt_${'x'.repeat(200)}` };

describe('the key of a hop', () => {
  const ends = { from: 'two', to: 'one' };

  it('is the same at both ends', () => {
    assert.equal(hopKey(ends, SECRET)?.length, 32);
    assert.deepEqual(hopKey(ends, SECRET), hopKey({ ...ends }, SECRET));
  });

  it('differs for any other relay, the other direction, and another secret', () => {
    const keys = [
      hopKey(ends, SECRET),
      hopKey({ ...ends, from: 'three' }, SECRET),
      hopKey({ ...ends, to: 'three' }, SECRET),
      hopKey({ from: 'one', to: 'two' }, SECRET),
      hopKey({ from: 'two-one', to: '' }, SECRET),
      hopKey(ends, 't'.repeat(32)),
    ];
    assert.equal(new Set(keys.map((key) => key?.toString('hex'))).size, keys.length);
  });

  it('does not exist for names that no relay has', () => {
    for (const from of ['', 'two one', 'two\n', 'x'.repeat(65), 'ä'])
      assert.equal(hopKey({ ...ends, from }, SECRET), undefined);
  });
});

describe('the request of a hop', () => {
  it('arrives unchanged, with the forwarding relay, within its limit', () => {
    for (const sent of [request, { ...request, authorization: undefined }]) {
      const bytes = writeRequest(sent);
      assert.ok(bytes.length < HOP_LINE_MAX_BYTES);
      assert.deepEqual(readRequest(bytes, 'two'), { ...sent, via: 'two' });
    }
  });
});
