import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { type Config, loadConfig, publicUrlOf } from './config.ts';

function config(env: NodeJS.ProcessEnv, ...argv: string[]): Config {
  const result = loadConfig(env, argv);
  return 'config' in result ? result.config : assert.fail(result.problems.join('; '));
}

function problems(env: NodeJS.ProcessEnv, ...argv: string[]): readonly string[] {
  const result = loadConfig(env, argv);
  return 'problems' in result ? result.problems : assert.fail('nothing was refused');
}

describe('loadConfig', () => {
  it('has a default for everything', () => {
    const { reservedNames, trustedProxies, ...rest } = config({});
    assert.deepEqual(rest, {
      host: '127.0.0.1',
      http2: true,
      proxyProtocol: false,
      port: 8080,
      resolver: undefined,
      reusePort: false,
      publicUrl: undefined,
      tunnelDomain: 'localhost',
      workers: 1,
      foreignVariables: [],
      trunks: 2,
      tcpPorts: undefined,
      maxConnections: 10_000,
      address: { connections: 256, requests: 0 },
      serviceDomain: 'localhost',
      tls: undefined,
      acme: undefined,
      dataDir: resolve('.culvert'),
      database: { kind: 'sqlite', path: resolve('.culvert/culvert.db') },
      bootstrapKey: undefined,
      cluster: undefined,
      maxTtl: 604_800,
      defaultTtl: 3600,
      metrics: undefined,
      log: { format: undefined, level: 'info' },
      nameHold: 86_400,
      indexed: false,
      pathForm: true,
      notice: false,
      oidc: undefined,
      accessLog: undefined,
      abuseContact: undefined,
      downloadPage: undefined,
      downloads: undefined,
    });
    assert.ok(reservedNames.has('www') && reservedNames.has('api') && reservedNames.has('admin'));
    assert.equal(trustedProxies.check('127.0.0.1'), false);
  });

  it('reads the environment and flags; flags win', () => {
    const env = { CULVERT_HOST: '0.0.0.0', CULVERT_PORT: '1', CULVERT_TUNNEL_DOMAIN: 'Tunnels.Example.com' };
    const { host, port, tunnelDomain, serviceDomain } = config(env, '--port', '2');
    assert.deepEqual(
      { host, port, tunnelDomain, serviceDomain },
      {
        host: '0.0.0.0',
        port: 2,
        tunnelDomain: 'tunnels.example.com',
        serviceDomain: 'tunnels.example.com',
      },
    );
  });

  it('treats an empty variable as not set', () => {
    assert.equal(config({ CULVERT_PORT: '', CULVERT_REDIS_URL: ' ' }).port, 8080);
  });

  it('reports variables that look like settings but are not', () => {
    assert.deepEqual(problems({ CULVERT_TRUSTED_PROXIES: '10.0.0.1', CULVERT_PROT: '', PORT: '1' }), [
      'unknown setting CULVERT_PROT; did you mean CULVERT_PORT?',
      'unknown setting CULVERT_TRUSTED_PROXIES; did you mean CULVERT_TRUST_PROXY?',
    ]);
    assert.equal(
      config({ CULVERT_RELAY: 'https://relay.example', CULVERT_API_KEY: 'x', CULVERT_CA: 'x' }).port,
      8080,
    );
  });

  it('passes over the variables with which Kubernetes describes a service "culvert…"', () => {
    const links = {
      CULVERT_METRICS_PORT: 'tcp://10.96.0.8:9090',
      CULVERT_PORT: 'tcp://10.96.0.7:80',
      CULVERT_PORT_53_UDP: 'udp://10.96.0.7:53',
      CULVERT_PORT_80_TCP: 'tcp://10.96.0.7:80',
      CULVERT_PORT_80_TCP_ADDR: '10.96.0.7',
      CULVERT_PORT_80_TCP_PORT: '80',
      CULVERT_PORT_80_TCP_PROTO: 'tcp',
      CULVERT_RELAY_PORT: 'tcp://10.96.0.9:443',
      CULVERT_RELAY_PORT_443_TCP: 'tcp://10.96.0.9:443',
      CULVERT_RELAY_SERVICE_HOST: '10.96.0.9',
      CULVERT_SERVICE_HOST: '10.96.0.7',
      CULVERT_SERVICE_PORT: '80',
      CULVERT_SERVICE_PORT_HTTP_ALT: '80',
    };
    const { port, metrics, foreignVariables } = config({ ...links, CULVERT_SERVICE_DOMAIN: 'example.com' });
    assert.deepEqual(
      { port, metrics, foreignVariables },
      { port: 8080, metrics: undefined, foreignVariables: Object.keys(links) },
    );
    assert.equal(config(links, '--port', '81').port, 81);
    assert.match(problems({ CULVERT_PORT: 'http://10.96.0.7:80' }).join(), /^CULVERT_PORT must be/);
  });

  it('passes over the address that "culvert run" gives a relay that it starts', () => {
    const given = { CULVERT_URL: 'https://shop.example.com:8443', CULVERT_HOST: 'shop.example.com' };
    const { host, foreignVariables } = config(given);
    assert.deepEqual([host, foreignVariables], ['127.0.0.1', ['CULVERT_HOST', 'CULVERT_URL']]);
    assert.equal(config({ ...given, CULVERT_HOST: '::1' }).host, '::1');
    assert.equal(config(given, '--host', '::1').host, '::1');
  });

  it('keeps the database in the data folder unless told otherwise', () => {
    const inFolder = { kind: 'sqlite', path: '/var/lib/culvert/culvert.db' };
    assert.deepEqual(config({}, '--data-dir', '/var/lib/culvert').database, inFolder);
    const elsewhere = { kind: 'sqlite', path: '/tmp/x.db' };
    assert.deepEqual(config({ CULVERT_DATABASE_URL: 'sqlite:/tmp/x.db' }).database, elsewhere);
    const url = 'postgres://ann:secret@db/culvert';
    assert.deepEqual(config({ CULVERT_DATABASE_URL: url }).database, { kind: 'postgres', url });
  });

  it('lowers the default ttl to a smaller maximum', () => {
    assert.equal(config({ CULVERT_MAX_TTL: '30m' }).defaultTtl, 1800);
  });

  it('accepts 0s as the time that names are held', () => {
    assert.equal(config({ CULVERT_NAME_HOLD: '24h' }).nameHold, 86_400);
    assert.equal(config({ CULVERT_NAME_HOLD: '0s' }).nameHold, 0);
  });

  it('turns a mail address or web page for complaints into a link', () => {
    for (const [contact, link] of [
      ['abuse+tunnels@mail.example.com', 'mailto:abuse+tunnels@mail.example.com'],
      ['https://example.com/abuse', 'https://example.com/abuse'],
    ]) {
      assert.equal(config({ CULVERT_ABUSE_CONTACT: contact }).abuseContact, link);
    }
    for (const wrong of [
      'abuse',
      'abuse@localhost',
      'a@example.com?cc=b',
      'javascript:alert(1)',
      '//x.example',
    ]) {
      assert.match(
        problems({ CULVERT_ABUSE_CONTACT: wrong }).join(),
        /^CULVERT_ABUSE_CONTACT must be/,
        wrong,
      );
    }
  });

  it('accepts only a web address as the download page', () => {
    const page = 'https://example.com/culvert?for=team';
    assert.equal(config({ CULVERT_DOWNLOAD_PAGE: page }).downloadPage, page);
    for (const wrong of ['culvert', 'it@example.com', 'javascript:alert(1)', 'file:///culvert'])
      assert.match(
        problems({ CULVERT_DOWNLOAD_PAGE: wrong }).join(),
        /^CULVERT_DOWNLOAD_PAGE must be/,
        wrong,
      );
  });

  it('lets people sign in with a provider, which may be on this machine without https', () => {
    const relay = { CULVERT_OIDC_CLIENT_ID: 'relay' };
    const { issuer, ...others } =
      config({ ...relay, CULVERT_OIDC_ISSUER: 'https://id.example.com/realms/staff' }).oidc ??
      assert.fail('none');
    assert.equal(issuer.href, 'https://id.example.com/realms/staff');
    assert.deepEqual(
      [others.clientSecret, others.name, others.scopes, others.groupsClaim, others.ttl],
      [undefined, undefined, 'openid email profile', 'groups', 43_200],
    );
    for (const local of ['http://localhost:9000', 'http://127.0.0.1:1/x', 'http://[::1]:1'])
      assert.ok(config({ ...relay, CULVERT_OIDC_ISSUER: local }).oidc);
  });

  it('trusts the configured proxies', () => {
    const { trustedProxies } = config({ CULVERT_TRUST_PROXY: '10.0.0.0/8, ::1,192.0.2.7' });
    for (const address of ['10.1.2.3', '192.0.2.7'])
      assert.ok(trustedProxies.check(address, 'ipv4'), address);
    for (const address of ['::1', '::ffff:10.1.2.3'])
      assert.ok(trustedProxies.check(address, 'ipv6'), address);
    assert.equal(trustedProxies.check('192.0.2.8', 'ipv4'), false);
  });

  it('accepts the PROXY protocol only from trusted proxies', () => {
    const ON = { CULVERT_PROXY_PROTOCOL: 'on' };
    assert.equal(config({ ...ON, CULVERT_TRUST_PROXY: '10.0.0.1' }).proxyProtocol, true);
    assert.equal(config({ CULVERT_PROXY_PROTOCOL: 'off' }).proxyProtocol, false);
  });

  it('replaces the reserved names', () => {
    const { reservedNames } = config({ CULVERT_RESERVED_NAMES: 'intranet, printer' });
    assert.deepEqual([...reservedNames], ['intranet', 'printer']);
  });

  it("always reserves the name that would be the relay's own host", () => {
    const env = { CULVERT_PUBLIC_URL: 'https://edge.example.com', CULVERT_TUNNEL_DOMAIN: 'example.com' };
    assert.ok(config(env, '--reserved-names', 'www').reservedNames.has('edge'));
  });

  it('serves metrics only if a port is given', () => {
    assert.deepEqual(config({ CULVERT_METRICS_PORT: '9100' }).metrics, { host: '127.0.0.1', port: 9100 });
    const both = config({ CULVERT_METRICS_PORT: '0' }, '--metrics-host', '::1');
    assert.deepEqual(both.metrics, { host: '::1', port: 0 });
  });

  it('does not repeat a wrong key, which is a secret', () => {
    const [problem = ''] = problems({ CULVERT_BOOTSTRAP_KEY: 'hunter2' });
    assert.match(problem, /^CULVERT_BOOTSTRAP_KEY must be cvt_/);
    assert.doesNotMatch(problem, /hunter2/);
  });

  it('requires certificate and key together, and remembers how they were given', () => {
    const env = { CULVERT_TLS_CERT: '/etc/cert.pem' };
    const result = loadConfig(env, ['--tls-key', '/etc/key.pem']);
    assert.ok('config' in result);
    assert.deepEqual(result.config.tls, {
      cert: { path: '/etc/cert.pem', setting: 'CULVERT_TLS_CERT' },
      key: { path: '/etc/key.pem', setting: '--tls-key' },
    });
    assert.equal(publicUrlOf(result.config, 8443).href, 'https://localhost:8443/');
  });

  it('joins a cluster with a PostgreSQL database, a Redis and a secret', () => {
    const secret = 's'.repeat(32);
    const env = { CULVERT_REDIS_URL: 'redis://h', CULVERT_DATABASE_URL: 'postgres://h/d' };
    assert.deepEqual(config({ ...env, CULVERT_CLUSTER_SECRET: secret }).cluster, {
      redisUrl: 'redis://h',
      secret,
      host: '127.0.0.1',
      port: 0,
    });
  });

  it('shares only a fixed port, and only in a cluster', () => {
    const env = {
      CULVERT_REDIS_URL: 'redis://h',
      CULVERT_DATABASE_URL: 'postgres://h/d',
      CULVERT_CLUSTER_SECRET: 's'.repeat(32),
    };
    assert.equal(config({ ...env }).reusePort, false);
    assert.equal(config({ ...env, CULVERT_REUSE_PORT: 'false' }).reusePort, false);
    assert.equal(config({ ...env, CULVERT_REUSE_PORT: 'true' }).reusePort, true);
    assert.equal(config({}, '--reuse-port', 'false').reusePort, false);
  });

  const SECRET = 's'.repeat(32);
  const POSTGRES = 'CULVERT_DATABASE_URL=postgres://h/d';
  const ACME = 'CULVERT_ACME_EMAIL=a@relay.test CULVERT_PUBLIC_URL=https://relay.test';
  const ONLY_WITH = 'takes effect only with';
  /** Variables and options, and each problem. */
  const PROBLEMS: Readonly<Record<string, readonly string[]>> = {
    'CULVERT_PORT=65536 CULVERT_MAX_TTL=1d --host a.b:1': [
      '--host must be an IP address or a host name, without a port',
      'CULVERT_PORT must be a port number from 0 to 65535',
      'CULVERT_MAX_TTL must be a duration from 1s to 87600h, such as 90m or 168h',
    ],
    'CULVERT_TRUNKS=17': ['CULVERT_TRUNKS must be a number from 0 to 16'],
    'CULVERT_MAX_CONNECTIONS=500001': ['CULVERT_MAX_CONNECTIONS must be a number from 1 to 500000'],
    'CULVERT_ADDRESS_CONNECTIONS=500001': ['CULVERT_ADDRESS_CONNECTIONS must be a number from 0 to 500000'],
    'CULVERT_ADDRESS_REQUESTS=100001': ['CULVERT_ADDRESS_REQUESTS must be a number from 0 to 100000'],
    'CULVERT_NAME_HOLD=9000h': ['CULVERT_NAME_HOLD must be a duration from 0s to 8760h, such as 24h'],
    'CULVERT_METRICS_HOST=::1': [`CULVERT_METRICS_HOST ${ONLY_WITH} CULVERT_METRICS_PORT`],
    'CULVERT_MAX_TTL=30m CULVERT_DEFAULT_TTL=1h': [
      'CULVERT_DEFAULT_TTL must be at most 30m, the maximum ttl',
    ],
    'CULVERT_PROXY_PROTOCOL=on': [`CULVERT_PROXY_PROTOCOL ${ONLY_WITH} CULVERT_TRUST_PROXY`],
    'CULVERT_PROXY_PROTOCOL=v2 CULVERT_TRUST_PROXY=10.0.0.1': [
      'CULVERT_PROXY_PROTOCOL must be one of on, off',
    ],
    'CULVERT_TLS_CERT=/etc/cert.pem': [`CULVERT_TLS_CERT ${ONLY_WITH} CULVERT_TLS_KEY`],
    [`CULVERT_REDIS_URL=redis://h ${POSTGRES}`]: [`CULVERT_REDIS_URL ${ONLY_WITH} CULVERT_CLUSTER_SECRET`],
    [`CULVERT_REDIS_URL=redis://h CULVERT_CLUSTER_SECRET=${SECRET}`]: [
      `CULVERT_REDIS_URL ${ONLY_WITH} CULVERT_DATABASE_URL=postgres://…`,
    ],
    'CULVERT_CLUSTER_PORT=7000': [`CULVERT_CLUSTER_PORT ${ONLY_WITH} CULVERT_REDIS_URL`],
    'CULVERT_REUSE_PORT=true': [`CULVERT_REUSE_PORT ${ONLY_WITH} CULVERT_REDIS_URL`],
    [`CULVERT_REDIS_URL=redis://h ${POSTGRES} CULVERT_CLUSTER_SECRET=${SECRET} --reuse-port true --port 0`]: [
      `--reuse-port ${ONLY_WITH} a CULVERT_PORT that is not 0`,
    ],
    '--prot 1': ['Unknown option --prot. Did you mean --port?'],
    '--port': ['--port needs a value'],
    '--port -1': ['--port needs a value'],
    [`${ACME} CULVERT_ACME_ORDERS_PER_HOUR=0`]: [
      'CULVERT_ACME_ORDERS_PER_HOUR must be a number from 1 to 1000',
    ],
    [`${ACME} CULVERT_ACME_ORDERS_PER_HOUR=x`]: [
      'CULVERT_ACME_ORDERS_PER_HOUR must be a number from 1 to 1000',
    ],
    [`${ACME} CULVERT_ACME_ORDERS_PER_HOUR=1001`]: [
      'CULVERT_ACME_ORDERS_PER_HOUR must be a number from 1 to 1000',
    ],
    ...Object.fromEntries(
      ['http://localhost/dir', 'https://', 'letsencrypt'].map((directory) => [
        `${ACME} CULVERT_ACME_DIRECTORY=${directory}`,
        ['CULVERT_ACME_DIRECTORY must be the https:// address of an ACME directory'],
      ]),
    ),
    'CULVERT_ACME_EMAIL=operator': [
      'CULVERT_ACME_EMAIL must be an email address, such as operator@example.com',
    ],
    [`${ACME} CULVERT_TLS_CERT=a.pem CULVERT_TLS_KEY=b.pem`]: [
      'CULVERT_ACME_EMAIL takes effect only without CULVERT_TLS_CERT',
      'CULVERT_ACME_EMAIL takes effect only without CULVERT_TLS_KEY',
    ],
    [`${ACME} CULVERT_TRUST_PROXY=127.0.0.1`]: [
      'CULVERT_ACME_EMAIL takes effect only without CULVERT_TRUST_PROXY, or with CULVERT_PROXY_PROTOCOL=on',
    ],
    'CULVERT_OIDC_ISSUER=https://id.example.com': [`CULVERT_OIDC_ISSUER ${ONLY_WITH} CULVERT_OIDC_CLIENT_ID`],
    'CULVERT_OIDC_CLIENT_ID=relay CULVERT_SIGN_IN_TTL=1h': [
      `CULVERT_OIDC_CLIENT_ID ${ONLY_WITH} CULVERT_OIDC_ISSUER`,
      `CULVERT_SIGN_IN_TTL ${ONLY_WITH} CULVERT_OIDC_ISSUER`,
    ],
    'CULVERT_OIDC_ISSUER=https://id.example.com CULVERT_OIDC_CLIENT_ID=relay CULVERT_OIDC_CLIENT_SECRET=x CULVERT_OIDC_CLIENT_SECRET_FILE=y':
      ['CULVERT_OIDC_CLIENT_SECRET_FILE takes effect only without CULVERT_OIDC_CLIENT_SECRET'],
    'CULVERT_HTTP_PORT=81 CULVERT_ACME_CA=ca.pem': [
      `CULVERT_ACME_CA ${ONLY_WITH} CULVERT_ACME_EMAIL`,
      `CULVERT_HTTP_PORT ${ONLY_WITH} CULVERT_ACME_EMAIL`,
    ],
  };
  for (const [given, expected] of Object.entries(PROBLEMS))
    it(`reports the problems of ${given}, by the names that the operator used`, () => {
      const words = given.split(' ');
      const env = words
        .filter((word) => word.startsWith('CULVERT_'))
        .map((word) => {
          const at = word.indexOf('=');
          return [word.slice(0, at), word.slice(at + 1)];
        });
      const argv = words.filter((word) => !word.startsWith('CULVERT_'));
      assert.deepEqual(problems(Object.fromEntries(env) as NodeJS.ProcessEnv, ...argv), expected);
    });

  const refused: [setting: string, values: string[]][] = [
    ['PORT', ['abc', '-1', '1.5', '0x50', '65536', '000080']],
    [
      'PUBLIC_URL',
      ['relay.example.com', 'ftp://x', 'https://x/base', 'https://u:p@x', 'https://x/?q', 'http://'],
    ],
    [
      'TUNNEL_DOMAIN',
      ['.example.com', 'example.com:80', 'http://x', '127.0.0.1', 'a_b', '-a', 'x'.repeat(64)],
    ],
    ['DATABASE_URL', ['postgres://x', 'mysql://x/y', 'culvert.db', 'sqlite:']],
    ['MAX_TTL', ['0s', '900ms', '1', '-1h', '87601h']],
    ['TRUST_PROXY', ['localhost', '10.0.0.0/33', '::/129', '1.2.3.4/', '1.2.3.4/8/8', '10/8']],
    ['METRICS_PORT', ['on', '65536']],
    ['REDIS_URL', ['localhost:6379', 'http://x', 'redis:']],
    ['CLUSTER_SECRET', ['short']],
    ['REUSE_PORT', ['yes', '1', 'TRUE']],
    ['CLUSTER_HOST', ['0.0.0.0', '::', 'a b']],
    ['LOG_FORMAT', ['text', 'JSON']],
    ['LOG_LEVEL', ['verbose', '3']],
    ['HOST', ['a b']],
    ['RESERVED_NAMES', ['A', 'a b', 'www,-x']],
    [
      'OIDC_ISSUER',
      [
        'id.example.com',
        'http://id.example.com',
        'http://localhost.evil.com',
        'http://127.0.0.1.evil.com',
        'https://u:p@x',
        'https://x/?q',
        'https://x/#f',
        'file:///x',
      ],
    ],
    ['OIDC_SCOPES', ['email', 'openid "email"']],
    ['OIDC_NAME', ['x'.repeat(65), 'a\u0007b']],
    ['SIGN_IN_TTL', ['0s', '721h', '12']],
  ];
  for (const [setting, values] of refused) {
    for (const value of values) {
      it(`refuses CULVERT_${setting}=${value}`, () => {
        const [problem = '', ...more] = problems({ [`CULVERT_${setting}`]: value });
        assert.match(problem, new RegExp(`^CULVERT_${setting} must be `));
        assert.deepEqual(more, []);
      });
    }
  }
});

