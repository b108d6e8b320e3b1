import assert from 'node:assert/strict';
import { demand } from './demand.ts';
import { type Scenario, shareElsewhere } from './scenario.ts';

const IDLE: Scenario = {
  relays: 3,
  tunnels: 3000,
  reconnects: 0,
  changes: 0,
  requests: 0,
  requestsPerConnection: 10,
  elsewhere: shareElsewhere(3),
  hops: shareElsewhere(3),
  busyTunnels: 0,
  relaysPerBusyTunnel: 1,
};

describe('what several relays need', () => {
  it('when idle: two scripts of each relay every 3 s, and all tunnels recorded again every 5 min', () => {
    const { redis, relay } = demand(IDLE);
    assert.equal(redis.scriptsPerSecond, 2 + 6 / 300);
    assert.deepEqual([redis.published, redis.delivered, relay.cores], [0, 0, 0]);
  });

  it('a message for each visitor whose client is on another relay, however many requests the visitor sends', () => {
    const { redis } = demand({ ...IDLE, requests: 300 });
    assert.ok(Math.abs(redis.published - 20) < 1e-9);
    assert.equal(demand({ ...IDLE, requests: 300, elsewhere: 0 }).redis.published, 0);
  });

  it('grows with the square of the relays where each of them tells all', () => {
    const [many, twice] = [100, 200].map((relays) => demand({ ...IDLE, relays, tunnels: 0 }).redis.bytesOut);
    assert.ok(many !== undefined && twice !== undefined && twice / many > 3.9);
  });

  it('writes a row for each busy tunnel and relay in each flush', () => {
    const { rows } = demand({ ...IDLE, busyTunnels: 90, relaysPerBusyTunnel: 2 }).database;
    assert.ok(Math.abs(rows - 200) < 1e-9);
  });
});
