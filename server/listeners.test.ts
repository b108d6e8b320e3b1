import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:net';
import { Listeners, type Place } from './listeners.ts';

/** Reports the requested address instead of listening. */
class FakeServer extends EventEmitter {
  told: unknown;

  listen(on: unknown, ...rest: unknown[]): void {
    this.told = on;
    (rest.at(-1) as () => void)();
  }

  address(): { port: number } {
    return { port: 8080 };
  }
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

  it('of a service manager are used at any address', async () => {
    assert.ok(await isTaken('http', { host: '127.0.0.1', port: 80 }));
  });
});