describe('publicUrlOf', () => {
  it('is the configured address', () => {
    assert.equal(
      publicUrlOf(config({ CULVERT_PUBLIC_URL: 'https://Relay.example' }), 1).origin,
      'https://relay.example',
    );
  });

  it('contains the bound port if no address is configured', () => {
    assert.equal(publicUrlOf(config({ CULVERT_PORT: '0' }), 49_152).origin, 'http://localhost:49152');
  });
});

const ON = { CULVERT_ACME_EMAIL: 'a@relay.test', CULVERT_PUBLIC_URL: 'https://relay.test' };

describe('settings of certificates', () => {
  it("default to 20 certificates an hour from Let's Encrypt", () => {
    const given = {
      email: 'a@relay.test',
      directory: 'https://acme-v02.api.letsencrypt.org/directory',
      ca: undefined,
      ordersPerHour: 20,
      httpPort: 80,
      dnsPort: undefined,
      host: 'relay.test',
    };
    assert.deepEqual(config(ON).acme, given);
    assert.equal(config({}).acme, undefined);
    const other = {
      CULVERT_ACME_DIRECTORY: 'https://localhost:14000/dir',
      CULVERT_ACME_CA: 'ca.pem',
      CULVERT_ACME_ORDERS_PER_HOUR: '1000',
      CULVERT_HTTP_PORT: '8081',
    };
    assert.deepEqual(config({ ...ON, ...other }).acme, {
      ...given,
      directory: 'https://localhost:14000/dir',
      ca: { path: resolve('ca.pem'), setting: 'CULVERT_ACME_CA' },
      ordersPerHour: 1000,
      httpPort: 8081,
    });
  });

  it('require a name that others can look up', () => {
    const text =
      'CULVERT_ACME_EMAIL takes effect only with CULVERT_PUBLIC_URL=https://… and a host name that the certificate authority can look up';
    for (const CULVERT_PUBLIC_URL of [
      '',
      'http://relay.test',
      'https://localhost',
      'https://192.0.2.1',
      'https://[::1]',
    ])
      assert.deepEqual(problems({ ...ON, CULVERT_PUBLIC_URL }), [text], CULVERT_PUBLIC_URL);
  });

  it('exclude trusted proxies, unless they say for whom they speak', () => {
    const balanced = { CULVERT_TRUST_PROXY: '127.0.0.1', CULVERT_PROXY_PROTOCOL: 'on' };
    assert.ok(config({ ...ON, ...balanced }).acme);
  });
});
