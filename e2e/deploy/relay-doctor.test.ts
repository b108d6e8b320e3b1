import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { connect, createServer } from 'node:tls';
import { administer } from '../support/accounts.ts';
import { Authority } from '../support/certificates.ts';
import { Relay, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { runNginx } from '../support/native-server.ts';
import { type Scope, testScope } from '../support/scope.ts';
import { SHIPPED, SHIPPED_PROXIES, startTcpBalancer } from '../support/shipped-proxies.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';

interface Finding {
  readonly check: string;
  readonly result: string;
  readonly detail: string;
  readonly fix?: string;
}

const FORWARDED = 'proxy_set_header X-Forwarded-For $remote_addr;';
/** nginx with its defaults, which break tunnels, and with the directives that they need. */
const WRONG = 'proxy_pass http://127.0.0.1:RELAY;';
const RIGHT = `${WRONG} proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $connection_upgrade; proxy_buffering off; proxy_request_buffering off; ${FORWARDED}`;
const TRUSTED = { CULVERT_TRUST_PROXY: '127.0.0.1' };

function without(line: string): string {
  return RIGHT.replace(line, '');
}

interface Case {
  readonly what: string;
  readonly site: string;
  /** the checks that fail */
  readonly wrong: readonly string[];
  readonly fix: RegExp;
  readonly options?: readonly string[];
  readonly trust?: Record<string, string>;
}

describe('culvert-relay doctor', () => {
  const scope = testScope();

  async function doctor(settings: Record<string, string>, ...options: readonly string[]) {
    const child = spawnRelay(scope, ['doctor', '--json', ...options], settings);
    const { code } = await child.exit();
    const findings = child.lines.map((line) => JSON.parse(line) as Finding);
    const byName = (wanted: string): string[] =>
      findings.filter(({ result }) => result === wanted).map(({ check }) => check);
    return { code, findings, ok: byName('ok'), failed: byName('failed'), said: child.lines.join('\n') };
  }

  it('finds no fault in a newly started relay, and knows of its backup', async () => {
    const { relay, settings } = await start();
    const copy = spawnRelay(scope, ['backup', join(relay.dataDirectory, 'copy.db')], settings);
    assert.equal((await copy.exit()).code, 0, copy.stderr);
    const { code, ok, failed, said } = await doctor(settings);
    assert.deepEqual(failed, [], said);
    assert.deepEqual(
      ok,
      [
        'database',
        'backup',
        'listener',
        'public',
        'host',
        'upgrade',
        'body',
        'interim',
        'tunnel',
        'responses',
        'hints',
        'forwarded',
      ],
      said,
    );
    assert.equal(code, 0);
  });

  const cases: readonly Case[] = [
    {
      what: 'Host, Upgrade and bodies',
      site: WRONG,
      wrong: ['host', 'upgrade', 'body'],
      fix: /proxy_request_buffering off/,
    },
    {
      what: 'responses as they come',
      site: without('proxy_buffering off;'),
      wrong: ['responses'],
      fix: /proxy_buffering off/,
    },
    {
      what: 'where visitors come from',
      site: without(FORWARDED),
      wrong: ['forwarded'],
      fix: /must replace X-Forwarded-For/,
    },
    {
      what: 'a response that is silent for 8 s',
      site: `${RIGHT} proxy_read_timeout 5s;`,
      wrong: ['idle'],
      fix: /proxy_read_timeout/,
      options: ['--idle', '8s'],
    },
    {
      what: 'hints, as it is not known to the relay',
      site: RIGHT,
      wrong: ['hints'],
      fix: /CULVERT_TRUST_PROXY/,
      trust: {},
    },
    {
      what: 'requests from the address that is trusted',
      site: RIGHT,
      wrong: ['hints', 'forwarded'],
      fix: /CULVERT_TRUST_PROXY|Name the proxy/,
      trust: { CULVERT_TRUST_PROXY: '192.0.2.1' },
    },
    {
      what: 'nothing wrong, where all of it is right',
      site: RIGHT,
      wrong: [],
      fix: /never/,
      options: ['--idle', '2s'],
    },
  ];
  for (const { what, site, wrong, fix, options = [], trust = TRUSTED } of cases) {
    it(`finds that an nginx does not forward ${what}`, async () => {
      const port = await closedPort();
      const { relay, settings } = await start({ ...trust, CULVERT_PUBLIC_URL: `http://localhost:${port}` });
      await startSite(scope, port, relay.port, site);
      const { code, failed, findings, said } = await doctor(settings, ...options);
      assert.deepEqual(failed, wrong, said);
      assert.equal(code, wrong.length === 0 ? 0 : 1);
      const fixes = findings.map((finding) => finding.fix ?? '').join('\n');
      if (wrong.length > 0) assert.match(fixes, fix);
      await leavesNothing(relay);
    });
  }

  it('finds that CULVERT_TRUST_PROXY names a large part of the internet', async () => {
    const port = await closedPort();
    const trust = { CULVERT_TRUST_PROXY: '0.0.0.0/1,128.0.0.0/1' };
    const { relay, settings } = await start({ ...trust, CULVERT_PUBLIC_URL: `http://localhost:${port}` });
    await startSite(scope, port, relay.port, RIGHT);
    const { failed, findings, said } = await doctor(settings);
    assert.deepEqual(failed, ['forwarded'], said);
    assert.match(findings.find(({ check }) => check === 'forwarded')?.fix ?? '', /^List only the proxies/);
    await leavesNothing(relay);
  });

  /** Runs doctor behind a proxy with the file of `server/deploy`, possibly changed. */
  async function behindShipped(proxy: string, edit?: (config: string) => string) {
    const authority = new Authority(scope);
    const port = await closedPort();
    const { relay, settings } = await start({
      ...SHIPPED.settings,
      CULVERT_PUBLIC_URL: `https://localhost:${port}`,
      NODE_EXTRA_CA_CERTS: authority.path,
    });
    const files = authority.issue(SHIPPED.relayHost, `*.${SHIPPED.tunnelDomain}`);
    await (SHIPPED_PROXIES[proxy] ?? assert.fail(proxy))(scope, port, relay.port, files, edit);
    const { failed, ok, said } = await doctor(settings, '--idle', '3s');
    // Test certificates expire within days, and no DNS has these names.
    const around = ['certificate', 'tunnel-certificate', 'wildcard'];
    return { failed: failed.filter((name) => !around.includes(name)), ok, said };
  }

  for (const proxy of Object.keys(SHIPPED_PROXIES)) {
    it(`finds no fault in ${proxy} with the shipped configuration`, async () => {
      const { failed, ok, said } = await behindShipped(proxy);
      assert.deepEqual(failed, [], said);
      const ofProxy = [
        'host',
        'upgrade',
        'body',
        'interim',
        'tunnel',
        'responses',
        'hints',
        'forwarded',
        'idle',
      ];
      for (const name of ofProxy) assert.ok(ok.includes(name), `${name}\n${said}`);
    });
  }

  it('finds an HAProxy whose timeouts are too short, and a Caddy that buffers responses', async () => {
    const hasty = await behindShipped('haproxy', (file) =>
      file.replace('timeout server 1d', 'timeout server 1s'),
    );
    assert.deepEqual(hasty.failed, ['idle'], hasty.said);
    const collecting = await behindShipped('caddy', (file) => file.replace('flush_interval 1ms', ''));
    assert.deepEqual(collecting.failed, ['responses'], collecting.said);
  });

  /** Runs doctor behind a TCP load balancer, on a relay that serves TLS itself. */
  async function behindTcpBalancer(relaySettings: Record<string, string>, edit?: (config: string) => string) {
    const authority = new Authority(scope);
    const port = await closedPort();
    const { cert, key } = authority.issue('*.localhost');
    const { relay, settings } = await start({
      CULVERT_PUBLIC_URL: `https://localhost:${port}`,
      CULVERT_TLS_CERT: cert,
      CULVERT_TLS_KEY: key,
      NODE_EXTRA_CA_CERTS: authority.path,
      ...relaySettings,
    });
    await startTcpBalancer(scope, port, relay.port, 1, edit);
    const { failed, findings, said } = await doctor(settings);
    const around = ['certificate', 'tunnel-certificate', 'wildcard'];
    const fix = findings.find(({ check }) => check === 'public')?.fix ?? '';
    return { failed: failed.filter((name) => !around.includes(name)), findings, fix, said };
  }

  const BALANCED = { ...TRUSTED, CULVERT_PROXY_PROTOCOL: 'on' };

  it('finds no fault in a TCP load balancer with the shipped configuration', async () => {
    const { failed, findings, said } = await behindTcpBalancer(BALANCED);
    assert.deepEqual(failed, [], said);
    const forwarded = findings.find(({ check }) => check === 'forwarded')?.detail ?? '';
    assert.match(forwarded, /PROXY protocol header, here 127\.0\.0\.1/);
  });

  it('finds that a TCP load balancer does not send the PROXY protocol header', async () => {
    const { failed, fix, said } = await behindTcpBalancer(BALANCED, (file) =>
      file.replace(' send-proxy-v2', ''),
    );
    assert.deepEqual(failed, ['public'], said);
    assert.match(fix, /Turn it on in the load balancer \(HAProxy: send-proxy-v2/);
  });

  it('finds that the relay does not expect the PROXY protocol header', async () => {
    const { failed, fix, said } = await behindTcpBalancer({});
    assert.deepEqual(failed, ['public'], said);
    assert.match(fix, /start the relay with CULVERT_PROXY_PROTOCOL=on/);
  });

  it('finds a proxy with a certificate that the relay does not know', async () => {
    const authority = new Authority(scope);
    const port = await closedPort();
    const { relay, settings } = await start({
      CULVERT_PUBLIC_URL: `https://localhost:${port}`,
      NODE_EXTRA_CA_CERTS: authority.path,
    });
    await SHIPPED_PROXIES['nginx']?.(scope, port, relay.port, authority.issue('*.localhost'));
    const { failed, findings, said } = await doctor(settings);
    assert.ok(failed.includes('forwarded'), said);
    const { fix = '' } = findings.find(({ check }) => check === 'forwarded') ?? {};
    assert.match(fix, /start the relay with CULVERT_TRUST_PROXY=127\.0\.0\.1/);
  });

  /** Runs doctor on a relay that serves TLS itself, and offers TCP tunnels. */
  async function withRawTunnels(publicPort: number) {
    const authority = new Authority(scope);
    const files = authority.issue('*.localhost');
    const first = 16_000 + ((await closedPort()) % 14_000);
    const more = {
      CULVERT_TLS_CERT: files.cert,
      CULVERT_TLS_KEY: files.key,
      NODE_EXTRA_CA_CERTS: authority.path,
      ...(publicPort === 0 ? {} : { CULVERT_PUBLIC_URL: `https://localhost:${publicPort}` }),
    };
    const { relay, settings } = await start({ ...more, CULVERT_TCP_PORTS: `${first}-${first + 9}` });
    return { relay, files, visit: async () => await doctor(settings) };
  }

  it('reaches TLS and TCP tunnels', async () => {
    const { relay, visit } = await withRawTunnels(0);
    const { ok, said } = await visit();
    for (const name of ['tcp-ports', 'tls-tunnel', 'tcp-tunnel']) assert.ok(ok.includes(name), said);
    await leavesNothing(relay);
  });

  it('finds a proxy that decrypts TLS', async () => {
    const port = await closedPort();
    const { relay, files, visit } = await withRawTunnels(port);
    const pair = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
    const proxy = createServer(pair, (visitor) => {
      const target = connect({ port: relay.port, servername: 'localhost', rejectUnauthorized: false });
      pipeline(visitor, target, () => {});
      pipeline(target, visitor, () => {});
    });
    proxy.listen(port, '127.0.0.1');
    await once(proxy, 'listening');
    scope.defer(() => proxy.close());
    const { failed, findings, said } = await visit();
    assert.ok(failed.includes('tls-tunnel') && !failed.includes('tunnel'), said);
    const { fix = '' } = findings.find(({ check }) => check === 'tls-tunnel') ?? {};
    assert.match(fix, /^A proxy in front of the relay must forward TLS without decrypting it/);
  });

  it('finds that the responding relay uses another database', async () => {
    const { settings } = await start();
    const other = await start();
    const { failed, findings, said } = await doctor({
      ...settings,
      CULVERT_DATA_DIR: other.relay.dataDirectory,
    });
    assert.deepEqual(failed, ['tunnel'], said);
    assert.match(
      findings.find(({ check }) => check === 'tunnel')?.fix ?? '',
      /The relay is using a different database/,
    );
  });

  it('names what is missing: database, relay, Redis', async () => {
    const redis = `redis://127.0.0.1:${await closedPort()}`;
    const { code, failed, said } = await doctor({
      CULVERT_DATABASE_URL: `postgres://culvert@127.0.0.1:${await closedPort()}/none`,
      CULVERT_PORT: String(await closedPort()),
      CULVERT_REDIS_URL: redis,
      CULVERT_CLUSTER_SECRET: 'a'.repeat(32),
      // Redis excludes several.
      CULVERT_WORKERS: '1',
    });
    assert.deepEqual(failed, ['database', 'redis', 'listener', 'public'], said);
    assert.equal(code, 1);
  });

  it('names a certificate that does not cover tunnels, and one that expires within 14 days', async () => {
    const authority = new Authority(scope);
    const { cert, key } = authority.issue();
    const { settings } = await start({ CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key });
    const { failed, said } = await doctor({ ...settings, NODE_EXTRA_CA_CERTS: authority.path });
    assert.deepEqual(failed, ['certificate', 'tunnel-certificate'], said);
    assert.match(said, /for localhost, expires in 1 day"/);
    const untrusting = await doctor(settings);
    assert.deepEqual(untrusting.failed, ['public'], untrusting.said);
  });

  it('gives the server at the public address 10 s, and does not read an endless answer', async () => {
    const silent = await startHttpService(scope, () => {});
    const endless = await startHttpService(scope, (_request, response) =>
      response.end('x'.repeat(1024 * 1024 + 1)),
    );
    const { settings } = await start();
    const [none, much] = await Promise.all(
      [silent, endless].map(({ port }) =>
        doctor({ ...settings, CULVERT_PUBLIC_URL: `http://localhost:${port}` }),
      ),
    );
    assert.deepEqual([none?.failed, much?.failed], [['public'], ['public']]);
    assert.match(none?.said ?? '', /no response within 10 s/);
    assert.match(much?.said ?? '', /the response is too long/);
  });

  it('refuses a wrong setting like every other command', async () => {
    const { code } = await doctor({ CULVERT_DATA_DIR: temporaryDirectory(scope), CULVERT_PORT: 'none' });
    assert.equal(code, 2);
  });

  async function start(more: Record<string, string> = {}) {
    const relay = await Relay.start(scope, more);
    return { relay, settings: { ...relay.databaseSettings, CULVERT_PORT: String(relay.port), ...more } };
  }
});

/** Asserts that the account that the checks created has been removed. */
async function leavesNothing(relay: Relay): Promise<void> {
  const { accounts } = (await administer(relay, 'account', 'list')) as { accounts: { name: string }[] };
  assert.deepEqual(
    accounts.map(({ name }) => name),
    ['default'],
  );
}

async function startSite(scope: Scope, port: number, relay: number, site: string): Promise<void> {
  const location = site.replace('RELAY', String(relay));
  await runNginx(
    scope,
    port,
    `map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
     server { listen 127.0.0.1:${port}; location / { ${location} } }`,
  );
}
