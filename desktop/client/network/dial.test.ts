import assert from 'node:assert/strict';
import dns from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { mock } from 'node:test';
import { checkScript } from '../../../shared/testing/script.ts';
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
    for (const host of 'localhost.example xlocalhost example.com .localhost 127.0.0.1.example'.split(' ')) {
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

/** Dials whose outcome the test decides, and what has happened. */
class PlayedDials {
  readonly #clock = new FakeClock();
  readonly #handlers: DialHandler[] = [];
  #did: string[] = [];
  #attempt: Attempt | undefined;

  #start(random: number): void {
    this.#attempt = dialAgain<Socket>(
      {
        clock: this.#clock,
        random: () => random,
        open: (index, handler) => {
          assert.equal(this.#handlers.push(handler), index + 1);
          this.#did.push(`dial ${index}`);
          return { cancel: () => void this.#did.push(`drop ${index}`) };
        },
      },
      { connected: () => this.#did.push('connected'), failed: ({ message }) => this.#did.push(message) },
    );
  }

  /** @returns what has happened, and its timers */
  step(step: string): string {
    const [what = '', number = 0] = step.split(' ');
    const handler = this.#handlers[Number(number)];
    if (what.startsWith('+')) this.#clock.advance(Number(what));
    else if (what === 'start') this.#start(Number(number));
    else if (what === 'cancel') this.#attempt?.cancel();
    else if (what === 'connected') handler?.connected(new Socket());
    else if (what === 'reached') handler?.reached?.();
    else handler?.failed(Object.assign(new Error(what), { code: what }));
    return [...this.#did.splice(0), ...this.#clock.waiting.map((ms) => `${ms} ms`)].join(', ');
  }
}

describe('dialAgain', () => {
  for (const [what, script] of Object.entries({
    'dials at 0, 1, 2, 4, 6, … s, and has at most four dials under way': `
      start: dial 0, 1000 ms; +1000: dial 1, 1000 ms; +1000: dial 2, 2000 ms; +2000: dial 3, 2000 ms;
      +2000: drop 0, dial 4, 2000 ms; +2000: drop 1, dial 5, 2000 ms`,
    'dials up to a quarter earlier each time': `
      start 1: dial 0, 750 ms; +750: dial 1, 750 ms; +750: dial 2, 1500 ms; +1500: dial 3, 1500 ms;
      +1500: drop 0, dial 4, 1500 ms`,
    'reports the first socket that opens, and drops the other dials': `
      start: dial 0, 1000 ms; +1000: dial 1, 1000 ms; connected 1: drop 0, connected`,
    'reports the first refusal, and drops the other dials': `
      start: dial 0, 1000 ms; +1000: dial 1, 1000 ms; ECONNREFUSED 1: drop 0, ECONNREFUSED`,
    'continues after dials that got no answer': `
      start: dial 0, 1000 ms; +1000: dial 1, 1000 ms; ETIMEDOUT 0: 1000 ms; ETIMEDOUT 1: 1000 ms;
      +1000: dial 2, 2000 ms`,
    'continues while one dial cannot look up the name, and fails when none can': `
      start: dial 0, 1000 ms; +1000: dial 1, 1000 ms; EAI_AGAIN 0: 1000 ms; EAI_AGAIN 1: EAI_AGAIN`,
    'stops dialling once a peer was reached, and then reports any failure': `
      start: dial 0, 1000 ms; reached; +60000; ETIMEDOUT: ETIMEDOUT`,
    'drops everything when it is cancelled': `
      start: dial 0, 1000 ms; +1000: dial 1, 1000 ms; cancel: drop 0, drop 1`,
  }))
    it(what, () => {
      const dials = new PlayedDials();
      checkScript(script, (step) => dials.step(step));
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
