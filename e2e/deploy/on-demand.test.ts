import assert from 'node:assert/strict';
import { DnsServer } from '../../server/testing/dns-server.ts';
import { createAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
import { bringDomain, claimDomain } from '../support/dns-servers.ts';
import { shake } from '../support/certified-relay.ts';
import { Relay } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';
import { SHIPPED, startCaddy } from '../support/shipped-proxies.ts';

describe('Caddy with the shipped configuration', function () {
  this.timeout(120_000);
  const scope = suiteScope();
  let port: number;

  before(async () => {
    const dns = await DnsServer.start();
    scope.defer(() => dns.stop());
    const relay = await Relay.start(scope, { ...SHIPPED.settings, CULVERT_RESOLVER: dns.address });
    await new Api(relay, relay.bootstrapKey).create({ local_port: 1, name: 'hello' });
    const account = await createAccount(relay);
    await bringDomain(account, dns, SHIPPED.domain);
    await claimDomain(account, `claimed.${SHIPPED.domain}`);
    port = await closedPort();
    await startCaddy(scope, port, relay.port);
  });

  /** The names of the certificate, whose issuer is not trusted. */
  async function names(host: string): Promise<string | undefined> {
    return (await shake(port, host, '')).certificate.subjectaltname;
  }

  it('gets certificates on demand for the relay, live tunnels and custom domains', async () => {
    for (const host of [SHIPPED.relayHost, `hello.${SHIPPED.tunnelDomain}`, SHIPPED.domain])
      await eventually(60_000, async () => assert.equal(await names(host), `DNS:${host}`));
  });

  it('asks the relay first, and gets no certificate for unknown names', async () => {
    const labels = ['nobody', 'hell', 'www'];
    const others = [`claimed.${SHIPPED.domain}`, `www.${SHIPPED.domain}`, 'example.org'];
    for (const host of [...labels.map((label) => `${label}.${SHIPPED.tunnelDomain}`), ...others])
      await assert.rejects(shake(port, host, ''), host);
  });
});
