import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { connect, type ConnectionOptions } from 'node:tls';
import { assert as holds, nat, property, uint8Array } from 'fast-check';
import { HELLO_MAX_BYTES, HelloReader } from './client-hello.ts';

/** The first message of Node. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  return await new Promise((resolve) => {
    const socket: Duplex = new Duplex({
      read() {},
      write(chunk: Buffer) {
        resolve(chunk);
        socket.destroy();
      },
    });
    connect({ ...options, socket }).on('error', () => {});
  });
}

/** The same message in records of another size. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
}

/** What is read from bytes that arrive at once. */
function read(bytes: Buffer): ReturnType<HelloReader['push']> {
  return new HelloReader().push(bytes);
}

describe('HelloReader', () => {
  let hello: Buffer;

  before(async () => {
    hello = await helloOf({ servername: 'a.test', ALPNProtocols: ['acme-tls/1', 'http/1.1'] });
  });

  const wanted = { serverName: 'a.test', protocols: ['acme-tls/1', 'http/1.1'] };

  it('reads the requested host and the offered protocols', async () => {
    assert.deepEqual(read(hello), wanted);
    assert.deepEqual(read(await helloOf({})), { serverName: undefined, protocols: [] });
    const old = await helloOf({ servername: 'b.test', maxVersion: 'TLSv1.2' });
    assert.deepEqual(read(old), { serverName: 'b.test', protocols: [] });
  });

  it('reads a message in pieces of any size, and keeps what has arrived', () => {
    const more = Buffer.concat([hello, Buffer.from('more')]);
    for (const size of [1, 2, 7, 100, more.length]) {
      const reader = new HelloReader();
      let found: ReturnType<HelloReader['push']> = 'incomplete';
      for (let at = 0; at < more.length; at += size) {
        const before = Math.min(at + size, more.length);
        found = reader.push(more.subarray(at, before));
        assert.deepEqual(found, before < hello.length ? 'incomplete' : wanted);
      }
      assert.deepEqual(reader.bytes, more);
    }
  });

  it('reads a message in records of any size', () => {
    for (const size of [1, 3, 500]) assert.deepEqual(read(inRecords(hello, size)), wanted);
  });

  it('reads a message of 64 KiB in records of one byte that arrive byte by byte, and no longer one', () => {
    for (const [length, expected] of [
      [HELLO_MAX_BYTES, wanted],
      [HELLO_MAX_BYTES + 1, undefined],
    ] as const) {
      const records = inRecords(padded(hello, length), 1);
      const reader = new HelloReader();
      let found: ReturnType<HelloReader['push']> = 'incomplete';
      for (const byte of records) if (found === 'incomplete') found = reader.push(Buffer.of(byte));
      assert.deepEqual(found, expected);
    }
  });

  it('rejects anything else, whatever arrives', () => {
    assert.equal(read(Buffer.from('GET / HTTP/1.1\r\n')), undefined);
    holds(
      property(nat(hello.length - 1), nat(255), (at, value) => {
        const bytes = Buffer.from(hello);
        bytes[at] = value;
        const found = read(bytes);
        assert.ok(found === undefined || found === 'incomplete' || Array.isArray(found.protocols));
      }),
    );
    holds(
      property(uint8Array({ maxLength: 200 }), (bytes) => {
        const all = Buffer.concat([Buffer.from([22, 3, 1, 0, bytes.length]), bytes]);
        const found = read(all);
        assert.ok(found === undefined || found === 'incomplete');
      }),
    );
  });
});

/** The same message with an extension for padding (RFC 7685), in one record. */
function padded(hello: Buffer, length: number): Buffer {
  const message = hello.subarray(5);
  const missing = length - message.length;
  const extension = Buffer.alloc(missing);
  extension.writeUInt16BE(21);
  extension.writeUInt16BE(missing - 4, 2);
  const whole = Buffer.concat([message, extension]);
  whole.writeUIntBE(whole.length - 4, 1, 3);
  // Version, random bytes, session, ciphers and compression precede the extensions.
  let at = 4 + 2 + 32;
  at += 1 + whole.readUInt8(at);
  at += 2 + whole.readUInt16BE(at);
  at += 1 + whole.readUInt8(at);
  whole.writeUInt16BE(whole.readUInt16BE(at) + missing, at);
  return Buffer.concat([Buffer.alloc(5), whole]);
}
