import assert from 'node:assert/strict';
import { DnsServer } from '../../server/testing/dns-server.ts';
import type { Domain } from '../../shared/domains.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { bringDomain } from '../support/dns-servers.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { ControlSocket, SpecClient } from '../support/spec-client/client.ts';

const A = 0;
const B = 1;
const C = 2;
const ALL = [A, B, C];
/** ms within which all relays know of a change: normally a second, but longer on a busy machine. */
const KNOWN_MS = 30_000;

describe('domains on three relays', () => {
  const suite = suiteScope();
  const scope = testScope();
  let dns: DnsServer;
  let cluster: RelayCluster;
  let service: HttpService;
  let account: TestAccount;
  let domain: string;
  let claim: Domain;
  let names = 0;

  before(async () => {
    dns = await DnsServer.start();
    suite.defer(() => dns.stop());
    cluster = await RelayCluster.start(suite, 3, {
      CULVERT_RESOLVER: dns.address,
      CULVERT_PUBLIC_URL: 'http://relay.test',
    });
    service = await startHttpService(suite, (request, response) =>
      request.resume().on('end', () => response.end('from the service')),
    );
  });

  beforeEach(async () => {
    names += 1;
    domain = `app${names}.shop.test`;
    account = await createAccount(cluster.relay(A), { plan: 'team' });
    claim = await bringDomain(account, dns, domain);
  });

  function apiOf(index: number, { key } = account): Api {
    return new Api(cluster.relay(index), key);
  }

  /**
   * Waits until a relay responds for the domain with `expected`, which comes from the relay itself or from the service.
   */
  async function serves(index: number, expected: string): Promise<void> {
    await eventually(KNOWN_MS, async () => {
      const { head, text } = await visit(cluster.relay(index).port, { host: domain, target: '/healthz' });
      assert.equal(head.field('culvert-error') ?? text, expected, `relay ${index}`);
    });
  }

  it('are verified on one relay and known to all, and so is their tunnel', async () => {
    for (const index of ALL) await serves(index, 'domain-offline');
    await SpecClient.start(scope, cluster.relay(B), account.key, { local_port: service.port, domain });
    for (const index of ALL) await serves(index, 'from the service');
  });

  it('have one tunnel, even if several relays are asked for it at the same time', async () => {
    const wanted = { json: { local_port: service.port, domain } };
    const answers = await Promise.all(ALL.map((index) => apiOf(index).send('POST', '/v1/tunnels', wanted)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 409, 409],
    );
  });

  it('end with 4004 on any relay when they are removed on another, and then belong to nobody', async () => {
    const { id } = await apiOf(B).create({ local_port: service.port, domain });
    const control = await ControlSocket.open(scope, cluster.relay(B), account.key, id);
    await apiOf(C).send('DELETE', `/v1/domains/${claim.id}`);
    assert.equal((await control.closed).code, 4004);
    for (const index of ALL) await serves(index, '{"status":"ok"}');
    for (const index of ALL)
      assert.equal((await apiOf(index).send('GET', `/v1/tunnels/${id}`)).status, 404, String(index));
  });

  it('move from one account to another on all of them', async () => {
    await SpecClient.start(scope, cluster.relay(B), account.key, { local_port: 9, domain });
    const other = await createAccount(cluster.relay(C), { plan: 'team' });
    dns.clear(domain);
    await bringDomain(other, dns, domain);
    await SpecClient.start(scope, cluster.relay(C), other.key, { local_port: service.port, domain });
    for (const index of ALL) await serves(index, 'from the service');
  });

  it('become known to all relays even without Redis, and also once it is back', async () => {
    for (const index of ALL) await serves(index, 'domain-offline');
    await cluster.redis.stop();
    await apiOf(A).send('DELETE', `/v1/domains/${claim.id}`);
    // Read from the database alone.
    for (const index of ALL) await serves(index, '{"status":"ok"}');
    await cluster.redis.resume();
    for (const index of ALL) await serves(index, '{"status":"ok"}');
  });
});
