import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { ownAddress, Unbound } from '../support/dns-servers.ts';
import { Api } from '../support/api.ts';
import { shake } from '../support/certified-relay.ts';
import { Pebble } from '../support/certificates.ts';
import { RelayProgram } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const HOST = 'hello.ann.tunnels.test';

describe('certificates of a cluster that are validated by DNS', function () {
  this.timeout(180_000);
  const scope = suiteScope();

  it('are issued if the authority asks a relay other than the one that ordered them', async () => {
    const [asked, ordering] = [ownAddress(), ownAddress()];
    const unbound = await Unbound.start(scope, [
      `relay A ${asked}`,
      '_acme-challenge.ann.tunnels NS relay',
      // No other kind of challenge can succeed.
      '*.ann.tunnels A 127.0.0.1',
    ]);
    const pebble = await Pebble.start(scope, { dns: unbound.address });
    const root = await pebble.root();
    const settings = {
      ...pebble.settings,
      CULVERT_PUBLIC_URL: `https://relay.test:${pebble.tlsPort}`,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
      CULVERT_DNS_PORT: '53',
      CULVERT_RESOLVER: unbound.address,
    };
    const cluster = await RelayCluster.start(scope, 1, { ...settings, CULVERT_HOST: asked });
    const first = cluster.relay(0);
    const second = await RelayProgram.start(scope, {
      ...settings,
      CULVERT_HOST: ordering,
      CULVERT_DATABASE_URL: cluster.database,
      CULVERT_REDIS_URL: cluster.redis.url,
      CULVERT_CLUSTER_SECRET: 's'.repeat(32),
      CULVERT_BOOTSTRAP_KEY: cluster.key,
    });
    await eventually(60_000, async () => {
      assert.ok((await shake(pebble.tlsPort, 'relay.test', root, asked)).authorized);
    });
    const { key } = await createAccount(first, { plan: 'dev', subdomain: 'ann' });
    const tls = { host: asked, servername: 'relay.test', ca: root };
    const api = new Api({ port: pebble.tlsPort }, key, tls);
    await eventually(60_000, async () => {
      await api.create({ local_port: 1, name: 'hello' });
    });
    for (const address of [ordering, asked]) {
      await eventually(60_000, async () => {
        const { authorized, certificate } = await shake(pebble.tlsPort, HOST, root, address);
        assert.ok(authorized);
        assert.equal(certificate.subjectaltname, 'DNS:*.ann.tunnels.test');
      });
    }
    const issued = /"name":"\*\.ann\.tunnels\.test",[^\n]*"msg":"certificate issued"/;
    assert.match(second.child.stderr, issued);
    assert.doesNotMatch(first.child.stderr, issued);
  });
});
