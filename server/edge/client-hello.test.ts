import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  connect,
  type ConnectionOptions,
  createSecureContext,
  createServer,
  type SecureContext,
  type Server,
} from 'node:tls';
import { assert as holds, nat, property, uint8Array } from 'fast-check';
import { certificate, newKey, pemOf, publicKeyOf } from '../certificates/acme/x509.ts';
import { guardHandshakes, HELLO_MAX_BYTES, readClientHello } from './client-hello.ts';

const DAY_MS = 86_400_000;

async function contextFor(name: string): Promise<SecureContext> {
  const key = await newKey();
  const now = Date.now();
  const content = { names: [name], publicKey: publicKeyOf(key), extensions: [] };
  const cert = certificate({ ...content, from: now - DAY_MS, until: now + DAY_MS }, key);
  return createSecureContext({ cert, key: pemOf(key) });
}

describe('guardHandshakes', () => {
  let contexts: Map<string, SecureContext>;
  let proof: SecureContext;
  let prepared: (string | undefined)[];
  let ready: Promise<void> | undefined;
  let server: Server;

  before(async () => {
    contexts = new Map([['a.test', await contextFor('a.test')]]);
    proof = await contextFor('proof.test');
  });

  beforeEach(async () => {
    prepared = [];
    ready = undefined;
    server = createServer({
      ALPNProtocols: ['http/1.1'],
      SNICallback: (name, use) => use(null, contexts.get(name)),
    });
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    server.on('secureConnection', (socket) => socket.on('error', () => {}).end('hello'));
    guardHandshakes(server, {
      context: (name) => contexts.get(name),
      prepare: (name) => {
        prepared.push(name);
        return ready;
      },
      challenge: (name) => Promise.resolve(name === 'proof.test' ? proof : undefined),
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => void server.close());

  function port(): number {
    return (server.address() as AddressInfo).port;
  }

  /** @returns the names of the certificate, the selected protocol, and the first message of the relay */
  async function shake(servername: string, protocol: string): Promise<readonly unknown[]> {
    const options = { port: port(), host: '127.0.0.1', servername, ALPNProtocols: [protocol] };
    const socket = connect({ ...options, rejectUnauthorized: false });
    let text = '';
    socket.on('data', (part) => (text += String(part)));
    await once(socket, 'secureConnect');
    const names = socket.getPeerCertificate().subjectaltname;
    await once(socket, 'end');
    return [names, socket.alpnProtocol, text];
  }

  it('continues handshakes with the certificate for their host', async () => {
    assert.deepEqual(await shake('a.test', 'http/1.1'), ['DNS:a.test', 'http/1.1', 'hello']);
    assert.deepEqual(prepared, ['a.test']);
  });

  it('holds them back until there is one', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ready = promise;
    const shaken = shake('late.test', 'http/1.1');
    while (prepared.length === 0) await sleep(1);
    contexts.set('late.test', await contextFor('late.test'));
    resolve();
    assert.deepEqual(await shaken, ['DNS:late.test', 'http/1.1', 'hello']);
  });

  it('shows authorities the challenge certificate, and nothing else', async () => {
    assert.deepEqual(await shake('proof.test', 'acme-tls/1'), ['DNS:proof.test', 'acme-tls/1', '']);
    await assert.rejects(shake('a.test', 'acme-tls/1'), /no application protocol|alert/);
    assert.deepEqual(prepared, []);
  });

  it('leaves everything else to TLS, which refuses it', async () => {
    const socket = connectTcp(port(), '127.0.0.1').on('error', () => {});
    socket.write('\0\x01 neither');
    socket.resume();
    await once(socket, 'close');
    assert.deepEqual(prepared, []);
  });

  it('forgets connections that end before their message is complete', async () => {
    const socket = connectTcp(port(), '127.0.0.1').on('error', () => {});
    socket.end(Buffer.from([22, 3, 1]));
    socket.resume();
    await once(socket, 'close');
    assert.deepEqual(prepared, []);
  });
});

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
