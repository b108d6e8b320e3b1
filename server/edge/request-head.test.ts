import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { isTrusted, type Peer, plainAddress, tunnelRequestHead } from './request-head.ts';

const peer: Peer = { address: '203.0.113.9', proto: 'http', trusted: false };

function forwarded(fields: string[], { from = peer, upgrade = false, prefix = '' } = {}) {
  const text = `GET /x HTTP/1.1\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
  const head = parseRequestHead(Buffer.from(text), { target: 100, fields: 100 });
  assert.ok(typeof head === 'object');
  return tunnelRequestHead(head, from, {
    target: '/y',
    prefix,
    upgrade,
    hidesAuthorization: false,
    visitor: undefined,
  })
    .toString('latin1')
    .split('\r\n');
}

describe('tunnelRequestHead', () => {
  it("removes the relay's own cookies, and nothing else from their field", () => {
    const fields = [
      'Host: a',
      'Cookie: a="1, 2" ;culvert-notice=x; b=;c',
      'cookie:  __Host-culvert-notice=1 ',
    ];
    assert.deepEqual(forwarded([...fields, 'Cookie: xculvert-notice=1']).slice(1, 4), [
      'Host: a',
      'Cookie: a="1, 2" ; b=;c',
      'Cookie: xculvert-notice=1',
    ]);
  });

  it('keeps names, order and duplicates, and adds the address of the sender', () => {
    assert.deepEqual(forwarded(['Host: a.localhost', 'x-B: 1', 'Cookie: c', 'X-b: 2']), [
      'GET /y HTTP/1.1',
      'Host: a.localhost',
      'x-B: 1',
      'Cookie: c',
      'X-b: 2',
      'X-Forwarded-For: 203.0.113.9',
      'X-Forwarded-Host: a.localhost',
      'X-Forwarded-Proto: http',
      '',
      '',
    ]);
  });

  it('drops fields about one connection only, and those that Connection names', () => {
    const lines = forwarded([
      'Host: a',
      'Connection: close, X-Hop',
      'Keep-Alive: 5',
      'Proxy-Connection: x',
      'Upgrade: h2c',
      'x-hop: 1',
      'TE: trailers',
    ]);
    assert.deepEqual(lines.slice(1, 3), ['Host: a', 'TE: trailers']);
  });

  it('does not let Connection remove the host or the framing of the message', () => {
    const lines = forwarded([
      'Host: a',
      'Content-Length: 3',
      'Connection: host, content-length, x-forwarded-for',
    ]);
    assert.deepEqual(lines.slice(1, 4), ['Host: a', 'Content-Length: 3', 'X-Forwarded-For: 203.0.113.9']);
  });

  it('drops claims about the origin of a request, and keeps Forwarded and X-Real-IP of a trusted proxy', () => {
    const named = ['Forwarded: for=6.6.6.6', 'X-Real-IP: 6'];
    const claims = [
      'x-forwarded-port: 1',
      'X-Forwarded: 6',
      'Forwarded-For: 6',

      'Client-IP: 6',
      'X-Client-Ip: 6',
      'X-Cluster-Client-IP: 6',
      'True-Client-IP: 6',
      'Fastly-Client-IP: 6',
      'Proxy-Client-IP: 6',
      'WL-Proxy-Client-IP: 6',
      'CF-Connecting-IP: 6',
      'X-Original-Forwarded-For: 6',
      'X-Forwarded-User: admin',
      'X-Forwarded-Access-Token: 6',
      'X-Forwarded-Prefix: /evil',
    ];
    assert.deepEqual(forwarded(['Host: a', ...named, ...claims]).slice(1, 3), [
      'Host: a',
      'X-Forwarded-For: 203.0.113.9',
    ]);
    const believed = forwarded(['Host: a', ...claims, ...named], { from: { ...peer, trusted: true } });
    assert.deepEqual(believed.slice(1, 5), ['Host: a', ...named, 'X-Forwarded-For: 203.0.113.9']);
  });

  it('drops spellings that services normalize into a claim, and Proxy, even from a trusted proxy', () => {
    const names = [
      'X-Forwarded-For',
      'X-Forwarded-Proto',
      'X-Forwarded-Prefix',
      'X-Real-IP',
      'Culvert-Visitor',
    ];
    const others = [
      'X_REAL-ip',
      'HTTP_Client_IP',
      'X.Forwarded~Host',
      'True!Client+IP',
      'forwarded.for',
      'Proxy',
    ];
    // The characters of a name that are neither letters nor digits (RFC 9110 section 5.6.2).
    const folded = Array.from("!#$%&'*+.^_`|~").flatMap((character) =>
      names.map((name) => name.replaceAll('-', character)),
    );
    const mixed = names.map((name) => name.toUpperCase().replace('-', '.'));
    for (const trusted of [false, true]) {
      for (const name of [...folded, ...mixed, ...others]) {
        const lines = forwarded(['Host: a', `${name}: evil`], { from: { ...peer, trusted } });
        assert.deepEqual(lines.slice(1, 3), ['Host: a', 'X-Forwarded-For: 203.0.113.9'], name);
      }
    }
  });

  it('keeps fields that only look like those', () => {
    const fields = [
      'with_underscore: 1',
      'X-Forward: 1',
      'X_Forward: 1',
      'Forwardee: 1',
      'My-Ip: 1',
      'X-Ship: 1',
      'Unreal-IP: 1',

      'Referer: 1',
      'For: 1',
      'P: 1',
      'r: 1',
      'X: 1',
      'Proxe: 1',
      'Proxy-Authorization: 1',
      'Culvert-Visitors: 1',
      'CulvertxVisitor: 1',
      'X.Forward.For: 1',
      'X-Not-X-Forwarded: 1',
    ];
    assert.deepEqual(forwarded(['Host: a', ...fields]).slice(2, 2 + fields.length), fields);
  });

  it("replaces a visitor's own forwarded fields", () => {
    const lines = forwarded([
      'Host: a',
      'X-Forwarded-For: 1',
      'x-forwarded-prefix: /evil',
      'X-FORWARDED-PROTO: https',
    ]);
    assert.deepEqual(lines.slice(1), [
      'Host: a',
      'X-Forwarded-For: 203.0.113.9',
      'X-Forwarded-Host: a',
      'X-Forwarded-Proto: http',
      '',
      '',
    ]);
  });

  it("trusts a trusted proxy, and adds the proxy's address", () => {
    const from = { ...peer, trusted: true };
    const given = [
      'X-Forwarded-For: 1',
      'X-Forwarded-For: 2',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: b',
    ];
    assert.deepEqual(forwarded(['Host: a', ...given, 'X-Forwarded-Prefix: /evil'], { from }).slice(1), [
      'Host: a',
      'X-Forwarded-For: 1, 2, 203.0.113.9',
      'X-Forwarded-Host: b',
      'X-Forwarded-Proto: https',
      '',
      '',
    ]);
  });

  it('names the prefix it removed, and passes a WebSocket offer on', () => {
    const lines = forwarded(['Host: a', 'Upgrade: WebSocket', 'Connection: x, Upgrade'], {
      upgrade: true,
      prefix: '/t/a',
    });
    assert.deepEqual(lines.slice(1, 4), ['Host: a', 'Upgrade: WebSocket', 'Connection: Upgrade']);
    assert.equal(lines.at(-3), 'X-Forwarded-Prefix: /t/a');
  });
});

describe('isTrusted', () => {
  it('matches addresses and networks of both families', () => {
    const proxies = new BlockList();
    proxies.addSubnet('10.0.0.0', 8, 'ipv4');
    proxies.addAddress('::1', 'ipv6');
    assert.ok(isTrusted(plainAddress('::ffff:10.1.2.3'), proxies));
    assert.ok(isTrusted('::1', proxies));
    assert.ok(!isTrusted('11.0.0.1', proxies));
  });
});
