import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { networks as readNetworks } from '../setting-readers.ts';
import { gapsOf, unsafeSettings } from './serve.ts';

const FILE = { path: '/pair.pem', setting: 'CULVERT_TLS_CERT' };
const PROXY = new BlockList();
PROXY.addAddress('127.0.0.1');

const GIVEN: Parameters<typeof gapsOf>[0] = {
  publicUrl: new URL('https://relay.test'),
  tunnelDomain: 'tunnels.test',
  tls: undefined,
  acme: undefined,
  trustedProxies: PROXY,
  pathForm: true,
};

function settings(other: Partial<typeof GIVEN>): string[] {
  return gapsOf({ ...GIVEN, ...other }).map(({ setting }) => setting);
}

function unsafe(networks: string): string[] {
  const trustedProxies = readNetworks.read(networks, '') ?? assert.fail(networks);
  return unsafeSettings({ trustedProxies }).map(({ setting }) => setting);
}

describe('what is missing beside a public URL', () => {
  it('is nothing if all or none of it is set', () => {
    assert.deepEqual(gapsOf(GIVEN), []);
    assert.deepEqual(
      gapsOf({ ...GIVEN, publicUrl: undefined, tunnelDomain: 'localhost', trustedProxies: new BlockList() }),
      [],
    );
  });

  it('is the tunnel domain, unless the relay is on this machine only', () => {
    assert.deepEqual(settings({ tunnelDomain: 'localhost' }), ['CULVERT_TUNNEL_DOMAIN']);
    for (const local of [
      'http://localhost:8080',
      'http://relay.localhost',
      'http://127.0.0.1',
      'http://[::1]',
    ])
      assert.deepEqual(settings({ tunnelDomain: 'localhost', publicUrl: new URL(local) }), [], local);
  });

  it('includes which addresses work anyway', () => {
    const [withPaths] = gapsOf({ ...GIVEN, tunnelDomain: 'localhost' });
    assert.match(withPaths?.reason ?? '', /only addresses such as https:\/\/relay\.test\/t\/NAME work$/);
    const [without] = gapsOf({ ...GIVEN, tunnelDomain: 'localhost', pathForm: false });
    assert.doesNotMatch(without?.reason ?? '', /\/t\//);
  });

  it('is a certificate for https, unless there is one or a proxy', () => {
    const trustedProxies = new BlockList();
    assert.deepEqual(settings({ trustedProxies }), ['CULVERT_ACME_EMAIL']);
    assert.deepEqual(settings({ trustedProxies, publicUrl: new URL('http://relay.test') }), []);
    assert.deepEqual(settings({ trustedProxies, tls: { cert: FILE, key: FILE } }), []);
  });
});

describe('settings without protection', () => {
  it('include a list of trusted proxies that covers a large part of the internet, in any notation', () => {
    const quarters = ['0.0.0.0/2', '64.0.0.0/2', '128.0.0.0/2', '192.0.0.0/2'];
    for (const networks of [
      '0.0.0.0/0',
      '::/0',
      '127.0.0.1,0.0.0.0/0',
      '0.0.0.0/1,128.0.0.0/1',
      '::/1,8000::/1',
      '2000::/3',
      '::ffff:0:0/96',
      quarters.join(),
      ...quarters,
      Array.from({ length: 256 }, (_, first) => `${first}.0.0.0/8`).join(),
      Array.from({ length: 32 }, (_, index) => `${(0x20 + index).toString(16)}00::/8`).join(),
      // Where most addresses of IPv6 in use are.
      '2400::/12,2600::/12,2800::/12,2a00::/12,2c00::/12',
    ])
      assert.deepEqual(unsafe(networks), ['CULVERT_TRUST_PROXY'], networks);
  });

  it('exclude lists of proxies, private networks and CDNs', () => {
    for (const networks of [
      '127.0.0.1',
      '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7,::1,fe80::/10',
      '104.16.0.0/13,172.64.0.0/13,162.158.0.0/15,2400:cb00::/32,2606:4700::/32',
      '52.0.0.0/8,54.0.0.0/8,2600::/12',
    ])
      assert.deepEqual(unsafe(networks), [], networks);
    assert.deepEqual(unsafeSettings({ trustedProxies: new BlockList() }), []);
  });
});
