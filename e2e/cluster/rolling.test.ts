import assert from 'node:assert/strict';
import { responseTo, startFleet } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { describeFailure, tallyOf } from '../support/load.ts';
import { WHICH_RELAY } from '../support/native-server.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';

const REQUESTS_PER_SECOND = 300;

/** A deployment as an operator does it: one relay after the other, each once the previous one is back. */
describe('a rolling restart of three relays behind nginx', function () {
  const scope = suiteScope();

  it(`at ${REQUESTS_PER_SECOND} requests/s fails no request, loses no tunnel, and keeps the client online`, async () => {
    const fleet = await startFleet(scope, 3);
    const load = fleet.visit(REQUESTS_PER_SECOND);
    const creator = fleet.create();
    await eventually(60_000, () => assert.ok(load.asked.length > 100));
    const begin = performance.now();
    const took: number[] = [];
    for (const relay of fleet.cluster.relays) {
      const stopping = performance.now();
      assert.deepEqual(await relay.stop('SIGTERM', 35_000), { code: 0, signal: null });
      took.push(Math.round(performance.now() - stopping));
      await relay.restart();
      // nginx counts a relay that was away as down for a second, and responds with 502 while all of them are down.
      await eventually(60_000, async () => {
        const { head } = await visit(fleet.port, { host: `localhost:${fleet.port}`, target: WHICH_RELAY });
        assert.equal(head.field('upstream'), `127.0.0.1:${relay.port}`);
      });
    }
    await eventually(60_000, () => {
      assert.ok(load.asked.length > 1000, `only ${load.asked.length} requests`);
      assert.ok(creator.made.length >= 5, `only ${creator.made.length} tunnels were made`);
    });
    const seconds = (performance.now() - begin) / 1000;
    await load.stop();
    await creator.stop();

    const { sent, good, failed } = tallyOf(load.asked, responseTo);
    console.log(
      `      ${sent} requests in ${seconds.toFixed(1)} s, ${good} answered right, ${failed.length} failed; ` +
        `relays took ${took.join(', ')} ms to end; ${creator.made.length} tunnels made meanwhile`,
    );
    assert.deepEqual(
      failed.map((asked) => describeFailure(asked, begin)),
      [],
    );
    assert.deepEqual(creator.failures, []);
    assert.deepEqual(await fleet.missing(creator), []);
    assert.deepEqual(fleet.events, ['online']);
    // The balancer keeps 16 connections, each with a data socket. Connections left over from visitors would be
    // hundreds.
    await eventually(20_000, () => {
      const open = fleet.openOn(...fleet.cluster.relays);
      assert.ok(open < 100, `${open} connections are left`);
    });
    assert.deepEqual(
      took.filter((ms) => ms > 30_000),
      [],
    );
  });
});
