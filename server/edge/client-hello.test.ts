import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { connect, type ConnectionOptions } from 'node:tls';
import { assert as holds, nat, property, uint8Array } from 'fast-check';
import { HELLO_MAX_BYTES, readClientHello } from './client-hello.ts';

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

describe('readClientHello', () => {
  let hello: Buffer;

  before(async () => {
    hello = await helloOf({ servername: 'a.test', ALPNProtocols: ['acme-tls/1', 'http/1.1'] });
  });

  const wanted = { serverName: 'a.test', protocols: ['acme-tls/1', 'http/1.1'] };

  it('reads the requested host and the offered protocols', async () => {
    assert.deepEqual(readClientHello(hello), wanted);
    assert.deepEqual(readClientHello(await helloOf({})), { serverName: undefined, protocols: [] });
    const old = await helloOf({ servername: 'b.test', maxVersion: 'TLSv1.2' });
    assert.deepEqual(readClientHello(old), { serverName: 'b.test', protocols: [] });
  });

  it('reports how many bytes are missing at least from an incomplete message', () => {
    for (let length = 0; length < hello.length; length += 1) {
      const missing = readClientHello(hello.subarray(0, length));
      assert.ok(typeof missing === 'number' && missing > length && missing <= hello.length);
    }
    assert.deepEqual(readClientHello(Buffer.concat([hello, Buffer.from('more')])), wanted);
  });

  it('accepts up to eight records', () => {
    assert.deepEqual(readClientHello(inRecords(hello, Math.ceil((hello.length - 5) / 8))), wanted);
    assert.equal(readClientHello(inRecords(hello, Math.floor((hello.length - 5) / 9))), undefined);
  });

  it('rejects a message of more than 16 KiB', () => {
    const long = Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0]), Buffer.alloc(2 ** 14, 1)]);
    assert.equal(readClientHello(long), undefined);
    assert.ok(long.length > HELLO_MAX_BYTES);
  });

  it('rejects anything else, whatever arrives', () => {
    assert.equal(readClientHello(Buffer.from('GET / HTTP/1.1\r\n')), undefined);
    holds(
      property(nat(hello.length - 1), nat(255), (at, value) => {
        const bytes = Buffer.from(hello);
        bytes[at] = value;
        const read = readClientHello(bytes);
        assert.ok(read === undefined || typeof read === 'number' || Array.isArray(read.protocols));
      }),
    );
    holds(
      property(uint8Array({ maxLength: 200 }), (bytes) => {
        const all = Buffer.concat([Buffer.from([22, 3, 1, 0, bytes.length]), bytes]);
        assert.ok(readClientHello(all) === undefined || typeof readClientHello(all) === 'number');
      }),
    );
  });
});
