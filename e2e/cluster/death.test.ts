import assert from 'node:assert/strict';
import { Api } from '../support/api.ts';
import { type Fleet, responseTo, startFleet } from '../support/cluster.ts';
import { assertWithin, eventually } from '../support/deadline.ts';
import { type Asked, describeFailure, latenessOf, tallyOf } from '../support/load.ts';
import { suiteScope } from '../support/scope.ts';

const REQUESTS_PER_SECOND = 300;

/**
 * A connection that is open on a relay belongs to a visitor or to a client. A data socket carries one request at a
 * time, possibly for a visitor on another relay. Requests sent before the relay died fail. Later requests may have to
 * wait for the client if its control socket was on that relay, but do not fail.
 */
describe('a relay that is killed under load', function () {
  const scope = suiteScope();
  let fleet: Fleet;

  before(async () => {
    fleet = await startFleet(scope, 3);
  });

  /** The relay that has the client's control socket, or one that does not have it. */
  function relayWith(client: boolean) {
    const { id } = fleet.culvert.tunnel;
    const holds = fleet.cluster.relays.map((relay) => {
      const last = relay.child.stderr
        .split('\n')
        .filter(
          (line) => line.includes(id) && /"msg":"(client online|client offline|tunnel moved)"/.test(line),
        )
        .at(-1);
      return last?.includes('client online') === true;
    });
    assert.equal(holds.filter(Boolean).length, 1, 'one relay has the client');
    return fleet.cluster.relay(holds.indexOf(client));
  }

  for (const client of [false, true]) {
    it(`fails only its own connections, ${client ? 'with' : 'without'} the client's, and loses nothing that was acknowledged`, async () => {
      const { requests: before } = await new Api(fleet.cluster.relay(0), fleet.cluster.key).get(
        fleet.culvert.tunnel.id,
      );
      const load = fleet.visit(REQUESTS_PER_SECOND);
      const creator = fleet.create();
      await eventually(60_000, () => assert.ok(load.asked.length > 500 && creator.made.length >= 2));
      const relay = relayWith(client);

      const connections = fleet.openOn(relay);
      const killedAt = performance.now();
      relay.child.kill('SIGKILL');
      await relay.child.exit();
      const goneAt = performance.now();
      await eventually(60_000, () => {
        const later = load.asked.filter(({ at }) => at > goneAt).length;
        assert.ok(later > 500, `only ${later} requests`);
        assert.ok(creator.made.length >= 3, `only ${creator.made.length} tunnels were made`);
      });
      await load.stop();
      await creator.stop();
      await relay.restart();

      const { sent, good, failed } = tallyOf(load.asked, responseTo);
      const open = load.asked.filter(({ at, ms }) => at <= goneAt && at + ms >= killedAt);
      const slowest = Math.max(...load.asked.filter(({ at }) => at > goneAt).map(({ ms }) => ms));
      const isFailed = new Set(failed);
      const answered = load.asked.filter((asked) => !isFailed.has(asked));
      const lateMs = latenessOf(load.asked, killedAt);
      const due = answered.filter(({ at, ms }) => at + ms < killedAt - 1000 - lateMs || at > goneAt).length;
      const requests = await eventually(20_000, async () => {
        const now = (await new Api(relay, fleet.cluster.key).get(fleet.culvert.tunnel.id)).requests - before;
        assert.ok(now >= due, `${now} counted of ${due}`);
        return now;
      });
      console.log(
        `      ${sent} requests, ${good} answered right, ${failed.length} failed of ${open.length} that were in flight in the ` +
          `${Math.round(goneAt - killedAt)} ms it took to die; none of those later, ` +
          `which took ${Math.round(slowest)} ms at most; ${creator.made.length} tunnels made, ` +
          `${requests} requests counted`,
      );
      const describe = (asked: Asked): string => describeFailure(asked, goneAt);
      const wasOpen = new Set(open);
      assert.deepEqual(failed.filter((asked) => !wasOpen.has(asked)).map(describe), []);
      const duringDeath = load.asked.filter(({ at }) => at > killedAt && at <= goneAt).length;
      // Requests to the other relays that were forwarded to the client's relay fail with it.
      if (!client) assert.ok(failed.length <= connections + duringDeath, failed.map(describe).join('\n'));
      assertWithin(slowest, 10_000);
      assert.ok(creator.failures.length <= 1, creator.failures.join('\n'));
      assert.deepEqual(await fleet.missing(creator), []);
    });
  }
});
