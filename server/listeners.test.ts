import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:net';
import { Listeners, OtherAddressError, type Place } from './listeners.ts';

/** Reports the requested address instead of listening. */
class FakeServer extends EventEmitter {
  told: unknown;

  listen(on: unknown, ...rest: unknown[]): void {
    this.told = on;
    (rest.at(-1) as () => void)();
  }

  address() {
    return { address: '127.0.0.1', port: 8080 };
  }

  close(): void {}
}

describe('Listeners', () => {
  const handle = { isClosed: false, close: () => void (handle.isClosed = true) };

  beforeEach(() => {
    handle.isClosed = false;
  });

  /** Whether the opened listener is the previous relay's. */
  async function isTaken(passedAs: string, place: Place): Promise<boolean> {
    const listeners = new Listeners(new Map([[passedAs, handle]]));
    const server = new FakeServer();
    await listeners.open('http', server as unknown as Server, place);
    listeners.closeOthers();
    assert.equal(handle.isClosed, server.told !== handle);
    return server.told === handle;
  }

  it("are the previous relay's if the address is the same", async () => {
    assert.ok(await isTaken('http 127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }));
    assert.ok(await isTaken('http ::1:8080', { host: '::1', port: 8080 }));
    assert.ok(await isTaken('http 127.0.0.1:8080', { host: '127.0.0.1', port: 0 }));
  });

  it('are opened again if the address differs, and the previous ones are closed', async () => {
    for (const passedAs of ['http 127.0.0.1:80', 'http 127.0.0.2:8080', 'metrics 127.0.0.1:8080'])
      assert.ok(!(await isTaken(passedAs, { host: '127.0.0.1', port: 8080 })), passedAs);
    assert.ok(!(await isTaken('http 127.0.0.11:8080', { host: '127.0.0.1', port: 0 })));
  });

  it('of a service manager are used at the address of the settings', async () => {
    for (const host of ['127.0.0.1', 'localhost'])
      for (const port of [8080, 0]) assert.ok(await isTaken('http', { host, port }));
  });

  for (const [host, port, there] of [
    ['127.0.0.1', 80, '127.0.0.1:80'],
    ['::', 8080, '[::]:8080'],
    ['no-such-host.test', 8080, 'no-such-host.test:8080'],
  ] as const)
    it(`of a service manager are refused if the settings say ${there}`, async () => {
      await assert.rejects(isTaken('http', { host, port }), (error) => {
        assert.ok(error instanceof OtherAddressError);
        assert.match(
          error.message,
          /^the service manager listens on 127\.0\.0\.1:8080, but CULVERT_HOST and/,
        );
        assert.ok(error.message.includes(`set ListenStream=${there} in the socket unit`), error.message);
        return true;
      });
    });
});
