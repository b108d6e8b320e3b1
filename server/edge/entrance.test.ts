import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, createSecureContext, createServer as createTlsServer, type SecureContext } from 'node:tls';
import { certificate, newKey, pemOf, publicKeyOf } from '../certificates/acme/x509.ts';
import { until } from '../testing/edge-fixture.ts';
import { Entrance } from './entrance.ts';
import { boundPort } from './listener.ts';

const DAY_MS = 86_400_000;

async function contextFor(name: string): Promise<SecureContext> {
  const key = await newKey();
  const now = Date.now();
  const content = { names: [name], publicKey: publicKeyOf(key), extensions: [] };
  const cert = certificate({ ...content, from: now - DAY_MS, until: now + DAY_MS }, key);
  return createSecureContext({ cert, key: pemOf(key) });
}

describe('Entrance', () => {
  let contexts: Map<string, SecureContext>;
  let proof: SecureContext;
  let prepared: (string | undefined)[];
  let ready: Promise<void> | undefined;
  let server: Server;
  let entrance: Entrance;

  before(async () => {
    contexts = new Map([['a.test', await contextFor('a.test')]]);
    proof = await contextFor('proof.test');
  });

  beforeEach(async () => {
    prepared = [];
    ready = undefined;
    server = createServer();
    const tls = createTlsServer({
      ALPNProtocols: ['http/1.1'],
      SNICallback: (name, use) => use(null, contexts.get(name)),
    });
    tls.on('tlsClientError', (_error, socket) => socket.destroy());
    const guide = {
      context: (name: string) => contexts.get(name),
      prepare: (name: string | undefined) => {
        prepared.push(name);
        return ready;
      },
      challenge: (name: string) => Promise.resolve(name === 'proof.test' ? proof : undefined),
    };
    entrance = new Entrance(server, { tls: { server: tls, guide } }, 9, (socket) =>
      socket.on('error', () => {}).end('hello'),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => void server.close());

  /** @returns the names of the certificate, the selected protocol, and the first message of the relay */
  async function shake(servername: string, protocol: string): Promise<readonly unknown[]> {
    const options = { port: boundPort(server), host: '127.0.0.1', servername, ALPNProtocols: [protocol] };
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
    const socket = connectTcp(boundPort(server), '127.0.0.1').on('error', () => {});
    socket.write('\0\x01 neither');
    socket.resume();
    await once(socket, 'close');
    assert.deepEqual(prepared, []);
  });

  it('forgets connections that end before their message is complete', async () => {
    const socket = connectTcp(boundPort(server), '127.0.0.1').on('error', () => {});
    await until(() => entrance.current.length === 1);
    socket.end(Buffer.from([22, 3, 1]));
    socket.resume();
    await once(socket, 'close');
    await until(() => entrance.current.length === 0);
    assert.deepEqual(prepared, []);
  });
});
