import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { AccountPool } from '../support/accounts.ts';
import { timed, within } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';

const PING_EVERY_MS = 30_000;
const DEAD_AFTER_MS = 60_000;
const TOLERANCE_MS = 5000;

/** What takes a minute and more by the contract; everything in this file waits at the same time. */
describe('keepalive and the one-minute limits', () => {
  const scope = suiteScope();
  let relay: Relay;
  let pool: AccountPool;
  /** Each scenario's outcome, settled by the time the tests look. */
  let silent: { code: number; afterPingMs: number; pings: number };
  let lively: { pings: number[]; isOpen: boolean };
  let silentBody: { status: number; ms: number; dataEnded: boolean };
  let stalledVisitor: { ms: number };

  before(async function () {
    this.timeout(120_000);
    relay = await Relay.start(scope);
    pool = new AccountPool(relay);
    [silent, lively, silentBody, stalledVisitor] = await Promise.all([
      playSilentClient(),
      playLivelyClient(),
      playSilentBody(),
      playStalledVisitor(),
    ]);
  });

  async function playSilentClient() {
    const { control } = await ManualClient.start(scope, relay, pool);
    control.socket.answersPings = false;
    const { code } = await within(110_000, 'end of the control socket', control.closed);
    return { code, afterPingMs: performance.now() - (control.pings[0] ?? 0), pings: control.pings.length };
  }

  async function playLivelyClient() {
    const { control } = await ManualClient.start(scope, relay, pool);
    const opened = performance.now();
    let isOpen = true;
    void control.closed.then(() => (isOpen = false));
    await delay(2 * PING_EVERY_MS + DEAD_AFTER_MS / 2 + TOLERANCE_MS);
    return { pings: control.pings.map((at) => at - opened), isOpen };
  }

  async function playSilentBody() {
    const client = await ManualClient.start(scope, relay, pool);
    const visitor = await RawConnection.open(scope, relay.port, 80_000);
    await visitor.write(`POST / HTTP/1.1\r\nHost: ${client.host}\r\nContent-Length: 100\r\n\r\nonly this`);
    const data = await client.accept();
    let dataEnded = false;
    void data.socket.closed.then(() => (dataEnded = true));
    const { value: head, ms } = await timed(() => visitor.head());
    await delay(1000);
    return { status: head.status, ms, dataEnded };
  }

  /** A visitor that takes nothing while megabytes wait for it. */
  async function playStalledVisitor() {
    const client = await ManualClient.start(scope, relay, pool);
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    visitor.socket.pause();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
    data.send(Buffer.alloc(100_000_000));
    const { ms } = await timed(() => within(90_000, 'end of the data socket', data.socket.closed));
    return { ms };
  }

  it('pings come every 30 s', () => {
    assert.ok(lively.pings.length >= 3, `${lively.pings.length} pings`);
    lively.pings.slice(0, 3).forEach((at, index) => {
      const due = (index + 1) * PING_EVERY_MS;
      assert.ok(Math.abs(at - due) < TOLERANCE_MS, `ping ${index + 1} after ${at} ms`);
    });
  });

  it('a client that answers them stays connected', () => {
    assert.equal(lively.isOpen, true);
  });

  it('a client that does not is dead 60 s after the first unanswered one', () => {
    assert.ok(Math.abs(silent.afterPingMs - DEAD_AFTER_MS) < TOLERANCE_MS, `after ${silent.afterPingMs} ms`);
  });

  it('408 for a request body that is silent for 60 s, and the client is told', () => {
    assert.equal(silentBody.status, 408);
    assert.ok(silentBody.ms > 58_000 && silentBody.ms < 70_000, `after ${silentBody.ms} ms`);
    assert.equal(silentBody.dataEnded, true);
  });

  it('a visitor that takes no byte for 60 s while some wait is cut', () => {
    assert.ok(stalledVisitor.ms > 58_000 && stalledVisitor.ms < 75_000, `after ${stalledVisitor.ms} ms`);
  });
});
