import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { mock } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Deadlines, systemClock } from '../clock.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { speaksTls } from '../relay/errors.ts';
import {
  type Attempt,
  dial,
  dialAgain,
  type DialHandler,
  isLoopback,
  isLoopbackName,
  lookupFor,
} from './dial.ts';

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

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}

describe('dialAgain', () => {
  interface Dialled {
    readonly at: number;
    readonly handler: DialHandler;
    isCancelled: boolean;
  }

  let clock: FakeClock;
  let dials: Dialled[];
  let sockets: Socket[];
  let failures: Error[];

  beforeEach(() => {
    clock = new FakeClock();
    dials = [];
    sockets = [];
    failures = [];
  });

  function start(random = 0): Attempt {
    return dialAgain<Socket>(
      {
        clock,
        random: () => random,
        open(index, handler) {
          assert.equal(index, dials.length);
          const one = { at: clock.monotonic(), handler, isCancelled: false };
          dials.push(one);
          return { cancel: () => void (one.isCancelled = true) };
        },
      },
      { connected: (socket) => sockets.push(socket), failed: (error) => failures.push(error) },
    );
  }

  const at = (index: number): Dialled => dials.at(index) ?? assert.fail('no such dial');
  const times = (): number[] => dials.map((one) => one.at);

  it('dials at 0, 1, 2, 4, 6, … s, or up to a quarter earlier each time', () => {
    start();
    clock.advance(8000);
    assert.deepEqual(times(), [0, 1000, 2000, 4000, 6000, 8000]);
    dials = [];
    clock = new FakeClock();
    start(1);
    clock.advance(6000);
    assert.deepEqual(times(), [0, 750, 1500, 3000, 4500, 6000]);
  });

  it('has at most four dials under way, and drops the oldest', () => {
    start();
    clock.advance(8000);
    assert.deepEqual(
      dials.map(({ isCancelled }) => isCancelled),
      [true, true, false, false, false, false],
    );
  });

  it('reports the first socket that opens, and drops the other dials', () => {
    start();
    clock.advance(1000);
    const socket = new Socket();
    at(1).handler.connected(socket);
    assert.deepEqual([sockets, at(0).isCancelled, clock.waiting], [[socket], true, []]);
  });

  it('reports the first refusal, and drops the other dials', () => {
    start();
    clock.advance(1000);
    at(1).handler.failed(coded('ECONNREFUSED'));
    assert.deepEqual([failures.length, at(0).isCancelled, clock.waiting], [1, true, []]);
  });

  it('continues after a dial that got no answer', () => {
    start();
    clock.advance(1000);
    at(0).handler.failed(coded('ETIMEDOUT'));
    at(1).handler.failed(coded('ETIMEDOUT'));
    clock.advance(1000);
    assert.deepEqual([failures, dials.length], [[], 3]);
  });

  it('continues while one dial cannot look up the name, and fails when none can', () => {
    start();
    clock.advance(1000);
    at(0).handler.failed(coded('EAI_AGAIN'));
    assert.deepEqual(failures, []);
    at(1).handler.failed(coded('EAI_AGAIN'));
    assert.equal(failures.length, 1);
  });

  it('stops dialling once a peer was reached, and then reports any failure', () => {
    start();
    at(0).handler.reached?.();
    clock.advance(60_000);
    assert.equal(dials.length, 1);
    at(0).handler.failed(coded('ETIMEDOUT'));
    assert.equal(failures.length, 1);
  });

  it('drops everything when it is cancelled', () => {
    const attempt = start();
    clock.advance(2000);
    attempt.cancel();
    assert.ok(dials.every(({ isCancelled }) => isCancelled));
    assert.deepEqual(clock.waiting, []);
  });
});

describe('dial', () => {
  it('reports that it has reached a peer before the connection is secured', async () => {
    const server = createServer((socket) => socket.on('error', () => {}));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise<void>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, tls: { serverName: 'relay.test' } };
      const attempt = dial(options, {
        connected: () => reject(new Error('it was secured')),
        failed: reject,
        reached() {
          attempt.cancel();
          resolve();
        },
      });
    });
    server.close();
  });
});
