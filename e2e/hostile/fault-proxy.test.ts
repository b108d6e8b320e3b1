import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/deadline.ts';
import { FaultProxy, type ProxiedConnection } from '../support/fault-proxy.ts';
import { RawConnection } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';

const LATENCY_MS = 50;
/** ms within which a response that is held up would otherwise have arrived many times over */
const HELD_MS = 1000;

async function ask(visitor: RawConnection, target: string): Promise<string> {
  return readEcho(await visitor.request({ host: 'a', target })).url;
}

/** The faults that the other tests here rely on. */
describe('the simulated network', () => {
  const scope = suiteScope();

  /** Two visitors of one service, and their connections through the proxy. */
  async function start() {
    const service = await startEchoService(scope);
    const network = await FaultProxy.start(scope, service.port);
    async function join(path: string): Promise<[RawConnection, ProxiedConnection]> {
      const visitor = await RawConnection.open(scope, network.port, 60_000);
      assert.equal(await ask(visitor, `${path}?x`), `${path}?x`);
      const [connection, ...others] = network.connectionsTo(path);
      assert.deepEqual(others, []);
      return [visitor, connection ?? assert.fail(`no connection to ${path}`)];
    }
    return { network, one: await join('/one'), other: await join('/other') };
  }

  it('holds up a single connection without losing anything', async () => {
    const { one, other } = await start();
    one[1].stall();
    const held = ask(one[0], '/held');
    for (let count = 0; count < 20; count += 1) assert.equal(await ask(other[0], '/free'), '/free');
    assert.equal(await Promise.race([held, delay(HELD_MS)]), undefined);
    one[1].flow();
    assert.equal(await held, '/held');
  });

  it('silently swallows what one connection carries', async () => {
    const { network, one, other } = await start();
    one[1].swallow();
    await one[0].write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(await ask(other[0], '/free'), '/free');
    assert.equal(await Promise.race([one[0].ending, delay(HELD_MS)]), undefined);
    assert.equal(network.connections, 2);
  });

  it('leaves everything without an answer while its line is cut, and connects afterwards', async () => {
    const { network, one } = await start();
    await network.blackOut();
    await one[0].write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const late = RawConnection.open(scope, network.port, 60_000);
    assert.equal(await Promise.race([one[0].ending, late, delay(HELD_MS)]), undefined);
    await network.mend();
    assert.equal(await ask(await late, '/late'), '/late');
    assert.equal(await Promise.race([one[0].ending, delay(HELD_MS)]), undefined);
  });

  it('resets one connection', async () => {
    const { network, one, other } = await start();
    one[1].reset();
    assert.equal(await one[0].ending, 'reset');
    assert.equal(await ask(other[0], '/free'), '/free');
    await eventually(20_000, () => assert.equal(network.connections, 1));
  });

  it('counts the delivered bytes of a connection', async () => {
    const { one } = await start();
    const before = [one[1].deliveredToRelay, one[1].deliveredToClient] as const;
    await ask(one[0], '/again');
    assert.equal(one[1].deliveredToRelay - before[0], 'GET /again HTTP/1.1\r\nHost: a\r\n\r\n'.length);
    assert.ok(one[1].deliveredToClient > before[1]);
  });

  it('delays lost bytes and all that follow by a round trip', async () => {
    const { network, one } = await start();
    network.shape.latencyMs = LATENCY_MS;
    const visit = async (): Promise<number> => {
      const at = performance.now();
      assert.equal(await ask(one[0], '/lossy'), '/lossy');
      return performance.now() - at;
    };
    // A timer may be early by a fraction of a ms.
    assert.ok((await visit()) >= 2 * LATENCY_MS - 2);
    network.shape.bytesPerLoss = 1;
    // Request and response are lost once each.
    assert.ok((await visit()) >= 6 * LATENCY_MS - 4);
  });
});
