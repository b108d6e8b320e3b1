import assert from 'node:assert/strict';
import { anAccess, anAccount, aTunnel } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { LiveTunnel, tunnelUrls } from './live-tunnel.ts';

const HOUR = 3_600_000;

describe('LiveTunnel', () => {
  const account = anAccount();
  let clock: FakeClock;
  let notes: number;

  beforeEach(() => {
    clock = new FakeClock();
    notes = 0;
  });

  function live(idle = false): LiveTunnel {
    const life = { idle, createdAt: clock.now(), expiresAt: clock.now() + HOUR };
    const tunnel = aTunnel(account.id, { ...life, bytesIn: 5, bytesOut: 6, requests: 7 });
    return new LiveTunnel({ tunnel, account }, clock, () => (notes += 1));
  }

  it('ignores an access policy that is older than the one it has', () => {
    const tunnel = live();
    tunnel.setAccess(anAccess({ password: 'hash' }), 2);
    const { access } = tunnel;
    assert.equal(access?.asks, true);
    tunnel.setAccess(null, 1);
    tunnel.setAccess(null, 2);
    assert.equal(tunnel.access, access);
    tunnel.setAccess(null, 3);
    assert.equal(tunnel.access, undefined);
  });

  describe('counters', () => {
    it('continue from the stored values', () => {
      const tunnel = live();
      tunnel.countIn(10);
      tunnel.countOut(20);
      tunnel.countRequest();
      assert.deepEqual(tunnel.totals, { bytesIn: 15, bytesOut: 26, requests: 8 });
    });

    it('report what is not stored yet, until it is', () => {
      const tunnel = live();
      const unstored = () => {
        const { bytesIn, bytesOut, requests } = tunnel.unstored();
        return [bytesIn, bytesOut, requests];
      };
      tunnel.countIn(10);
      const first = tunnel.unstored();
      assert.deepEqual([first.bytesIn, first.bytesOut, first.requests], [10, 0, 0]);
      tunnel.countIn(1);
      tunnel.countOut(20);
      tunnel.countRequest();
      assert.deepEqual(unstored(), [11, 20, 1]);
      tunnel.markStored(first);
      assert.deepEqual(unstored(), [1, 20, 1]);
      tunnel.markStored(tunnel.unstored());
      assert.deepEqual(unstored(), [0, 0, 0]);
    });

    it('notify of the first traffic only, and again after it was collected', () => {
      const tunnel = live();
      for (let i = 0; i < 3; i += 1) tunnel.countIn(1);
      assert.equal(notes, 1);
      tunnel.unstored();
      tunnel.countRequest();
      assert.equal(notes, 2);
    });
  });

  describe('expiry', () => {
    it('is not moved by traffic', () => {
      const tunnel = live();
      const { expiresAt, deadline } = tunnel;
      clock.advance(1000);
      tunnel.countRequest();
      assert.deepEqual([tunnel.expiresAt, tunnel.deadline], [expiresAt, deadline]);
    });

    for (const act of ['countRequest', 'countIn', 'countOut'] as const) {
      it(`is moved to now + ttl by ${act} in idle mode`, () => {
        const tunnel = live(true);
        clock.advance(1000);
        tunnel[act](1);
        assert.equal(tunnel.expiresAt, clock.now() + HOUR);
        assert.equal(tunnel.deadline, clock.monotonic() + HOUR);
      });
    }

    it('is never moved earlier in idle mode', () => {
      const tunnel = live(true);
      const later = tunnel.expiresAt + HOUR;
      tunnel.prolong(later);
      tunnel.countRequest();
      assert.equal(tunnel.expiresAt, later);
      assert.equal(tunnel.deadline, clock.monotonic() + 2 * HOUR);
    });

    it('is moved later by prolong, never earlier', () => {
      const tunnel = live();
      const { expiresAt, deadline } = tunnel;
      tunnel.prolong(expiresAt + 5);
      tunnel.prolong(expiresAt);
      assert.deepEqual([tunnel.expiresAt, tunnel.deadline], [expiresAt + 5, deadline + 5]);
    });

    it('does not depend on a wall clock that is set afterwards', () => {
      const tunnel = live();
      const { deadline } = tunnel;
      clock.jump(5 * HOUR);
      assert.equal(tunnel.deadline, deadline);
    });

    for (const jump of [HOUR, -HOUR, 30 * 24 * HOUR]) {
      it(`is moved by the elapsed time in idle mode, not by a wall clock set by ${jump / HOUR} h`, () => {
        const tunnel = live(true);
        const { expiresAt } = tunnel;
        clock.jump(jump);
        clock.advance(1000);
        tunnel.countIn(1);
        assert.deepEqual([tunnel.expiresAt, tunnel.deadline], [expiresAt + 1000, clock.monotonic() + HOUR]);
      });
    }
  });
});

describe('tunnelUrls', () => {
  const local = {
    publicUrl: new URL('http://localhost:8080'),
    tunnelDomain: 'localhost',
    serviceDomain: 'localhost',
    pathForm: true,
  };
  const hosted = {
    publicUrl: new URL('https://relay.example.com'),
    tunnelDomain: 'tunnels.example.com',
    serviceDomain: 'example.net',
    pathForm: true,
  };

  type Of = Parameters<typeof tunnelUrls>[0];
  const tunnel: Of = { slug: 'web', account: anAccount(), domain: null, terms: { wildcard: false } };
  const acme = anAccount({ subdomain: 'acme' });
  const wildcard = { terms: { wildcard: true } };
  const here = { subdomain: 'http://web.localhost:8080' };
  const path = 'http://localhost:8080/t/web';
  const there = { subdomain: 'https://web.tunnels.example.com', path: 'https://relay.example.com/t/web' };

  for (const [what, given, addresses, publicUrl, urls] of [
    ['the subdomain, with the port of the relay', {}, local, here.subdomain, { ...here, path }],
    [
      'no address below the relay without the path form',
      {},
      { ...local, pathForm: false },
      here.subdomain,
      here,
    ],
    [
      'the address below the account if there is one',
      { account: acme },
      hosted,
      'https://web.acme.example.net',
      { ...there, account: 'https://web.acme.example.net' },
    ],
    [
      "the tunnel's domain if there is one, with the port of the relay",
      { account: acme, domain: 'app.shop.example' },
      local,
      'http://app.shop.example:8080',
      { ...here, path, account: 'http://web.acme.localhost:8080', domain: 'http://app.shop.example:8080' },
    ],
    [
      'the hosts of a wildcard tunnel, and the ordinary address',
      wildcard,
      local,
      here.subdomain,
      { ...here, path, wildcard: 'http://*--web.localhost:8080' },
    ],
    [
      'the hosts of a wildcard domain, and the ordinary address',
      { ...wildcard, domain: '*.shop.example' },
      hosted,
      there.subdomain,
      { ...there, wildcard: 'https://*.shop.example' },
    ],
  ] as const)
    it(`returns ${what}`, () => {
      assert.deepEqual(tunnelUrls({ ...tunnel, ...given }, addresses), { public_url: publicUrl, urls });
    });
});
