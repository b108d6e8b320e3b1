/** Custom domains, as a user of `culvert` adds them (docs/guides/own-domain.md). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DnsServer } from '../../server/testing/dns-server.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Culvert, Relay, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

describe('culvert domain', () => {
  const scope = suiteScope();
  let dns: DnsServer;
  let relay: Relay;
  let service: HttpService;
  let account: TestAccount;

  before(async () => {
    dns = await DnsServer.start();
    scope.defer(() => dns.stop());
    relay = await Relay.start(scope, { CULVERT_RESOLVER: dns.address });
    service = await startHttpService(scope, (request, response) =>
      request.resume().on('end', () => response.end('from the service')),
    );
    account = await createAccount(relay);
  });

  async function run(...args: string[]) {
    const child = spawnCulvert(scope, args, { CULVERT_RELAY: relay.url, CULVERT_API_KEY: account.key });
    const { code } = await child.exit();
    return { code, out: child.lines.join('\n'), err: child.stderr };
  }

  /** Adds the records that `add` printed to the DNS, as a user would copy them. */
  function enter(out: string): void {
    for (const [, type = '', name = '', value = ''] of out.matchAll(/^(CNAME|TXT) +(\S+) +(\S+)$/gm))
      dns.enter([{ type: type as 'CNAME' | 'TXT', name, value }]);
  }

  it('helps from an unknown domain to a tunnel at that domain', async () => {
    const added = await run('domain', 'add', 'app.shop.test');
    assert.equal(added.code, 0, added.err);
    const refused = await run('http', String(service.port), '--domain', 'app.shop.test');
    assert.equal(refused.code, 1);
    assert.match(refused.err, /not verified yet.*"culvert domain" adds domains/s);
    enter(added.out);
    const verified = await run('domain', 'verify', 'App.Shop.test');
    assert.deepEqual([verified.code, verified.out.split('. ')[0]], [0, 'app.shop.test is verified']);
    const { tunnel } = await Culvert.start(scope, relay, account.key, service.port, [
      '--domain',
      'app.shop.test',
    ]);
    assert.equal(tunnel.public_url, `http://app.shop.test:${relay.port}`);
    assert.equal((await visit(relay.port, { host: 'app.shop.test' })).text, 'from the service');
    const second = await run('http', String(service.port), '--domain', 'app.shop.test');
    assert.match(second.err, /another tunnel uses the domain.*"culvert list" shows that tunnel/);
  });

  it('serves a domain of culvert.yml, and ends with 4 when the domain is removed', async () => {
    enter((await run('domain', 'add', 'yml.shop.test')).out);
    assert.equal((await run('domain', 'verify', 'yml.shop.test')).code, 0);
    const folder = temporaryDirectory(scope);
    const file = `tunnels:\n  web:\n    port: ${service.port}\n    domain: yml.shop.test\n`;
    writeFileSync(join(folder, 'culvert.yml'), file);
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: account.key };
    const child = spawnCulvert(scope, ['start', '--json'], environment, undefined, folder);
    await child.line((line) => line.includes(`"event":"online"`) || undefined);
    assert.equal((await visit(relay.port, { host: 'yml.shop.test' })).text, 'from the service');
    const removed = await run('domain', 'remove', 'yml.shop.test');
    assert.equal(removed.out, 'Removed yml.shop.test.');
    assert.equal((await child.exit()).code, 4);
    assert.match(child.lines.at(-1) ?? '', /"reason":"closed".*The tunnel's domain is no longer yours/);
  });
});
