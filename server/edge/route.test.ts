import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { hostname } from '../../shared/networks.ts';
import { ALONE } from '../testing/edge-fixture.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import {
  HostResolver,
  isHost,
  offersWebSocket,
  REMEMBERED_HOSTS_MAX,
  resolveHost,
  route,
  takeLink,
  tlsTunnelAt,
  TunnelLookup,
  type UpstreamHandler,
} from './route.ts';

const routeHosts = new HostResolver({ own: 'localhost', tunnel: 'localhost', service: 'localhost' });
const tunnel = {
  slug: 'abc',
  account: { id: 'acme-id', subdomain: 'acme' },
  terms: { wildcard: false },
} as LiveTunnel;
const tunnels = {
  registry: {
    bySlug: (slug: string) => (slug === 'abc' ? tunnel : undefined),
    byDomain: (domain: string) => (domain === 'shop.example' ? tunnel : undefined),
  },
  coordination: {
    byLabel: (label: string) => (label === 'abc' || label === 'x--abc' ? tunnel : undefined),
    ...ALONE,
  },
  verified: {
    domainsOf: (host: string) => (host.endsWith('shop.example') ? [host] : []),
    ownerOf: () => 'acme-id',
  },
};
// This relay still knows the tunnel, although the domain is no longer verified.
const afterRemoval = { ...tunnels, verified: { domainsOf: () => [], ownerOf: () => undefined } };

function head(text: string) {
  const parsed = parseRequestHead(Buffer.from(`${text}\r\n\r\n`), { target: 1000, fields: 20 });
  assert.ok(typeof parsed === 'object');
  return parsed;
}

/** The route of a request, in short. */
function to(text: string, pathForm = true): string {
  const found = route(head(text), { hosts: routeHosts, ...tunnels, pathForm });
  if (found.kind === 'refuse') return found.code;
  if (found.kind === 'redirect') return `redirect ${found.location}`;
  if (found.kind === 'tunnel') return `tunnel ${found.prefix} ${found.target}`;
  return found.kind === 'relay' ? `relay ${found.target}` : found.kind;
}

