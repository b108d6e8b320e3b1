import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { mock } from 'node:test';
import { Deadlines, systemClock } from '../clock.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { speaksTls } from '../relay/errors.ts';
import { dial, isLoopback, isLoopbackName, lookupFor } from './dial.ts';

describe('a name of this machine', () => {
  let server: Server;
  let port: number;

  beforeEach(async () => {
    server = createServer((socket) => socket.on('error', () => {}).end('x'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    ({ port } = server.address() as AddressInfo);
    mock.method(dns, 'lookup', () => assert.fail('a resolver is asked'));
  });

  afterEach(() => {
    mock.restoreAll();
    server.close();
  });

  for (const host of ['localhost', 'relay.localhost', 'a.b.LOCALHOST'])
    it(`connects ${host} to this machine without a resolver`, async () => {
      const address = await new Promise((resolve, reject) =>
        dial(
          { host, port },
          {
            connected: (socket) => {
              resolve(socket.remoteAddress);
              socket.destroy();
            },
            failed: reject,
          },
        ),
      );
      assert.equal(address, '127.0.0.1');
      const target = { host, port, https: false, waitMs: 0 };
      assert.deepEqual(new LocalDialer(target, new Deadlines(systemClock)).hosts, ['127.0.0.1', '::1']);
      assert.equal(await speaksTls({ hostname: host, host: `${host}:${port}`, port, secure: true }), false);
    });

  it('is distinguished from other names and from addresses', () => {
    for (const host of ['localhost', 'x.localhost', 'X.LOCALHOST']) assert.ok(isLoopbackName(host), host);
    for (const host of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
      assert.ok(isLoopback(host), host);
      assert.ok(!isLoopbackName(host), host);
    }
    for (const host of [
      'localhost.example',
      'xlocalhost',
      'example.com',
      '.localhost',
      '127.0.0.1.example',
    ]) {
      assert.ok(!isLoopback(host), host);
      assert.equal(lookupFor(host), undefined, host);
    }
  });

  it('resolves to the addresses of the requested family', async () => {
    const lookup = lookupFor('x.localhost');
    const found = async (options: object): Promise<unknown> =>
      await new Promise((resolve) =>
        lookup?.('x.localhost', options, (_error, address, family) => resolve([address, family])),
      );
    assert.deepEqual(await found({}), ['127.0.0.1', 4]);
    assert.deepEqual(await found({ family: 6 }), ['::1', 6]);
    assert.deepEqual(await found({ all: true, family: 4 }), [
      [{ address: '127.0.0.1', family: 4 }],
      undefined,
    ]);
  });
});
