import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { DnsServer } from '../../server/testing/dns-server.ts';
import type { Domain } from '../../shared/domains.ts';
import { Api } from '../support/api.ts';
import { createNamed, FaultyAuthority, shake } from '../support/certified-relay.ts';
import { RelayCluster } from '../support/cluster.ts';
import { openRelayDatabase } from '../support/database.ts';
import { eventually } from '../support/deadline.ts';
import { Pebble } from '../support/certificates.ts';
import type { RelayProgram } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { ChangingClock } from '../support/small-disk.ts';

const OWN = 'relay.test';

/** Forwards connections to several ports in turn. */
async function balance(scope: Scope, port: number, targets: () => readonly number[]): Promise<void> {
  let next = 0;
  const server = createServer((near) => {
    const ports = targets();
    const far = connect(ports[(next += 1) % ports.length] ?? 0, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  scope.defer(() => server.close());
}

describe('certificates of a cluster', function () {
  this.timeout(180_000);
  const scope = suiteScope();
  let pebble: Pebble;
  let cluster: RelayCluster;
  let root: string;
  let dns: DnsServer;
  let ports: readonly number[] = [];

  before(async () => {
    pebble = await Pebble.start(scope, { nonceReject: 30 });
    // The authority connects to a different relay each time, mostly not to the one that ordered.
    await balance(scope, pebble.tlsPort, () => ports);
    dns = await DnsServer.start();
    scope.defer(() => dns.stop());
    const { CULVERT_ACME_EMAIL, CULVERT_ACME_DIRECTORY, CULVERT_ACME_CA } = pebble.settings;
    cluster = await RelayCluster.start(scope, 3, {
      CULVERT_RESOLVER: dns.address,
      CULVERT_ACME_EMAIL: CULVERT_ACME_EMAIL ?? '',
      CULVERT_ACME_DIRECTORY: CULVERT_ACME_DIRECTORY ?? '',
      CULVERT_ACME_CA: CULVERT_ACME_CA ?? '',
      CULVERT_HTTP_PORT: '0',
      CULVERT_PUBLIC_URL: `https://${OWN}:${pebble.tlsPort}`,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
      // The first validation arrives only once the balancer knows the relays.
      CULVERT_ACME_ORDERS_PER_HOUR: '100',
    });
    ports = cluster.relays.map(({ port }) => port);
    root = await pebble.root();
  });

  async function serials(name: string): Promise<readonly string[]> {
    return await Promise.all(
      ports.map(async (port) => {
        const { authorized, certificate } = await shake(port, name, root);
        assert.ok(authorized, name);
        return certificate.serialNumber;
      }),
    );
  }

  async function storedKeys(name: string): Promise<number> {
    const database = await openRelayDatabase(scope, cluster.relay(0));
    return (await database.rows(`select key from certificates where name = '${name}'`)).length;
  }

  it('share one certificate for the relay name, ordered by one relay and served by all', async () => {
    await eventually(150_000, async () => {
      assert.equal(new Set(await serials(OWN)).size, 1);
    });
  });

  it('share one certificate per tunnel, even if its first visitors reach several relays at the same time', async () => {
    await createNamed(ports[0] ?? 0, OWN, cluster.key, 'shared', root);
    const before = pebble.orders;
    assert.equal(new Set(await serials('shared.tunnels.test')).size, 1);
    assert.equal(pebble.orders, before + 1);
  });

  it('are removed with their domain, from all relays and from the database', async () => {
    const domain = 'app.shop.test';
    const api = new Api({ port: ports[0] ?? 0 }, cluster.key, { servername: OWN, ca: root });
    const call = async (method: string, path: string, json?: object): Promise<Domain> => {
      const answered = await api.send(method, path, { json });
      assert.ok(answered.status < 300, JSON.stringify(answered.json));
      return answered.json as Domain;
    };
    const { id, records } = await call('POST', '/v1/domains', { domain });
    dns.enter(records);
    assert.equal((await call('POST', `/v1/domains/${id}/verify`)).status, 'verified');
    await eventually(60_000, async () => {
      assert.equal(new Set(await serials(domain)).size, 1);
    });
    assert.equal(await storedKeys(domain), 1);
    await call('DELETE', `/v1/domains/${id}`);
    assert.equal(await storedKeys(domain), 0);
    await eventually(30_000, async () => {
      for (const port of ports)
        assert.equal((await shake(port, domain, root)).certificate.subjectaltname, `DNS:${OWN}`);
    });
    const before = pebble.orders;
    await Promise.all(ports.map((port) => shake(port, domain, root)));
    assert.equal(pebble.orders, before);
  });

  it('are ordered for no host of a TLS tunnel, which no relay of them takes for its own', async () => {
    const domain = 'own.shop.test';
    const api = new Api({ port: ports[0] ?? 0 }, cluster.key, { servername: OWN, ca: root });
    const claimed = (await api.send('POST', '/v1/domains', { json: { domain } })).json as Domain;
    dns.enter(claimed.records);
    const verified = await api.send('POST', `/v1/domains/${claimed.id}/verify`);
    assert.equal((verified.json as Domain).status, 'verified');
    const before = pebble.orders;
    const closed = { local_port: 9, protocol: 'tls', access: { allow: ['192.0.2.1'] } };
    for (const place of [{ domain }, { name: 'own' }]) await api.create({ ...closed, ...place });
    for (const host of [domain, 'own.tunnels.test'])
      for (const port of ports) await assert.rejects(shake(port, host, root), /alert access denied/, host);
    assert.equal(pebble.orders, before);
  });

  it('redirect plain HTTP to https on each relay', async () => {
    for (const relay of cluster.relays) {
      const [, url = ''] = await relay.child.printed(/"url":"(http:[^"]+)","msg":"http listening"/);
      const { status } = await visit(Number(new URL(url).port), { host: OWN, target: '/x' });
      assert.equal(status, 308);
    }
  });
});

describe('an order of a relay that is killed', function () {
  this.timeout(180_000);
  const scope = suiteScope();

  it('is left to that relay for 4 minutes, then another relay of the cluster orders', async () => {
    const pebble = await Pebble.start(scope);
    const authority = await FaultyAuthority.start(scope, pebble);
    const clock = new ChangingClock(scope);
    const { promise: known, resolve: begin } = Promise.withResolvers<void>();
    const { promise: inTheMiddle, resolve } = Promise.withResolvers<void>();
    const { promise: killed, resolve: goOn } = Promise.withResolvers<void>();
    authority.before = async (path) => {
      // Validations arrive only once the balancer knows the relays.
      await known;
      if (!path.startsWith('/finalize-order/')) return;
      resolve();
      await killed;
    };
    let ports: readonly number[] = [];
    await balance(scope, pebble.tlsPort, () => ports);
    const { CULVERT_ACME_EMAIL = '', CULVERT_ACME_CA = '' } = pebble.settings;
    const { relays } = await RelayCluster.start(scope, 2, {
      ...clock.environment,
      CULVERT_ACME_EMAIL,
      CULVERT_ACME_CA,
      CULVERT_ACME_DIRECTORY: authority.directory,
      CULVERT_HTTP_PORT: '0',
      CULVERT_PUBLIC_URL: `https://${OWN}:${pebble.tlsPort}`,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
    });
    ports = relays.map(({ port }) => port);
    begin();
    await inTheMiddle;
    const ordering = relays.filter((relay) => isOrdering(relay));
    assert.equal(ordering.length, 1);
    await ordering[0]?.stop('SIGKILL');
    goOn();
    const [other] = relays.filter((relay) => !ordering.includes(relay));
    assert.ok(other);
    ports = [other.port];
    const { orders } = pebble;
    const root = await pebble.root();
    // Such a visitor waits for the certificate as long as any visitor does, in vain.
    await assert.rejects(shake(other.port, OWN, root), /handshake failure/);
    assert.equal(pebble.orders, orders);
    assert.ok(!isOrdering(other));
    clock.set('+5m');
    await eventually(120_000, async () => assert.ok((await shake(other.port, OWN, root)).authorized));
    assert.equal(pebble.orders, orders + 1);
  });
});

function isOrdering({ child }: RelayProgram): boolean {
  const times = (event: string): number => child.output.split(`"msg":"${event}"`).length;
  return times('certificate ordered') > times('certificate order failed');
}
