/**
 * Everything a newcomer with a server and a domain does: from an empty folder to addresses that a browser opens without
 * a warning. The server has its own address with the ports 443, 80 and 53, and the DNS is a zone at a resolver. The
 * authority is pebble, which looks names up there, and Chromium trusts its root like any other.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import type { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { ownAddress, Unbound } from '../support/dns-servers.ts';
import { shake } from '../support/certified-relay.ts';
import { Pebble } from '../support/certificates.ts';
import {
  Culvert,
  type Environment,
  spawnCulvert,
  spawnRelay,
  temporaryDirectory,
} from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { launchTrustingBrowser } from '../support/browser.ts';

const RELAY = 'https://relay.test';
const LOOKUP = new URL('../support/lookup-at-resolver.mjs', import.meta.url).href;
/** s that certificates of this authority are valid. */
const VALIDITY = 90;

describe('a newcomer', () => {
  const scope = suiteScope();
  const address = ownAddress();
  /** records entered at the DNS provider */
  const records = [`relay A ${address}`, `*.tunnels A ${address}`, '_acme-challenge.tunnels NS relay'];
  let unbound: Unbound;
  let pebble: Pebble;
  let root: string;
  let folder: string;
  let relay: Child;
  let service: HttpService;
  let browser: Browser;
  let client: Environment;
  let begun: number;

  before(async () => {
    unbound = await Unbound.start(scope, records);
    pebble = await Pebble.start(scope, {
      dns: unbound.address,
      httpPort: 80,
      tlsPort: 443,
      validity: VALIDITY,
    });
    root = await pebble.root();
    service = await startHttpService(scope, (_request, response) => {
      response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>My work</title>');
    });
    browser = await launchTrustingBrowser(scope, root, address);
    folder = temporaryDirectory(scope);
  });

  function administer(...args: string[]): Promise<string> {
    return run(spawnRelay(scope, args, { CULVERT_DATA_DIR: folder }));
  }

  function culvert(key: string, ...args: string[]): Promise<string> {
    return run(spawnCulvert(scope, args, { ...client, CULVERT_API_KEY: key }));
  }

  /** @returns when the certificate expires, s since the epoch */
  async function opensWithoutWarning(url: string): Promise<number> {
    // TLS sessions of earlier contexts would hide the certificate.
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const response = await page.goto(url, { timeout: 120_000 });
      const details = await response?.securityDetails();
      assert.deepEqual([response?.status(), await page.title()], [200, 'My work']);
      assert.match(details?.issuer ?? '', /Pebble/);
      return details?.validTo ?? 0;
    } finally {
      await context.close();
    }
  }

  it('starts a relay with certificates with one command and three DNS records', async () => {
    begun = performance.now();
    relay = spawnRelay(scope, ['serve'], {
      CULVERT_ACME_EMAIL: 'me@relay.test',
      CULVERT_PUBLIC_URL: RELAY,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
      CULVERT_HOST: address,
      CULVERT_PORT: '443',
      CULVERT_DNS_PORT: '53',
      CULVERT_DATA_DIR: folder,
      // Replaces the real authority on the internet.
      CULVERT_ACME_DIRECTORY: pebble.directory,
      CULVERT_ACME_CA: pebble.authority.path,
      CULVERT_RESOLVER: unbound.address,
    });
    await relay.line((line) => line.startsWith('listening on ') || undefined);
    const ca = join(folder, 'authority.pem');
    await eventually(60_000, () => assert.ok(existsSync(join(folder, 'first-key'))));
    writeFileSync(ca, root);
    client = {
      CULVERT_RELAY: RELAY,
      CULVERT_CA: ca,
      CULVERT_TEST_RESOLVER: unbound.address,
      NODE_OPTIONS: `--import=${LOOKUP}`,
    };
  });

  it('opens https://hello.tunnels.test without a warning, with the key of the first start', async () => {
    const key = readFileSync(join(folder, 'first-key'), 'utf8').trim();
    const { tunnel } = await Culvert.start(
      scope,
      { url: RELAY },
      key,
      service.port,
      ['--name', 'hello'],
      client,
    );
    assert.equal(tunnel.public_url, 'https://hello.tunnels.test');
    await opensWithoutWarning('https://hello.tunnels.test/');
    const seconds = (performance.now() - begun) / 1000;
    console.log(`      from an empty folder to the page: ${seconds.toFixed(1)} s, 3 DNS records, 2 commands`);
  });

  it('gets a warning in a browser that does not trust the authority', async () => {
    const stranger = await launchTrustingBrowser(scope, pebble.authority.pem.toString(), address);
    const page = await stranger.newPage();
    await assert.rejects(page.goto('https://hello.tunnels.test/'), /ERR_CERT_AUTHORITY_INVALID/);
  });

  it('opens the address of an account without a warning, with one more DNS record', async () => {
    records.push(`*.ann.tunnels A ${address}`, '_acme-challenge.ann.tunnels NS relay');
    await unbound.change(records);
    await administer('account', 'create', '--name', 'ann', '--plan', 'team', '--subdomain', 'ann');
    const made = await administer('key', 'create', '--account', 'ann', '--json');
    const { key } = JSON.parse(made) as { key: string };
    const { tunnel } = await Culvert.start(
      scope,
      { url: RELAY },
      key,
      service.port,
      ['--name', 'shop'],
      client,
    );
    assert.equal(tunnel.public_url, 'https://shop.ann.tunnels.test');
    await opensWithoutWarning('https://shop.ann.tunnels.test/');
  });

  it('opens a custom domain without a warning, with the two records that the command prints', async () => {
    const key = readFileSync(join(folder, 'first-key'), 'utf8').trim();
    const printed = await culvert(key, 'domain', 'add', 'www.mine.test');
    const found = [...printed.matchAll(/^(CNAME|TXT) +(\S+) +(\S+)$/gm)];
    assert.equal(found.length, 2, printed);
    for (const [, type = '', name = '', value = ''] of found)
      records.push(`${name}. ${type} ${type === 'TXT' ? `"${value}"` : `${value}.`}`);
    await unbound.change(records);
    await culvert(key, 'domain', 'verify', 'www.mine.test');
    await Culvert.start(scope, { url: RELAY }, key, service.port, ['--domain', 'www.mine.test'], client);
    await opensWithoutWarning('https://www.mine.test/');
  });

  it('does not have to renew certificates: each is replaced before it expires', async () => {
    for (const host of ['hello.tunnels.test', 'www.mine.test']) {
      const first = await opensWithoutWarning(`https://${host}/`);
      await eventually(4 * VALIDITY * 1000, async () => {
        const { certificate } = await shake(443, host, root, address);
        assert.ok(Date.parse(certificate.valid_to) / 1000 > first);
      });
      assert.ok((await opensWithoutWarning(`https://${host}/`)) > first);
    }
    assert.ok(!relay.stderr.includes('certificate order failed'), relay.stderr);
  });
});

async function run(child: Child): Promise<string> {
  const { code } = await child.exit();
  assert.equal(code, 0, child.stderr);
  return child.lines.join('\n');
}
