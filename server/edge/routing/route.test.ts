import assert from 'node:assert/strict';
import { parseRequestHead } from '../../../shared/http1/head.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import { HostResolver } from './host-resolver.ts';
import { offersWebSocket, route } from './route.ts';

const hosts = new HostResolver({ own: 'localhost', tunnel: 'localhost', service: 'localhost' });
const tunnel = { slug: 'abc', account: { subdomain: 'acme' } } as LiveTunnel;
const tunnels = {
  bySlug: (slug: string) => (slug === 'abc' ? tunnel : undefined),
  byDomain: (domain: string) => (domain === 'shop.example' ? tunnel : undefined),
  isVerified: (domain: string) => domain.endsWith('shop.example'),
};
// Its tunnel is still known here, although the domain is no longer verified.
const afterRemoval = { ...tunnels, isVerified: () => false };

function head(text: string) {
  const parsed = parseRequestHead(Buffer.from(`${text}\r\n\r\n`), { target: 1000, fields: 20 });
  assert.ok(typeof parsed === 'object');
  return parsed;
}

/** Where a request goes, in short. */
function to(text: string, pathForm = true): string {
  const found = route(head(text), { hosts, tunnels, pathForm });
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
    it(`${text.replace('\r\n', ', ')} goes to ${expected}`, () => assert.equal(to(text), expected));
  }

  for (const host of ['elsewhere.example', 'Elsewhere.Example.:8080', '192.0.2', 'a.1', '[::::]'])
    for (const target of ['/t/abc/x', '/t/abc', '/t/xyz', '/', '/?x', '/invite/x', '/invite/'])
      it(`refuses ${target} at ${host}, where only the API is`, () =>
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
    const context = { hosts, tunnels: afterRemoval, pathForm: true };
    assert.deepEqual(route(head('GET / HTTP/1.1\r\nHost: shop.example'), context), refused);
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
    it(`${text.replace('\r\n', ', ')} goes to ${expected}`, () => assert.equal(to(text, false), expected));
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
