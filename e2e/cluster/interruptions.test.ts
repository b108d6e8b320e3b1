import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../shared/tunnel.ts';
import { RelayCluster, responseTo } from '../support/cluster.ts';
import { describeFailure, Load, tallyOf } from '../support/load.ts';
import { DataConnection, hostOf } from '../support/manual-client.ts';
import { Culvert, type Relay } from '../support/programs.ts';
import { RawConnection, type Response } from '../support/raw-http.ts';
import { concurrentTests, type Scope, suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { ControlSocket, openData } from '../support/spec-client/client.ts';

const PAUSE_MS = 30_000;
const REDIS_AWAY_MS = 2000;
const HEALED_MS = 5000;

/** Responds with a word to each connection announced on a new control socket. */
async function serve(scope: Scope, relay: Relay, key: string, tunnel: Tunnel, word: string) {
  const control = await ControlSocket.open(scope, relay, key, tunnel.id);
  control.onMessage = ({ id }) => void answer(scope, relay, id, word);
  return control;
}

async function answer(scope: Scope, relay: Relay, id: string, word: string): Promise<void> {
  const data = new DataConnection(id, await openData(scope, relay, id));
  await data.receivedUpTo('\r\n\r\n');
  data.send(`HTTP/1.1 200 OK\r\nContent-Length: ${word.length}\r\n\r\n${word}`);
}

async function ask(scope: Scope, relay: Relay, tunnel: Tunnel): Promise<Response> {
  const visitor = await RawConnection.open(scope, relay.port, 2 * PAUSE_MS);
  return await visitor.request({ host: hostOf(tunnel, relay) });
}

describe('three relays', function () {
  const scope = suiteScope();
  let paused: RelayCluster;
  let cut: RelayCluster;

  before(async () => {
    [paused, cut] = [await RelayCluster.start(scope, 3), await RelayCluster.start(scope, 3)];
  });

  const test = concurrentTests();

  test(`one that was paused for ${PAUSE_MS / 1000} s does not serve a tunnel that has moved since`, async () => {
    const [first, second] = [paused.relay(0), paused.relay(1)];
    const tunnel = await paused.api(2).create({ local_port: 9 });
    const old = await serve(scope, first, paused.key, tunnel, 'old');
    assert.equal((await ask(scope, first, tunnel)).text, 'old');
    process.kill(first.child.pid, 'SIGSTOP');
    await serve(scope, second, paused.key, tunnel, 'new');
    const early = Array.from({ length: 20 }, () => ask(scope, first, tunnel));
    assert.equal((await ask(scope, paused.relay(2), tunnel)).text, 'new');
    await delay(PAUSE_MS);
    process.kill(first.child.pid, 'SIGCONT');
    const late = Array.from({ length: 20 }, () => ask(scope, first, tunnel));
    for (const { status, text } of await Promise.all([...early, ...late])) {
      assert.deepEqual([status, text], [200, 'new']);
    }
    assert.equal((await old.closed).code, 4000);
    assert.match(first.child.stderr, /relay was paused/);
  });

  test('serve requests within one relay while Redis restarts under load, and all within 5 s after', async () => {
    const service = await startHttpService(scope, (request, response) => {
      request.resume().on('end', () => response.end(`${request.method} ${request.url} 0`));
    });
    const [here, there] = [cut.relay(0), cut.relay(1)];
    const { tunnel } = await Culvert.start(scope, here, cut.key, service.port);
    let next = 0;
    const visit = (relay: Relay, perSecond: number): Load =>
      new Load(relay.port, perSecond, perSecond / 5, () => ({
        host: hostOf(tunnel, relay),
        target: `/${(next += 1)}`,
      }));
    const within = visit(here, 100);
    const between = visit(there, 50);
    await delay(1000);
    const outages: { readonly from: number; readonly to: number }[] = [];
    for (const end of [() => cut.redis.shutDown(), () => cut.redis.stop()]) {
      const from = performance.now();
      await end();
      await delay(REDIS_AWAY_MS);
      await cut.redis.resume();
      outages.push({ from, to: performance.now() });
      await delay(HEALED_MS + 1000);
    }
    await Promise.all([within.stop(), between.stop()]);

    const [own, others] = [tallyOf(within.asked, responseTo), tallyOf(between.asked, responseTo)];
    const healed = outages.map(({ from, to }) => {
      const affected = others.failed.filter(({ at }) => at >= from && at < to + HEALED_MS);
      return Math.max(0, ...affected.map(({ at }) => Math.round(at - to)));
    });
    console.log(
      `      within one relay ${own.sent} requests, ${own.failed.length} failed; between two ${others.sent}, ` +
        `${others.failed.length} failed, the last of them ${healed.join(' and ')} ms after Redis was back`,
    );
    const [begin] = outages;
    assert.deepEqual(
      own.failed.map((asked) => describeFailure(asked, begin?.from ?? 0)),
      [],
    );
    const isExcused = (at: number): boolean =>
      outages.some(({ from, to }) => at >= from - 100 && at < to + HEALED_MS);
    assert.deepEqual(
      others.failed
        .filter(({ at }) => !isExcused(at))
        .map((asked) => describeFailure(asked, begin?.from ?? 0)),
      [],
    );
    assert.ok(others.failed.length > 0, 'nobody noticed that Redis was away');
  });
});
