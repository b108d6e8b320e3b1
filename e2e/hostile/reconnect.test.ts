import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { AccountPool } from '../support/accounts.ts';
import { assertWithin, eventually, timed } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';

/** The longest wait between two attempts of a client (protocol.md). */
const BACKOFF_MAX_MS = 15_000;

describe('a relay that restarts again and again', function () {
  const scope = suiteScope();

  it('is found again by its client 8 times in a row, with the same address', async () => {
    const relay = await Relay.start(scope);
    const { api, key } = await new AccountPool(relay).take();
    const service = await startEchoService(scope);
    const { tunnel, child } = await Culvert.start(scope, relay, key, service.port);
    const host = hostOf(tunnel, relay);
    const descriptors = (): number => readdirSync(`/proc/${child.pid}/fd`).length;
    let before = 0;
    for (let round = 1; round <= 8; round += 1) {
      await relay.stop(round % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
      await relay.restart();
      const { ms } = await timed(() =>
        eventually(60_000, async () =>
          assert.equal(readEcho(await visit(relay.port, { host, target: `/${round}` })).url, `/${round}`),
        ),
      );
      assertWithin(ms, BACKOFF_MAX_MS);
      if (round === 2) before = descriptors();
    }
    const [only, ...more] = await api.list();
    assert.deepEqual([only?.id, only?.public_url, more], [tunnel.id, tunnel.public_url, []]);
    await eventually(20_000, () =>
      assert.ok(descriptors() <= before + 2, `${descriptors()} after ${before}`),
    );
    assert.equal(child.stderr, '');
  });
});
