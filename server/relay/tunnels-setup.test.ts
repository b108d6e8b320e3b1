import assert from 'node:assert/strict';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { Names } from './tunnels-setup.ts';

const owner = { id: 'ann', subdomain: 'acme' };
const tunnel = { slug: 'web', account: owner } as LiveTunnel;
const elsewhere = { slug: 'elsewhere', account: owner } as LiveTunnel;

describe('Names', () => {
  const names = new Names({
    own: { host: 'relay.example', tunnelDomain: 'tunnels.example', serviceDomain: 'service.example' },
    coordination: {
      find: (slug) => Promise.resolve({ web: tunnel, elsewhere }[slug]),
      byLabel: (label) => (label === 'web' || label === 'x--web' ? tunnel : undefined),
      findByLabel: (label) => Promise.resolve(label.endsWith('elsewhere') ? elsewhere : undefined),
    },
    verified: {
      ownerOf: (domain) => (domain === 'app.shop.test' || domain === '*.any.test' ? 'bob' : undefined),
      domainsOf: (host) =>
        host === 'app.shop.test' ? [host] : host.endsWith('.any.test') ? ['*.any.test'] : [],
    },
  });
  const cases: [host: string, holder: string | undefined, subject?: string][] = [
    ['relay.example', 'relay'],
    ['RELAY.example', 'relay'],
    ['web.tunnels.example', 'ann'],
    ['elsewhere.tunnels.example', 'ann'],
    ['web.acme.service.example', 'ann'],
    ['app.shop.test', 'bob'],
    ['App.Shop.Test', 'bob'],
    ['x--web.tunnels.example', 'ann', '*.tunnels.example'],
    ['x--elsewhere.tunnels.example', 'ann', '*.tunnels.example'],
    ['a.any.test', 'bob', '*.any.test'],
    ['none.tunnels.example', undefined],
    ['tunnels.example', undefined],
    ['a.b.tunnels.example', undefined],
    ['web.other.service.example', undefined],
    ['other.shop.test', undefined],
    ['localhost', undefined],
    ['192.0.2.1', undefined],
    ['', undefined],
  ];
  for (const [host, account, subject = host.toLowerCase()] of cases) {
    it(`find the owner of ${host || 'an empty one'}: ${account ?? 'nobody’s'}`, async () => {
      const holder = account === undefined ? undefined : { account, subject };
      assert.deepEqual(await names.holderOf(host), holder);
      assert.equal(await names.mayHave(host), holder !== undefined);
      assert.equal(await names.isNamed(host), holder?.subject === host.toLowerCase());
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
