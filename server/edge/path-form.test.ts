import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parseFields } from '../../shared/http1/fields.ts';
import {
  belowPrefix,
  challengeBelow,
  cookieBelow,
  cookieOfHost,
  ownCookies,
  withoutPrefix,
} from './path-form.ts';

const leftOut: string[] = [];

function mapped(name: string, value: string): string | undefined {
  const [field] = parseFields(Buffer.from(`${name}: ${value}\r\n\r\n`), 0) ?? [];
  assert.ok(field);
  const map = belowPrefix({
    prefix: '/t/abc',
    target: '/x/y',
    isBare: false,
    ownHosts: ['relay.example'],
    onCookieLeftOut: (cookie) => leftOut.push(cookie),
  });
  const passed = map(field);
  return typeof passed === 'object' ? passed.value : passed;
}

describe('belowPrefix', () => {
  const locations: [string, string][] = [
    ['/', '/t/abc/'],
    ['/login?x=/y', '/t/abc/login?x=/y'],
    ['http://relay.example/login', 'http://relay.example/t/abc/login'],
    ['https://Relay.Example:8443/login', 'https://Relay.Example:8443/t/abc/login'],
    ['http://relay.example', 'http://relay.example/t/abc'],
    ['//relay.example/x', '//relay.example/t/abc/x'],
    ['/t/abc/x', '/t/abc/x'],
    ['/t/abcd', '/t/abc/t/abcd'],
    ['login', 'login'],
    ['../x', '../x'],
    ['http://elsewhere.example/x', 'http://elsewhere.example/x'],
    ['//elsewhere.example/x', '//elsewhere.example/x'],
  ];
  for (const [from, to] of locations) {
    it(`moves Location ${from} to ${to}`, () => assert.equal(mapped('Location', from), to));
  }

  it('moves the targets of other fields in the same way', () => {
    const kept = '<../x>; rel="a </b>", <https://other.example/x>';
    for (const [name, from, to] of [
      ['Content-Location', '/doc.en', '/t/abc/doc.en'],
      ['content-location', 'http://relay.example/x', 'http://relay.example/t/abc/x'],
      [
        'Link',
        '</a.css>; rel=preload, <//relay.example/b>',
        '</t/abc/a.css>; rel=preload, <//relay.example/t/abc/b>',
      ],
      ['Link', kept, kept],
      ['Refresh', '5; url=/next', '5; url=/t/abc/next'],
      ['Refresh', '0,URL = "http://relay.example/x"', '0,URL = "http://relay.example/t/abc/x"'],
      ['Refresh', '0.5;/next', '0.5;/t/abc/next'],
      ['Refresh', '5;url=next', '5;url=next'],
      ['Refresh', '5', '5'],
    ] as const)
      assert.equal(mapped(name, from), to);
  });

  it('moves cookies', () => {
    assert.equal(mapped('set-cookie', 'a=1; Path=/; Secure'), 'a=1; Path=/t/abc; Secure');
    assert.equal(mapped('Set-Cookie', 'a=1'), 'a=1; Path=/t/abc/x');
  });

  it('leaves out and reports cookies that browsers accept for the whole host only', () => {
    leftOut.length = 0;
    for (const cookie of ['__Host-a=1; Secure; Path=/', ' __host-B = 2', '__HOST-Http-c'])
      assert.equal(mapped('Set-Cookie', cookie), undefined, cookie);
    for (const cookie of ['__Secure-a=1', 'a=__Host-', 'x__Host-a=1'])
      assert.match(mapped('Set-Cookie', cookie) ?? '', /; Path=/, cookie);
    assert.deepEqual(leftOut, ['__Host-a', '__host-B', '__HOST-Http-c']);
  });

  it('moves challenges', () => {
    assert.equal(mapped('WWW-Authenticate', 'Basic realm="x"'), 'Basic realm="/t/abc x"');
  });

  it('drops fields that affect more than the prefix, and keeps the rest', () => {
    for (const name of [
      'Service-Worker-Allowed',
      'Clear-Site-Data',
      'STRICT-TRANSPORT-SECURITY',
      'NEL',
      'report-to',
      'Reporting-Endpoints',
      'Use-As-Dictionary',
      'Accept-CH',
      'Set-Login',
      'Secure-Session-Registration',
      'Origin-Agent-Cluster',
    ]) {
      assert.equal(mapped(name, 'x'), undefined, name);
    }
    for (const name of [
      'X-Location',
      'Content-Security-Policy',
      'Permissions-Policy',
      'Vary',
      'Reports-To',
    ]) {
      assert.equal(mapped(name, '/a'), '/a', name);
    }
  });
});

