import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { AccountPool } from '../support/accounts.ts';
import { concurrentTests } from '../support/concurrent-tests.ts';
import { timed, within } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';

const PING_EVERY_MS = 30_000;
const DEAD_AFTER_MS = 60_000;
const TOLERANCE_MS = 5000;

/** The minute-long limits of the contract: about 95 s in which next to nothing happens. */
describe('keepalive and the limits of a minute', function () {
  this.timeout(150_000);
  const scope = suiteScope();
  let relay: Relay;
  let pool: AccountPool;

  before(async () => {
    relay = await Relay.start(scope);
    pool = new AccountPool(relay);
  });

  const together = concurrentTests();

  async function connect(): Promise<ManualClient> {
    return await ManualClient.start(scope, relay, pool);
  }

  together('pings come every 30 s, and a client that answers them stays connected', async () => {
    const { control } = await connect();
    const opened = performance.now();
    let isOpen = true;
    void control.closed.then(() => (isOpen = false));
    await delay(3 * PING_EVERY_MS + TOLERANCE_MS);
    const pings = control.pings.map((at) => at - opened);
    assert.equal(pings.length, 3);
    pings.forEach((at, index) => {
      const due = (index + 1) * PING_EVERY_MS;
      assert.ok(Math.abs(at - due) < TOLERANCE_MS, `ping ${index + 1} after ${at} ms`);
    });
    assert.equal(isOpen, true);
  });

  together('a client that does not answer is dead 60 s after the first ping, to within 5 s', async () => {
    const { control } = await connect();
    control.socket.answersPings = false;
    await within(110_000, 'end of the control socket', control.closed);
    const ms = performance.now() - (control.pings[0] ?? 0);
    assert.ok(Math.abs(ms - DEAD_AFTER_MS) < TOLERANCE_MS, `after ${ms} ms`);
  });

  together('408 for a request body that is silent for 60 s, and the client hears of it', async () => {
    const client = await connect();
    const visitor = await RawConnection.open(scope, relay.port, 80_000);
    await visitor.write(`POST / HTTP/1.1\r\nHost: ${client.host}\r\nContent-Length: 100\r\n\r\nonly this`);
    const data = await client.accept();
    const { value: head, ms } = await timed(() => visitor.head());
    assert.equal(head.status, 408);
    assert.ok(ms > 58_000 && ms < 70_000, `after ${ms} ms`);
    await within(2000, 'end of the data socket', data.socket.closed);
  });

  together('a body that is slow, but not silent, goes on', async () => {
    const client = await connect();
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(`POST / HTTP/1.1\r\nHost: ${client.host}\r\nContent-Length: 3\r\n\r\na`);
    const data = await client.accept();
    for (const byte of 'bc') {
      await delay(40_000);
      await visitor.write(byte);
    }
    await data.receivedUpTo('abc');
    data.send('HTTP/1.1 204 No Content\r\n\r\n');
    assert.equal((await visitor.response()).status, 204);
  });

  together('a visitor that takes no byte for 60 s while some wait is cut', async () => {
    const client = await connect();
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    visitor.socket.pause();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
    data.send(Buffer.alloc(100_000_000));
    const { ms } = await timed(() => within(90_000, 'end of the data socket', data.socket.closed));
    assert.ok(ms > 58_000 && ms < 75_000, `after ${ms} ms`);
  });

  together('a service may be silent for more than a minute, before its answer and within it', async () => {
    const client = await connect();
    const visitor = await RawConnection.open(scope, relay.port, 80_000);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    await delay(20_000);
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nthen');
    const head = await visitor.finalHead();
    await delay(65_000);
    data.send('last');
    assert.equal((await visitor.rest(head)).text, 'thenlast');
  });
});