describe('route', () => {
  const cases: [string, string][] = [
    ['GET /x?y HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /x?y'],
    ['GET /x HTTP/1.1\r\nHost: ABC.localhost.:80', 'tunnel  /x'],
    ['GET /x HTTP/1.1\r\nHost: abc.acme.localhost', 'tunnel  /x'],
    ['GET /x HTTP/1.1\r\nHost: X--abc.localhost.:80', 'tunnel  /x'],
    ['GET /x HTTP/1.1\r\nHost: x--abc.acme.localhost', 'tunnel-unknown'],
    ['GET /t/x--abc/ HTTP/1.1\r\nHost: localhost', 'tunnel-unknown'],
    ['GET /x HTTP/1.1\r\nHost: abc.other.localhost', 'tunnel-unknown'],
    ['GET /x HTTP/1.1\r\nHost: xyz.localhost', 'tunnel-unknown'],
    ['GET /t/abc/x?y HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /t/abc/x?y'],
    ['GET /v1/tunnels HTTP/1.1\r\nHost: localhost', 'relay /v1/tunnels'],
    ['GET /v1/tunnels HTTP/1.0', 'relay /v1/tunnels'],
    ['GET /t/abc/x?y HTTP/1.1\r\nHost: localhost', 'tunnel /t/abc /x?y'],
    ['GET /t/abc HTTP/1.1\r\nHost: localhost', 'tunnel /t/abc /'],
    ['GET /t/abc?x HTTP/1.1\r\nHost: localhost', 'tunnel /t/abc /?x'],
    ['GET /t/abc//x HTTP/1.1\r\nHost: localhost', 'tunnel /t/abc //x'],
    ['GET /t/abc/../x HTTP/1.1\r\nHost: localhost', 'tunnel /t/abc /../x'],
    ['GET /t/abcd HTTP/1.1\r\nHost: localhost', 'tunnel-unknown'],
    ['GET /t/ABC HTTP/1.1\r\nHost: localhost', 'tunnel-unknown'],
    ['GET /t/%61bc HTTP/1.1\r\nHost: localhost', 'tunnel-unknown'],
    ['GET /t/abc/sw.js HTTP/1.1\r\nHost: localhost\r\nservice-worker: script', 'path-worker'],
    ['GET /t/abc HTTP/1.1\r\nHost: localhost\r\nService-Worker: script', 'path-worker'],
    ['GET http://localhost/t/abc/ HTTP/1.1\r\nHost: localhost\r\nService-Worker: script', 'path-worker'],
    ['GET /sw.js HTTP/1.1\r\nHost: abc.localhost\r\nService-Worker: script', 'tunnel  /sw.js'],
    ['GET /t/abc HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: navigate', 'redirect /t/abc/'],
    ['GET /t/abc?x=/y/ HTTP/1.1\r\nHost: localhost\r\nsec-fetch-mode: navigate', 'redirect /t/abc/?x=/y/'],
    [
      'GET http://localhost/t/abc? HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: navigate',
      'redirect /t/abc/?',
    ],
    ['GET /t/abc/ HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: navigate', 'tunnel /t/abc /'],
    ['GET /t/abc HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: cors', 'tunnel /t/abc /'],
    ['HEAD /t/abc HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: navigate', 'tunnel /t/abc /'],
    ['POST /t/abc HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: navigate', 'tunnel /t/abc /'],
    ['GET /t/xyz HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: navigate', 'tunnel-unknown'],
    ['GET /T/abc HTTP/1.1\r\nHost: localhost', 'relay /T/abc'],
    ['GET /t/ HTTP/1.1\r\nHost: localhost', 'relay /t/'],
    ['GET //t/abc HTTP/1.1\r\nHost: localhost', 'relay //t/abc'],
    ['GET http://localhost/v1/tunnels HTTP/1.1\r\nHost: localhost', 'relay /v1/tunnels'],
    ['GET http://localhost/t/abc/x HTTP/1.1\r\nHost: localhost', 'tunnel /t/abc /x'],
    ['GET http://localhost HTTP/1.1\r\nHost: localhost', 'relay /'],
    ['GET http://abc.localhost/ HTTP/1.1\r\nHost: localhost', 'bad-request'],
    ['GET http://localhost/ HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET http://abc.localhost/x?y HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /x?y'],
    ['GET HTTP://ABC.localhost HTTP/1.1\r\nHost: abc.LOCALHOST', 'tunnel  /'],
    ['GET http://abc.localhost?x HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /?x'],
    ['GET http://abc.localhost//x HTTP/1.1\r\nHost: abc.localhost', 'tunnel  //x'],
    ['GET http://abc.localhost:80/ HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /'],
    ['GET http://abc.localhost/ HTTP/1.1\r\nHost: abc.localhost:80', 'tunnel  /'],
    ['GET https://abc.localhost:443/ HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /'],
    ['GET http://abc.localhost:/ HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /'],
    ['GET http://abc.localhost:443/ HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET http://abc.localhost:81/ HTTP/1.1\r\nHost: abc.localhost:82', 'bad-request'],
    ['GET http://abc.localhost./ HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET http://a@abc.localhost/ HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET http://abc.localhost@localhost/ HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET http://abc.localhost\\@localhost/ HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET http:///x HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET http:/x HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET ftp://abc.localhost/ HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET http://localhost/ HTTP/1.0', 'bad-request'],
    ['GET abc HTTP/1.1\r\nHost: localhost', 'bad-request'],
    ['GET abc.localhost:80 HTTP/1.1\r\nHost: abc.localhost:80', 'bad-request'],
    ['OPTIONS * HTTP/1.1\r\nHost: abc.localhost', 'options'],
    ['OPTIONS * HTTP/1.1\r\nHost: nobody.localhost', 'options'],
    ['OPTIONS * HTTP/1.1\r\nHost: localhost', 'options'],
    ['OPTIONS * HTTP/1.0', 'options'],
    ['OPTIONS * HTTP/1.1', 'bad-request'],
    ['OPTIONS http://abc.localhost HTTP/1.1\r\nHost: abc.localhost', 'options'],
    ['OPTIONS http://abc.localhost/ HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /'],
    ['OPTIONS *x HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['OPTIONS /* HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /*'],
    ['GET * HTTP/1.1\r\nHost: abc.localhost', 'bad-request'],
    ['GET * HTTP/1.1\r\nHost: localhost', 'bad-request'],
    ['GET / HTTP/1.1', 'bad-request'],
    ['GET / HTTP/1.1\r\nHost: a\r\nHost: a', 'bad-request'],
    ['GET / HTTP/1.1\r\nHost:', 'bad-request'],
    ['CONNECT abc.localhost:80 HTTP/1.1\r\nHost: abc.localhost', 'method-not-allowed'],
    ['TRACE / HTTP/1.1\r\nHost: localhost', 'method-not-allowed'],
    ['TRACE / HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /'],
    ['GET /x HTTP/1.1\r\nHost: Shop.Example.:8080', 'tunnel  /x'],
    ['GET /v1/tunnels HTTP/1.1\r\nHost: shop.example', 'tunnel  /v1/tunnels'],
    ['GET /t/abc HTTP/1.1\r\nHost: shop.example', 'tunnel  /t/abc'],
    ['OPTIONS * HTTP/1.1\r\nHost: shop.example', 'options'],
    ['GET http://shop.example/x HTTP/1.1\r\nHost: shop.example', 'tunnel  /x'],
    ['GET http://localhost/x HTTP/1.1\r\nHost: shop.example', 'bad-request'],
    ['GET /v1/tunnels HTTP/1.1\r\nHost: old.shop.example', 'domain-offline'],
    ['GET /v1/tunnels HTTP/1.1\r\nHost: elsewhere.example', 'relay /v1/tunnels'],
    ['GET /healthz HTTP/1.1\r\nHost: elsewhere.example', 'relay /healthz'],
    ['GET /healthz HTTP/1.0', 'relay /healthz'],
    ['TRACE /healthz HTTP/1.1\r\nHost: elsewhere.example', 'method-not-allowed'],
    ['GET /t/abc/x HTTP/1.1\r\nHost: 192.0.2.1:8080', 'tunnel /t/abc /x'],
    ['GET /t/abc/x HTTP/1.1\r\nHost: [2001:db8::1]:8080', 'tunnel /t/abc /x'],
    ['GET /t/abc/x HTTP/1.1\r\nHost: relay', 'tunnel /t/abc /x'],
    ['GET / HTTP/1.1\r\nHost: relay', 'relay /'],
    ['GET /invite/x HTTP/1.1\r\nHost: localhost', 'relay /invite/x'],
  ];
  for (const [text, expected] of cases) {
    it(`routes ${text.replace('\r\n', ', ')} to ${expected}`, () => assert.equal(to(text), expected));
  }

  for (const host of ['elsewhere.example', 'Elsewhere.Example.:8080', '192.0.2', 'a.1', '[::::]'])
    for (const target of ['/t/abc/x', '/t/abc', '/t/xyz', '/', '/?x', '/invite/x', '/invite/'])
      it(`refuses ${target} at ${host}, which only serves the API`, () =>
        assert.equal(to(`GET ${target} HTTP/1.1\r\nHost: ${host}`), 'misdirected'));

  for (const target of [
    'http://elsewhere.example/t/abc',
    'http://elsewhere.example',
    'http://elsewhere.example?x',
  ])
    it(`refuses ${target} in absolute form`, () =>
      assert.equal(to(`GET ${target} HTTP/1.1\r\nHost: elsewhere.example`), 'misdirected'));

  for (const target of ['/t/abc/x', '/t/xyz', '/', '/invite/x'])
    it(`refuses ${target} of HTTP/1.0 without a Host`, () =>
      assert.equal(to(`GET ${target} HTTP/1.0`), 'misdirected'));

  it('refuses a tunnel at a domain that is no longer verified', () => {
    const refused = { kind: 'refuse', code: 'misdirected' };
    const context = { hosts: routeHosts, ...afterRemoval, pathForm: true };
    assert.deepEqual(route(head('GET / HTTP/1.1\r\nHost: shop.example'), context), refused);
  });

  it('does not serve the tunnel of the earlier owner of a domain', () => {
    const verified = { ...tunnels.verified, ownerOf: () => 'another-id' };
    const context = { hosts: routeHosts, ...tunnels, verified, pathForm: true };
    const found = route(head('GET / HTTP/1.1\r\nHost: shop.example'), context);
    assert.deepEqual(found, { kind: 'refuse', code: 'domain-offline' });
  });
});

describe('route at a host with several domains', () => {
  const account = { id: 'acme-id' };
  const [own, wild] = [
    { slug: 'own', account },
    { slug: 'wild', account },
  ] as [LiveTunnel, LiveTunnel];
  const domains = ['a.shop.example', '*.shop.example'];

  async function at(found: Record<string, LiveTunnel>, isShared: boolean): Promise<string> {
    const byDomain = (domain: string) => (isShared ? undefined : found[domain]);
    const findByDomain = (domain: string) => Promise.resolve(found[domain]);
    const { registry, coordination, verified } = tunnels;
    const context = {
      hosts: routeHosts,
      registry: { ...registry, byDomain },
      coordination: isShared ? { ...coordination, isAlone: false, findByDomain } : coordination,
      verified: { ...verified, domainsOf: () => domains },
      pathForm: true,
    };
    const decided = route(head('GET / HTTP/1.1\r\nHost: a.shop.example'), context);
    if (decided.kind === 'refuse') return decided.code;
    assert.ok(decided.kind === 'tunnel');
    const { tunnel: target } = decided;
    if (!(target instanceof TunnelLookup)) return target.slug;
    return await new Promise((resolve) => {
      const dialer = { dial: ({ slug }: LiveTunnel) => (resolve(slug), { cancel() {} }), isAway: () => true };
      const handler = { failed: (code: string) => resolve(code) };
      target.dial(dialer, handler as UpstreamHandler, {
        entering: () => Promise.resolve(undefined),
        atRest: () => assert.fail('nobody keeps it'),
      });
    });
  }

  for (const isShared of [false, true])
    it(`prefers the tunnel of the single host${isShared ? ', also if another relay has it' : ''}`, async () => {
      const both = { 'a.shop.example': own, '*.shop.example': wild };
      assert.equal(await at(both, isShared), 'own');
      assert.equal(await at({ '*.shop.example': wild }, isShared), 'wild');
      assert.equal(await at({}, isShared), 'domain-offline');
    });
});

describe('a TLS tunnel', () => {
  const tls = { account: tunnel.account, protocol: 'tls', isRaw: true } as LiveTunnel;
  const registry = {
    bySlug: (slug: string) => (slug === 'abc' ? tls : undefined),
    byDomain: (domain: string) => (domain === 'shop.example' ? tls : undefined),
  };
  const coordination = { ...ALONE, byLabel: registry.bySlug };
  const context = { hosts: routeHosts, ...tunnels, registry, coordination, pathForm: true };

  it('has the connections with TLS to its label and its domain, and no others', async () => {
    for (const host of ['abc.localhost', 'ABC.localhost', 'shop.example'])
      assert.equal(tlsTunnelAt(host, context), tls, host);
    for (const host of [
      'x--abc.localhost',
      'abc.acme.localhost',
      'localhost',
      'other.localhost',
      'a.test',
      '[',
    ])
      assert.equal(tlsTunnelAt(host, context), undefined, host);
    const { verified } = afterRemoval;
    assert.equal(tlsTunnelAt('shop.example', { ...context, verified }), undefined);
    assert.equal(tlsTunnelAt('abc.localhost', { ...context, ...tunnels }), undefined, 'one of HTTP');
    const elsewhere = { ...ALONE, byLabel: () => undefined, isAlone: false, isUnknown: () => false };
    for (const [found, expected] of [
      [tls, tls],
      [tunnel, undefined],
    ] as const) {
      const other = { ...elsewhere, find: () => Promise.resolve(found) };
      assert.equal(await tlsTunnelAt('other.localhost', { ...context, coordination: other }), expected);
    }
  });

  it('does not exist for HTTP, in any form', () => {
    for (const request of ['/ HTTP/1.1\r\nHost: abc.localhost', '/t/abc/ HTTP/1.1\r\nHost: localhost'])
      assert.deepEqual(route(head(`GET ${request}`), context), { kind: 'refuse', code: 'tunnel-unknown' });
  });
});

describe('route without the path form', () => {
  const cases: [string, string][] = [
    ['GET /t/abc HTTP/1.1\r\nHost: localhost', 'tunnel-unknown'],
    ['GET /t/abc/x HTTP/1.1\r\nHost: localhost', 'tunnel-unknown'],
    ['GET /t/xyz/ HTTP/1.1\r\nHost: localhost', 'tunnel-unknown'],
    ['GET http://localhost/t/abc?x HTTP/1.1\r\nHost: localhost', 'tunnel-unknown'],
    ['GET /t/abc/x HTTP/1.1\r\nHost: abc.localhost', 'tunnel  /t/abc/x'],
    ['GET /t/abc/x HTTP/1.1\r\nHost: elsewhere.example', 'misdirected'],
    ['GET /v1/tunnels HTTP/1.1\r\nHost: localhost', 'relay /v1/tunnels'],
  ];
  for (const [text, expected] of cases) {
    it(`routes ${text.replace('\r\n', ', ')} to ${expected}`, () => assert.equal(to(text, false), expected));
  }
});

function offers(line: string, fields: string): boolean {
  return offersWebSocket(head(`${line}\r\nHost: x\r\n${fields}`));
}

describe('offersWebSocket', () => {
  it('accepts a GET with Upgrade and Connection, in upper or lower case', () => {
    assert.ok(offers('GET / HTTP/1.1', 'Upgrade: WebSocket\r\nConnection: keep-alive, UPGRADE'));
  });

  it('accepts nothing less', () => {
    assert.ok(!offers('POST / HTTP/1.1', 'Upgrade: websocket\r\nConnection: upgrade'));
    assert.ok(!offers('GET / HTTP/1.0', 'Upgrade: websocket\r\nConnection: upgrade'));
    assert.ok(!offers('GET / HTTP/1.1', 'Upgrade: websocket'));
    assert.ok(!offers('GET / HTTP/1.1', 'Upgrade: h2c, websocket\r\nConnection: upgrade'));
    assert.ok(!offers('GET / HTTP/1.1', 'Connection: upgrade'));
  });
});

const domains = { own: 'relay.example', tunnel: 'tunnels.example', service: 'example' };

describe('resolveHost', () => {
  const cases: [string, string][] = [
    ['relay.example', 'own'],
    ['RELAY.example:8080', 'own'],
    ['elsewhere.org', 'other'],
    ['xn--mller-kva.org:81', 'other'],
    ['1.2.3.4', 'own'],
    ['single', 'own'],
    ['127.0.0.1:80', 'own'],
    ['[::1]:80', 'own'],
    ['app.localhost:80', 'own'],
    ['localhost.', 'own'],
    ['notlocalhost.org', 'other'],
    ['1.2.3', 'other'],
    ['1.2.3.4.5', 'other'],
    ['a.123', 'other'],
    ['[:::]', 'other'],
    ['tunnels.example', 'unknown'],
    ['abc.tunnels.example', 'abc'],
    ['ABC.Tunnels.Example.', 'abc'],
    ['abc.tunnels.example:8080', 'abc'],
    ['abc.tunnels.example.:8080', 'abc'],
    ['abc.acme.example', 'abc acme'],
    ['a.b.tunnels.example', 'unknown'],
    ['a.b.acme.example', 'unknown'],
    ['.tunnels.example', ''],
    ['xtunnels.example', 'unknown'],
    ['abc.tunnels.example.evil.org', 'other'],
  ];
  for (const [host, expected] of cases) {
    it(`resolves ${host} to ${expected || 'a tunnel without a name'}`, () => {
      const target = resolveHost(host, domains);
      const found =
        target.kind === 'tunnel' ? [target.slug, target.account].filter(Boolean).join(' ') : target.kind;
      assert.equal(found, expected);
    });
  }

  it('supports both forms below one domain', () => {
    const one = { own: 'localhost', tunnel: 'localhost', service: 'localhost' };
    assert.deepEqual(resolveHost('a.localhost', one), { kind: 'tunnel', slug: 'a', account: undefined });
    assert.deepEqual(resolveHost('a.b.localhost', one), { kind: 'tunnel', slug: 'a', account: 'b' });
    assert.deepEqual(resolveHost('a.b.c.localhost', one), { kind: 'unknown' });
  });
});

describe('HostResolver', () => {
  it('returns the same result again, also after it was forgotten', () => {
    const hosts = new HostResolver({ own: 'localhost', tunnel: 'localhost', service: 'localhost' });
    const ask = () => ['a.localhost', 'localhost', 'a b'].map((host) => hosts.resolve(host)?.kind);
    const first = ask();
    assert.deepEqual(first, ['tunnel', 'own', undefined]);
    assert.deepEqual(ask(), first);
    for (let index = 0; index < 2000; index += 1) hosts.resolve(`a${index}.localhost`);
    assert.deepEqual(ask(), first);
  });
});

/** The same object is returned again only if it was remembered. */
function resolver(): HostResolver {
  return new HostResolver({ own: 'x', tunnel: 'localhost', service: 'localhost' });
}

describe('the cache of HostResolver', () => {
  it('keeps a host that is in use during a flood of other hosts', () => {
    const hosts = resolver();
    const hot = hosts.resolve('hot.localhost');
    for (let index = 0; index < 20_000; index += 1) {
      hosts.resolve(`flood${index}.localhost`);
      if (index % 100 === 0) assert.equal(hosts.resolve('hot.localhost'), hot, `after ${index}`);
    }
  });

  it('ignores malformed hosts, which replace nothing either', () => {
    const hosts = resolver();
    const hot = hosts.resolve('hot.localhost');
    for (let index = 0; index < 20_000; index += 1) hosts.resolve(`a b${index}`);
    assert.equal(hosts.resolve('hot.localhost'), hot);
  });

  it('holds 1,024 hosts at most', () => {
    const hosts = resolver();
    const first = hosts.resolve('a0.localhost');
    for (let index = 1; index <= 2 * REMEMBERED_HOSTS_MAX; index += 1) hosts.resolve(`a${index}.localhost`);
    assert.notEqual(hosts.resolve('a0.localhost'), first);
  });
});

describe('isHost', () => {
  for (const host of ['a', 'a.b:80', 'a_b.c', '[::1]', '[::1]:80', '1.2.3.4', 'a:']) {
    it(`accepts ${host}`, () => assert.ok(isHost(host)));
  }
  for (const host of ['', 'a b', 'a/b', 'a@b', 'a:b', 'a:123456', 'a,b', '[::1', 'a?b', ':80', 'ä']) {
    it(`refuses ${JSON.stringify(host)}`, () => assert.ok(!isHost(host)));
  }
});

describe('hostname', () => {
  it('drops the port and one trailing dot', () => {
    assert.deepEqual(['A.b:80', 'a.b.', 'a.b..', '[::1]:80', '[::1]'].map(hostname), [
      'a.b',
      'a.b',
      'a.b.',
      '[::1]',
      '[::1]',
    ]);
  });
});

describe('takeLink', () => {
  const cases: [asked: string, target: string, link: string | undefined][] = [
    ['/', '/', undefined],
    ['/x?culvert_pass=abc', '/x', 'abc'],
    ['/x?a=1&culvert_pass=abc', '/x?a=1', 'abc'],
    ['/x?culvert_pass=abc&a=1', '/x?a=1', 'abc'],
    ['/x?%61=%2F+&&b;c&culvert_pass=abc&d=e=f&', '/x?%61=%2F+&&b;c&d=e=f&', 'abc'],
    ['/x?culvert_pass=a=b', '/x', 'a=b'],
    ['/x?culvert_pass=', '/x', ''],
    ['/x?culvert_pass', '/x', ''],
    ['/x?&culvert_pass=abc', '/x?', 'abc'],
    ['//x/../y?culvert_pass=abc', '//x/../y', 'abc'],
    ['/x?y?culvert_pass=abc', '/x?y?culvert_pass=abc', undefined],
    ['/x?y?&culvert_pass=abc', '/x?y?', 'abc'],
    ['/culvert_pass=abc', '/culvert_pass=abc', undefined],
    ['/x?xculvert_pass=abc&culvert_passx=d', '/x?xculvert_pass=abc&culvert_passx=d', undefined],
    ['/x?Culvert_Pass=abc', '/x?Culvert_Pass=abc', undefined],
    ['/x?culvert%5Fpass=abc', '/x?culvert%5Fpass=abc', undefined],
    ['/x?a=culvert_pass', '/x?a=culvert_pass', undefined],
    ['/x?culvert_pass=a&culvert_pass=b', '/x', ''],
    ['/x?culvert_pass=a&c&culvert_pass=a', '/x?c', ''],
  ];
  for (const [asked, target, link] of cases) {
    it(`removes the parameter from ${asked}`, () => assert.deepEqual(takeLink(asked), { target, link }));
  }

  it('keeps everything else byte for byte, at any position', () => {
    const piece = fc.string({
      unit: fc.constantFrom('a', '=', '%', ';', '?', '/', '\u00e9', 'culvert_pas', 's'),
    });
    const others = fc.array(piece.filter((text) => text.split('=')[0] !== 'culvert_pass'));
    fc.assert(
      fc.property(others, fc.nat(), (parameters, place) => {
        const target = parameters.length === 0 ? '/x' : `/x?${parameters.join('&')}`;
        const asked = `/x?${parameters.toSpliced(place % (parameters.length + 1), 0, 'culvert_pass=abc').join('&')}`;
        assert.deepEqual(takeLink(asked), { target, link: 'abc' });
        assert.deepEqual(takeLink(target), { target, link: undefined });
      }),
    );
  });
});
