import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { mock } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { notRun } from '../../../shared/testing/posix.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { connectLocal } from '../../testing/fake-stream.ts';
import { closedPort, closeServers, startTcp, startTls } from '../../testing/servers.ts';
import { Deadlines } from '../clock.ts';
import { LocalDialer, LOCAL_RETRY_MS } from './local-dialer.ts';
import {
  type LocalConnection,
  localPort,
  type LocalTarget,
  LOCAL_CONNECT_TIMEOUT_MS,
} from './local-service.ts';

/** Many containers have no IPv6. */
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
/** A dialer with a clock of its own. */
function setUpDialer(port: number, more: Partial<LocalTarget> = {}) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  return { clock, deadlines, dialer: new LocalDialer({ ...localPort(port), ...more }, deadlines) };
}

const dialerTo = (port: number, more: Partial<LocalTarget> = {}): LocalDialer =>
  setUpDialer(port, more).dialer;

describe('LocalDialer', () => {
  afterEach(closeServers);

  for (const host of ['127.0.0.1', '::1']) {
    it(`reaches a service on ${host}, and tries it first the next time`, async function () {
      if (host === '::1' && !hasIpv6) notRun(this, 'no IPv6');
      const peers: (string | undefined)[] = [];
      const port = await startTcp((socket) => peers.push(socket.localAddress), host);
      const dialer = dialerTo(port);
      for (let round = 0; round < 2; round++) (await connectLocal(dialer)).destroy();
      assert.deepEqual(peers, [host, host]);
    });
  }

  for (const [v4, v6, reported] of [
    ['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED'],
    // Without IPv6.
    ['ECONNREFUSED', 'EADDRNOTAVAIL', 'ECONNREFUSED'],
    ['ECONNREFUSED', 'EAFNOSUPPORT', 'ECONNREFUSED'],
    ['ECONNREFUSED', 'ENETUNREACH', 'ECONNREFUSED'],
    // Without a free local port.
    ['EADDRNOTAVAIL', 'ECONNREFUSED', 'EADDRNOTAVAIL'],
    ['EMFILE', 'EMFILE', 'EMFILE'],
  ] as const)
    it(`reports ${reported} after ${v4} on 127.0.0.1 and ${v6} on ::1`, async () => {
      mock.method(Socket.prototype, 'connect', function fail(this: Socket, ...args: unknown[]) {
        const code = JSON.stringify(args).includes('127.0.0.1') ? v4 : v6;
        return this.destroy(Object.assign(new Error(code), { code }));
      });
      try {
        await assert.rejects(connectLocal(dialerTo(9)), { code: reported });
      } finally {
        mock.restoreAll();
      }
    });

  it('finds a service that has moved to the other address of localhost', async function () {
    if (!hasIpv6) notRun(this, 'no IPv6');
    const peers: (string | undefined)[] = [];
    const port = await startTcp((socket) => peers.push(socket.localAddress), '127.0.0.1');
    const dialer = dialerTo(port);
    (await connectLocal(dialer)).destroy();
    closeServers();
    await startTcp((socket) => peers.push(socket.localAddress), '::1', port);
    for (let round = 0; round < 2; round++) (await connectLocal(dialer)).destroy();
    assert.deepEqual(peers, ['127.0.0.1', '::1', '::1']);
  });

  it('reports nothing after it is cancelled', async () => {
    const dialer = dialerTo(await startTcp((socket) => socket.resume()));
    dialer.connect({ connected: () => assert.fail(), refused: () => assert.fail() }).cancel();
    (await connectLocal(dialer)).destroy();
  });

  it('times out on both addresses', async () => {
    const { clock, deadlines, dialer } = setUpDialer(9);
    const refused = new Promise<Error>((resolve) => {
      dialer.connect({ connected: () => assert.fail(), refused: resolve });
    });
    // Before the system has reported anything about either.
    clock.advance(2 * LOCAL_CONNECT_TIMEOUT_MS);
    assert.equal((await refused).message, 'timed out');
    assert.equal(deadlines.size, 0);
  });

  it('connects to the chosen host only', async () => {
    const peers: (string | undefined)[] = [];
    const port = await startTcp((socket) => peers.push(socket.localAddress), '127.0.0.2');
    // Normally nobody listens on 127.0.0.1, but another program on this machine may.
    await connectLocal(dialerTo(port)).then(
      (other) => other.destroy(),
      (error: unknown) => assert.match(String(error), /ECONNREFUSED/),
    );
    (await connectLocal(dialerTo(port, { host: '127.0.0.2' }))).destroy();
    assert.deepEqual(peers, ['127.0.0.2']);
  });

  it('waits for a service that restarts', async () => {
    const port = await closedPort();
    const { clock, deadlines, dialer } = setUpDialer(port, { waitMs: 5000 });
    const connecting = connectLocal(dialer);
    await refusedBoth(port);
    clock.advance(2 * LOCAL_RETRY_MS);
    await refusedBoth(port);
    await startTcp((socket) => socket.resume(), '127.0.0.1', port);
    clock.advance(2 * LOCAL_RETRY_MS);
    (await connecting).destroy();
    assert.equal(deadlines.size, 0);
  });

  it('waits no longer than its limit', async () => {
    const port = await closedPort();
    const { clock, deadlines, dialer } = setUpDialer(port, { waitMs: 1000 });
    const gaveUp = assert.rejects(connectLocal(dialer), /ECONNREFUSED/);
    for (let passed = 0; deadlines.size > 0; passed += LOCAL_RETRY_MS) {
      assert.ok(passed <= 1000 + 2 * LOCAL_RETRY_MS);
      await refusedBoth(port);
      clock.advance(LOCAL_RETRY_MS);
    }
    await gaveUp;
  });

  describe('with TLS', () => {
    it('accepts a self-signed certificate from this machine, and asks for the host in --host-header', async () => {
      const names = new EventEmitter();
      const port = await startTls((socket) => names.emit('name', (socket as TLSSocket).servername));
      for (const [hostHeader, name] of [
        ['keep', 'localhost'],
        ['local', 'localhost'],
        ['shop.test:8443', 'shop.test'],
        ['192.0.2.1', false],
      ] as const) {
        const asked = once(names, 'name');
        const local = await connectLocal(dialerTo(port, { https: true, hostHeader }));
        assert.deepEqual(await asked, [name], hostHeader);
        assert.ok(local.isOpen);
        local.destroy();
      }
    });

    it('fails at a service without TLS, and reports that', async () => {
      const port = await startTcp((socket) => socket.once('data', () => socket.end('HTTP/1.1 400\r\n\r\n')));
      await assert.rejects(connectLocal(dialerTo(port, { https: true })), /wrong version|closed|packet/i);
    });
  });
});

