import assert from 'node:assert/strict';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { Names } from './relay-names.ts';

const tunnel = { account: { id: 'ann', subdomain: 'acme' } } as LiveTunnel;

describe('Names', () => {
  const names = new Names({
    own: { host: 'relay.example', tunnelDomain: 'tunnels.example', serviceDomain: 'service.example' },
    registry: { bySlug: (slug) => (slug === 'web' ? tunnel : undefined) },
    coordination: { find: (slug) => Promise.resolve(slug === 'elsewhere' ? tunnel : undefined) },
    verified: { ownerOf: (domain) => (domain === 'app.shop.test' ? 'bob' : undefined) },
  });
  const cases: [host: string, holder: string | undefined][] = [
    ['relay.example', 'relay'],
    ['RELAY.example', 'relay'],
    ['web.tunnels.example', 'ann'],
    ['elsewhere.tunnels.example', 'ann'],
    ['web.acme.service.example', 'ann'],
    ['app.shop.test', 'bob'],
    ['App.Shop.Test', 'bob'],
    ['none.tunnels.example', undefined],
    ['tunnels.example', undefined],
    ['a.b.tunnels.example', undefined],
    ['web.other.service.example', undefined],
    ['other.shop.test', undefined],
    ['localhost', undefined],
    ['192.0.2.1', undefined],
    ['', undefined],
  ];
  for (const [host, holder] of cases) {
    it(`find the owner of ${host || 'an empty one'}: ${holder ?? 'nobody’s'}`, async () => {
      assert.equal(await names.holderOf(host), holder);
      assert.equal(await names.mayHave(host), holder !== undefined);
    });
  }

  it('allow certificates for the relay, everything below its domains, and verified domains', () => {
    const served = [
      'relay.example',
      'gone.tunnels.example',
      '*.tunnels.example',
      '*.acme.service.example',
      'App.Shop.test',
    ];
    for (const host of served) assert.ok(names.isServed(host), host);
    for (const host of ['other.shop.test', '*.shop.test', 'tunnels.example', 'x.elsewhere.example'])
      assert.ok(!names.isServed(host), host);
  });
});