describe('withoutPrefix', () => {
  it('removes the prefix where WebDAV names resources', () => {
    const tokens = '(<urn:a> ["(</t/abc/>"]) ';
    for (const [name, from, to] of [
      ['Destination', 'http://relay.example/t/abc/x?y', 'http://relay.example/x?y'],
      ['destination', 'https://Relay.Example:8443/t/abc', 'https://Relay.Example:8443/'],
      ['Destination', '/t/abc/x', '/x'],
      ['Destination', '/t/abcd/x', '/t/abcd/x'],
      ['Destination', 'http://relay.example/t/other/x', 'http://relay.example/t/other/x'],
      ['Destination', 'http://elsewhere.example/t/abc/x', 'http://elsewhere.example/t/abc/x'],
      [
        'If',
        `<http://relay.example/t/abc/x> ${tokens}</t/abc/y> ${tokens}`,
        `<http://relay.example/x> ${tokens}</y> ${tokens}`.trim(),
      ],
      ['Referer', '/t/abc/x', undefined],
    ] as const) {
      const [field] = parseFields(Buffer.from(`${name}: ${from}\r\n\r\n`), 0) ?? [];
      assert.ok(field);
      assert.equal(withoutPrefix(field, { prefix: '/t/abc', ownHosts: ['relay.example'] }), to);
    }
  });
});

const PREFIX = '/t/abc';
const LONG = `/${'x'.repeat(1100)}`;

