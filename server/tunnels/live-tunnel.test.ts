import assert from 'node:assert/strict';
import { anAccess, anAccount, aTunnel } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { isTunnelAt, LiveTunnel, tunnelUrls } from './live-tunnel.ts';

const HOUR = 3_600_000;
const traffic = (tunnel: LiveTunnel): void => tunnel.countIn(1);

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

  it('continues its counters from the stored values, and reports what is not stored until it is', () => {
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
    assert.deepEqual(tunnel.totals, { bytesIn: 16, bytesOut: 26, requests: 8 });
    assert.deepEqual(unstored(), [11, 20, 1]);
    tunnel.markStored(first);
    assert.deepEqual(unstored(), [1, 20, 1]);
    tunnel.markStored(tunnel.unstored());
    assert.deepEqual(unstored(), [0, 0, 0]);
  });

  it('notifies of the first traffic only, and again after it was collected', () => {
    const tunnel = live();
    for (let i = 0; i < 3; i += 1) tunnel.countIn(1);
    assert.equal(notes, 1);
    tunnel.unstored();
    tunnel.countRequest();
    assert.equal(notes, 2);
  });

  const jumped = (ms: number, act = traffic) => {
    return (tunnel: LiveTunnel): void => (clock.jump(ms), clock.advance(1000), act(tunnel));
  };
  const after = (act: (tunnel: LiveTunnel) => void) => jumped(0, act);

  describe('expiry', () => {
    /** What happens, and how many ms later the tunnel ends then. */
    for (const [title, idle, act, later] of [
      ['is not moved by traffic', false, after(traffic), 0],
      [
        'is moved to now + ttl by a request in idle mode',
        true,
        after((tunnel) => tunnel.countRequest()),
        1000,
      ],
      ['is moved to now + ttl by bytes in in idle mode', true, after(traffic), 1000],
      ['is moved to now + ttl by bytes out in idle mode', true, after((tunnel) => tunnel.countOut(1)), 1000],
      ['is moved later by prolong', false, (tunnel) => tunnel.prolong(tunnel.expiresAt + 5), 5],
      ['is not moved earlier by prolong', false, (tunnel) => tunnel.prolong(tunnel.expiresAt - 5), 0],
      [
        'is never moved earlier in idle mode',
        true,
        (tunnel) => (tunnel.prolong(tunnel.expiresAt + HOUR), traffic(tunnel)),
        HOUR,
      ],
      ['does not depend on a wall clock that is set afterwards', false, () => clock.jump(5 * HOUR), 0],
      ...[HOUR, -HOUR, 720 * HOUR].map(
        (jump) =>
          [
            `is moved by the elapsed time in idle mode, not by a wall clock set by ${jump / HOUR} h`,
            true,
            jumped(jump),
            1000,
          ] as const,
      ),
    ] as readonly [string, boolean, (tunnel: LiveTunnel) => void, number][])
      it(title, () => {
        const tunnel = live(idle);
        const { expiresAt, deadline } = tunnel;
        act(tunnel);
        assert.deepEqual([tunnel.expiresAt, tunnel.deadline], [expiresAt + later, deadline + later]);
      });
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
  const http = { protocol: 'http' as const, remotePort: null };
  const tunnel: Of = { slug: 'web', account: anAccount(), domain: null, terms: { wildcard: false }, ...http };
  const acme = anAccount({ subdomain: 'acme' });
  const wildcard = { terms: { wildcard: true } };
  const here = { subdomain: 'http://web.localhost:8080' };
  const path = 'http://localhost:8080/t/web';
  const there = { subdomain: 'https://web.tunnels.example.com', path: 'https://relay.example.com/t/web' };

  for (const [host, prefix, given, expected] of [
    ['web.tunnels.example.com', '', {}, true],
    ['web.acme.example.net', '', { account: acme }, true],
    ['web.acme.example.net', '', {}, false],
    ['shop.example.org', '', { domain: 'shop.example.org' }, true],
    ['shop.example.org', '', {}, false],
    ['a.shop.example.org', '', { domain: 'shop.example.org' }, false],
    ['a--web.tunnels.example.com', '', wildcard, true],
    ['a--web.tunnels.example.com', '', {}, false],
    ['--web.tunnels.example.com', '', wildcard, false],
    ['evil.com/a--web.tunnels.example.com', '', {}, false],
    ['a.shop.example.org', '', { domain: '*.shop.example.org', ...wildcard }, true],
    ['b.a.shop.example.org', '', { domain: '*.shop.example.org', ...wildcard }, false],
    ['evil-web.tunnels.example.com', '', wildcard, false],
    ['web.tunnels.example.com', '/t/web', {}, false],
    [null, '/t/web', {}, true],
    [null, '/t/other', {}, false],
    [null, '', {}, true],
  ] as const)
    it(`${expected ? 'are' : 'are not'} at ${host}${prefix} with ${JSON.stringify(given)}`, () => {
      assert.equal(isTunnelAt({ ...tunnel, ...given }, { host, prefix }, hosted), expected);
    });

  it('are not at a prefix of a relay without the path form', () => {
    const at = { host: null, prefix: '/t/web' };
    assert.equal(isTunnelAt(tunnel, at, { ...hosted, pathForm: false }), false);
  });

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
