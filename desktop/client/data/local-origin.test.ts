import assert from 'node:assert/strict';
import { parseRequestHead } from '../../../shared/http1/head.ts';
import { localPages } from './local-origin.ts';

const LOCAL = 'http://localhost:3000';
const FORWARDED = ['X-Forwarded-Host: shop.tunnels.test', 'X-Forwarded-Proto: https'];

/** The new values, by the fields in lower case. */
function replaced(lines: readonly string[], forwarded: readonly string[] = FORWARDED) {
  const text = ['GET / HTTP/1.1', ...lines, ...forwarded, '', ''].join('\r\n');
  const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: Infinity, fields: Infinity });
  assert.ok(typeof head === 'object');
  const pages = localPages(head.fields, LOCAL);
  return pages && Object.fromEntries([...pages].map(([field, value]) => [field.lower, value]));
}

describe('localPages', () => {
  it('replaces the origin of the tunnel in Origin and Referer', () => {
    assert.deepEqual(
      replaced(['Origin: https://shop.tunnels.test', 'Referer: https://shop.tunnels.test/cart?x=https://a']),
      { origin: LOCAL, referer: `${LOCAL}/cart?x=https://a` },
    );
    assert.deepEqual(replaced(['REFERER:https://shop.tunnels.test ']), { referer: LOCAL });
  });

  it('decides about each of them alone', () => {
    const lines = ['Origin: https://evil.test', 'Referer: https://shop.tunnels.test/'];
    assert.deepEqual(replaced(lines), { referer: `${LOCAL}/` });
  });

  it('compares with the host and the scheme that the visitor used', () => {
    for (const [host, scheme, value] of [
      ['a--shop.tunnels.test', 'https', 'https://a--shop.tunnels.test'],
      ['shop.tunnels.test:8443', 'https', 'https://shop.tunnels.test:8443'],
      ['shop.localhost:8080', 'http', 'http://shop.localhost:8080'],
      ['SHOP.tunnels.test', 'https', 'https://shop.tunnels.test'],
      ['shop.tunnels.test:443', 'https', 'https://shop.tunnels.test'],
      ['shop.tunnels.test:80', 'http', 'http://shop.tunnels.test'],
      ['[::1]:80', 'http', 'http://[::1]'],
    ] as const) {
      const forwarded = [`X-Forwarded-Host: ${host}`, `X-Forwarded-Proto: ${scheme}`];
      assert.deepEqual(replaced([`Origin: ${value}`], forwarded), { origin: LOCAL }, value);
    }
    const forwarded = ['X-Forwarded-Host: a--shop.tunnels.test', 'X-Forwarded-Proto: https'];
    assert.equal(replaced(['Origin: https://b--shop.tunnels.test'], forwarded), undefined);
  });

  for (const foreign of [
    'null',
    '',
    'https://',
    'https://evil.test',
    'https://tunnels.test',
    'http://shop.tunnels.test',
    'https://shop.tunnels.test.evil.com',
    'https://shop.tunnels.testevil.com',
    'https://shop.tunnels.test:8443',
    'https://shop.tunnels.test:443',
    'https://shop.tunnels.test@evil.com',
    'https://shop.tunnels.test:x@evil.com',
    'https://shop.tunnels.test%2eevil.com',
    'https://shop.tunnels.test\\evil.com',
    'https://shop.tunnels.test evil.com',
    'https://shop.tunnels.test, https://evil.com',
    'https://ann@shop.tunnels.test',
    'https://evil.com/https://shop.tunnels.test',
    'https:/shop.tunnels.test',
    '//shop.tunnels.test',
    'shop.tunnels.test',
  ]) {
    it(`keeps the foreign "${foreign}"`, () => {
      assert.equal(replaced([`Origin: ${foreign}`, `Referer: ${foreign}`]), undefined);
      assert.equal(replaced([`Origin: ${foreign}/`, `Referer: ${foreign}/`]), undefined);
    });
  }

  it('keeps an Origin with more than an origin', () => {
    for (const more of ['/', '/x', '?', '#'])
      assert.equal(replaced([`Origin: https://shop.tunnels.test${more}`]), undefined, more);
  });

  it('keeps repeated fields', () => {
    const own = 'https://shop.tunnels.test';
    for (const other of [own, 'https://evil.test'])
      assert.equal(
        replaced([`Origin: ${own}`, `origin: ${other}`, `Referer: ${own}/`, `referer: ${other}/`]),
        undefined,
      );
  });

  it('keeps everything if it is not clear what the address of the tunnel is', () => {
    const [host = '', scheme = ''] = FORWARDED;
    for (const forwarded of [
      [],
      [host],
      [scheme],
      [host, scheme, host],
      [host, scheme, scheme],
      [host, 'X-Forwarded-Proto: ftp'],
      [host, 'X-Forwarded-Proto: constructor'],
      ['X-Forwarded-Host:', scheme],
      [host, scheme, 'X-Forwarded-Prefix: /t/shop'],
    ])
      assert.equal(replaced(['Origin: https://shop.tunnels.test'], forwarded), undefined, forwarded.join());
  });
});