describe('cookieBelow', () => {
  const cookies: [from: string, to: string, target?: string][] = [
    ['a=1; Path=/', 'a=1; Path=/t/abc'],
    ['a=1; path=/app; HttpOnly', 'a=1; Path=/t/abc/app; HttpOnly'],
    ['a=1; Path=/app/', 'a=1; Path=/t/abc/app/'],
    ['a=1; Path=/a b', 'a=1; Path=/t/abc/a b'],
    ['a=1; Path=/t/abc', 'a=1; Path=/t/abc'],
    ['a=1; Path=/t/abc/x', 'a=1; Path=/t/abc/x'],
    ['a=1; Path=/t/abcd', 'a=1; Path=/t/abc/t/abcd'],
    ['a=1; Path=/t/other', 'a=1; Path=/t/abc/t/other'],
    ['a=1; Secure; Path=/app', 'a=1; Path=/t/abc/app; Secure'],
    // `Domain`, in any spelling.
    ['a=1; Domain=relay.example; Path=/; Secure', 'a=1; Path=/t/abc; Secure'],
    ['a=1;DOMAIN\t=\t.example;Path=/', 'a=1; Path=/t/abc'],
    ['a=1; domain; Path=/', 'a=1; Path=/t/abc'],
    ['a=1; domains=x; xdomain=y; Path=/', 'a=1; Path=/t/abc; domains=x; xdomain=y'],
    // Without a valid path: the folder of the request.
    ['a=1', 'a=1; Path=/t/abc/app', '/app/x?y=/z/'],
    ['a=1; HttpOnly', 'a=1; Path=/t/abc; HttpOnly', '/app'],
    ['a=1', 'a=1; Path=/t/abc', '/'],
    ['a=1', 'a=1; Path=/t/abc', '/?u=/t/abc/'],
    ['a=1', 'a=1; Path=/t/abc', '//x'],
    ['a=1; Path=app', 'a=1; Path=/t/abc', '/x'],
    ['a=1; Path=""', 'a=1; Path=/t/abc', '/x'],
    ['a=1; Path="/app"', 'a=1; Path=/t/abc', '/x'],
    ['a=1; Path=', 'a=1; Path=/t/abc', '/x'],
    ['a=1; Path', 'a=1; Path=/t/abc', '/x'],
    // The last of several counts.
    ['a=1; Path=/x; Path=/y', 'a=1; Path=/t/abc/y'],
    ['a=1; Path=/x; Path=y', 'a=1; Path=/t/abc', '/x'],
    ['a=1; Path=/x; Secure; path', 'a=1; Path=/t/abc; Secure', '/x'],
    // White space, quotes, bytes beyond ASCII.
    ['a=1;\tPath\t=\t/app\t;Secure', 'a=1; Path=/t/abc/app;Secure'],
    ['a=1;Path=/app', 'a=1; Path=/t/abc/app'],
    ['a=1;;;Path=/app;;', 'a=1; Path=/t/abc/app;;;;'],
    ['a=1; \xa0Path=/other', 'a=1; Path=/t/abc/other'],
    ['a=1; Path=\xa0/other', 'a=1; Path=/t/abc/other'],
    ['a="1; Path=/other; b="', 'a="1; Path=/t/abc/other; b="'],
    ['a="Path=/"', 'a="Path=/"; Path=/t/abc', '/'],
    // Names that contain others, and pairs that look like attributes.
    ['Path=/other', 'Path=/other; Path=/t/abc', '/'],
    ['a=1; Paths=/other', 'a=1; Path=/t/abc; Paths=/other', '/'],
    ['a=1; x=Path=/other', 'a=1; Path=/t/abc; x=Path=/other', '/'],
    ['', '; Path=/t/abc', '/'],
    [';Path=/other', '; Path=/t/abc/other'],
    ['=a; Path=/', '=a; Path=/t/abc'],
    ['__Secure-a=1; Secure; Path=/', '__Secure-a=1; Path=/t/abc; Secure'],
    // Values that a browser would ignore, read as more attributes, or resolve.
    [`a=1; Path=${LONG}`, 'a=1; Path=/t/abc'],
    ['a=1', 'a=1; Path=/t/abc', `${LONG}/x`],
    ['a=1', 'a=1; Path=/t/abc', '/x;Path=/other/y'],
    ['a=1; Path=/../other', 'a=1; Path=/t/abc'],
    ['a=1; Path=/t/abc/../other', 'a=1; Path=/t/abc'],
    ['a=1; Path=/t/abc/%2E%2e/other', 'a=1; Path=/t/abc'],
    ['a=1; Path=/t/abc/.%2e', 'a=1; Path=/t/abc'],
    ['a=1; Path=/..\\other', 'a=1; Path=/t/abc'],
    ['a=1; Path=/.well-known/..x', 'a=1; Path=/t/abc/.well-known/..x'],
  ];
  for (const [from, to, target = '/x/y'] of cookies) {
    it(`makes ${JSON.stringify(from.slice(0, 50))} ${to} for ${target.slice(0, 30)}`, () => {
      assert.equal(cookieBelow(from, PREFIX, target), to);
    });
  }

  it('shows a browser one Path below the prefix and no Domain, whatever was set', () => {
    const parts = [
      'path',
      'Path',
      'DOMAIN',
      'x',
      '=',
      ';',
      ' ',
      '\t',
      '"',
      '/',
      '/t/abc',
      '/t/other',
      '..',
      '\\',
      '\xa0',
      ',',
    ];
    const text = fc.array(fc.constantFrom(...parts), { maxLength: 30 }).map((picked) => picked.join(''));
    fc.assert(
      fc.property(text, text, (value, path) => {
        const [, ...attributes] = cookieBelow(value, PREFIX, `/${path}`).split(';');
        const seen = attributes.map((attribute) => attribute.replace(/^[ \t]+/, '').split(/[ \t]*=[ \t]*/));
        const names = seen.map(([name]) => name?.trim().toLowerCase());
        assert.equal(names.filter((name) => name === 'path').length, 1);
        assert.ok(!names.includes('domain'));
        assert.match(seen[names.indexOf('path')]?.[1] ?? '', /^\/t\/abc(?:\/|$)/);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('cookieOfHost', () => {
  const cookies: [from: string, to: string][] = [
    ['a=1', 'a=1'],
    ['a=1; Path=/; HttpOnly', 'a=1; Path=/; HttpOnly'],
    ['a=1; Domain=example.com; Path=/', 'a=1; Path=/'],
    ['a=1; domain=.a.example.com', 'a=1'],
    ['a=1; Domain=x; Secure; DOMAIN = y', 'a=1; Secure'],
    ['a=1; Domain', 'a=1'],
    ['a=1;\tDomain\t;Secure', 'a=1;Secure'],
    ['a="1; Domain=example.com; b="', 'a="1; b="'],
    ['Domain=x; Path=/', 'Domain=x; Path=/'],
    ['a=domain; xdomain=1; domains=2', 'a=domain; xdomain=1; domains=2'],
  ];
  for (const [from, to] of cookies) {
    it(`makes ${JSON.stringify(from)} ${to}`, () => assert.equal(cookieOfHost(from), to));
  }
});

function passes(value: string): boolean {
  const [field] = parseFields(Buffer.from(`Set-Cookie: ${value}\r\n\r\n`, 'latin1'), 0) ?? [];
  return field !== undefined && ownCookies(field) !== undefined;
}

describe('ownCookies', () => {
  it("drops the relay's own cookies, also as the value of a nameless cookie", () => {
    for (const name of ['culvert-pass', '__Host-culvert-pass', 'culvert-notice', '__Host-culvert-notice'])
      for (const value of [
        `${name}=x; Path=/`,
        ` ${name}\t= x`,
        name,
        `${name};`,
        `=${name}=x`,
        `=${name}`,
        ` = ${name}=x; Secure`,
        `\t=\t${name} =x`,
        `==${name}=x`,
        `= =${name}=x`,
      ])
        assert.ok(!passes(value), value);
  });

  it('keeps all others', () => {
    for (const value of [
      'a=culvert-pass=x',
      'a==culvert-pass',
      'xculvert-pass=x',
      'Culvert-Pass=x',
      '__HOST-culvert-pass=x',
      '=a',
      '=',
      ';culvert-pass=x',
      '"culvert-pass"=x',
    ])
      assert.ok(passes(value), value);
  });
});

describe('challengeBelow', () => {
  for (const [given, passed] of [
    ['Basic realm="shop"', 'Basic realm="/t/abc shop"'],
    ['basic realm=shop', 'Basic realm="/t/abc shop"'],
    ['BASIC  realm = "a b, c" , charset="utf-8"', 'Basic realm="/t/abc a b, c", charset="UTF-8"'],
    ['Basic realm=""', 'Basic realm="/t/abc "'],
    ['Bearer realm="shop"', 'Bearer realm="shop"'],
    ['Bearer error="not basically"', 'Bearer error="not basically"'],
    // Challenges that browsers might read differently, or remember for the origin.
    ['Basic', undefined],
    ['Basic realm="shop", realm="/t/evil x"', undefined],
    ['Basic realm="a\\"b"', undefined],
    ['Basic charset="UTF-8", realm="shop"', undefined],
    ['Bearer, Basic realm="shop"', undefined],
    ['Basic realm="shop", Digest realm="shop", nonce="x"', undefined],
    ['Digest realm="shop", nonce="x"', undefined],
    ['Negotiate', undefined],
    ['NTLM TlRMTVNTUAAB', undefined],
  ] as const) {
    it(`${passed === undefined ? 'drops' : 'passes on'} ${given}`, () => {
      assert.equal(challengeBelow(given, '/t/abc', false), passed);
    });
  }

  it('does not ask for a password at the bare prefix, because browsers would send it to all of /t/', () => {
    assert.equal(challengeBelow('Basic realm="shop"', '/t/abc', true), undefined);
    assert.equal(challengeBelow('Bearer', '/t/abc', true), 'Bearer');
  });
});