/** Waits until both addresses have refused the earlier attempts. */
function refusedBoth(port: number): Promise<void> {
  return assert.rejects(connectLocal(dialerTo(port)), /ECONNREFUSED/);
}

describe('a connection of LocalDialer', () => {
  afterEach(closeServers);

  const RESPONSE = Buffer.alloc(40_000, 'HTTP/1.1 413 x\r\n');

  /** Connects to a service that takes nothing, responds when asked to, and resets the connection. */
  async function setUp(https: boolean) {
    const accepted = new EventEmitter();
    const start = https ? startTls : startTcp;
    const port = await start((socket) => accepted.emit('socket', socket.pause()));
    const [local, [service]] = (await Promise.all([
      connectLocal(dialerTo(port, { https })),
      once(accepted, 'socket'),
    ])) as [LocalConnection, [Socket]];
    let received = 0;
    const closed = new Promise<number>((resolve) =>
      local.attach({
        onLocalData: (chunk) => void (received += chunk.length),
        onLocalDrain() {},
        onLocalEnd: () => assert.fail('not a clean end'),
        onLocalClose: () => resolve(received),
      }),
    );
    local.pause();
    /** Its response is on this machine, and then the reset. */
    const respond = async (): Promise<void> => {
      await new Promise<void>((resolve) => service.write(RESPONSE, () => resolve()));
      // The system resets a connection that is closed with unread data.
      service.destroy();
      await once(service, 'close');
    };
    return { local, respond, closed };
  }

  for (const https of [false, true]) {
    for (const isLate of [false, true]) {
      const when = isLate ? 'and after which a write fails' : 'while a write waits';
      it(`hands over what came before a reset ${when}${https ? ', with TLS' : ''}`, async () => {
        const { local, respond, closed } = await setUp(https);
        const writes = isLate ? 1 : 100;
        for (let write = 0; write < writes; write += 1) local.write(Buffer.alloc(100_000));
        await respond();
        if (isLate) local.write(Buffer.alloc(100_000));
        // Node learns of the reset.
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        local.resume();
        assert.equal(await closed, RESPONSE.length);
      });
    }
  }
});
