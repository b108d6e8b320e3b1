import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { gapsOf } from './settings-gaps.ts';

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

describe('what is missing beside a public URL', () => {
  it('is nothing where all is given, or nothing', () => {
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

  it('says which addresses work all the same', () => {
    const [withPaths] = gapsOf({ ...GIVEN, tunnelDomain: 'localhost' });
    assert.match(withPaths?.reason ?? '', /only https:\/\/relay\.test\/t\/NAME leads here$/);
    const [without] = gapsOf({ ...GIVEN, tunnelDomain: 'localhost', pathForm: false });
    assert.doesNotMatch(without?.reason ?? '', /\/t\//);
  });

  it('is a certificate for https, unless there is one, or a proxy', () => {
    const trustedProxies = new BlockList();
    assert.deepEqual(settings({ trustedProxies }), ['CULVERT_ACME_EMAIL']);
    assert.deepEqual(settings({ trustedProxies, publicUrl: new URL('http://relay.test') }), []);
    assert.deepEqual(settings({ trustedProxies, tls: { cert: FILE, key: FILE } }), []);
  });
});
