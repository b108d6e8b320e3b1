import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import { HostResolver } from '../routing/host-resolver.ts';
import { type Plan, planRequest } from '../routing/request-plan.ts';
import { AddressCount, AddressLimits } from './address-limits.ts';
import { Admission } from './admission.ts';
import { Place, Seats } from './seats.ts';

const PROXY = { address: '10.0.0.1', proto: 'http', trusted: true } as const;

describe('Admission', () => {
  const proxies = new BlockList();
  proxies.addAddress(PROXY.address);
  const tunnel = { slug: 'abc', account: { id: 'one', subdomain: null } } as unknown as LiveTunnel;
  let seats: Seats;
  let addresses: AddressLimits;

  beforeEach(() => {
    seats = new Seats({ visitors: 10, newcomers: 10 });
    addresses = new AddressLimits({ connections: 2, requests: 0 }, proxies, new FakeClock());
  });

  function connect(): Admission {
    const occupant = { isWaiting: true, giveWay() {}, destroy() {} };
    return new Admission(new Place(seats, occupant), new AddressCount(addresses, PROXY, occupant));
  }

  function plan(host = 'abc.localhost'): Plan {
    const decided = planRequest(
      Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n`),
      {
        hosts: new HostResolver({ own: 'localhost', tunnel: 'localhost', service: 'localhost' }),
        tunnels: { bySlug: () => tunnel, byDomain: () => undefined, isVerified: () => false },
        pathForm: true,
        trustedProxies: proxies,
      },
    );
    assert.ok(typeof decided === 'object');
    return decided;
  }

  it('counts a request through a trusted proxy for its visitor while it is under way, and no longer', () => {
    for (let count = 0; count < 3; count += 1) {
      const connection = connect();
      assert.equal(connection.begin(plan(), false), undefined);
      connection.end();
    }
    assert.equal(addresses.size, 0);
    const [one, two, three] = [connect(), connect(), connect()];
    for (const connection of [one, two]) assert.equal(connection.begin(plan(), false), undefined);
    assert.deepEqual(three.begin(plan(), false), { code: 'too-many', ends: false });
    three.end();
    one.leave();
    assert.equal(three.begin(plan(), false), undefined);
  });

  it('limits nobody who asks for the API', () => {
    for (let count = 0; count < 3; count += 1)
      assert.equal(connect().begin(plan('localhost'), false), undefined);
    assert.equal(addresses.size, 0);
  });

  it('gives no seat when the relay responds in place of the tunnel', () => {
    assert.equal(connect().begin(plan(), true), undefined);
    assert.equal(seats.busy, 0);
    assert.equal(connect().begin(plan(), false), undefined);
    assert.equal(seats.busy, 1);
  });
});
