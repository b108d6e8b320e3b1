import assert from 'node:assert/strict';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { hashKey } from '../accounts/api-keys.ts';
import type { StoredAccess } from '../store/records.ts';
import {
  AccessCheck,
  isSentFromHere,
  linkIdOf,
  PASSED_PASSWORDS_MAX,
  PassedPasswords,
  shownVisitor,
  type Verdict,
  visitorByLink,
} from './access-check.ts';
import { AccessPolicy } from './access-policy.ts';
import { LinkTokens, Passes } from './passes.ts';

const NOW = Date.UTC(2026, 10, 1);
const CLOSED: StoredAccess = {
  version: 'v1',
  allow: [],
  basic: [],
  password: null,
  links: false,
  knock: false,
  tokens: [],
};
const TOKEN = 'cvp_0123456789abcdefghijklmnopqrstuv';
const CI = { name: 'ci', hash: hashKey(TOKEN) };
const TOKENS = { tokens: [CI, { name: 'agent', hash: hashKey(`${TOKEN}2`) }] };
const ANN = { basic: [{ user: 'ann', hash: 'hash of ann' }] };
const PASSWORD = { password: 'hash' };

/** A request, with overrides. */
interface Asked {
  readonly method?: string;
  readonly fields?: string;
  readonly host?: string;
  readonly address?: string;
  readonly prefix?: string;
  readonly tunnelId?: string;
  readonly link?: string;
  readonly hasBody?: boolean;
  readonly upgrade?: boolean;
  readonly trusted?: boolean;
  readonly secure?: boolean;
}

function basic(user: string, password: string): string {
  return `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}\r\n`;
}

describe('AccessCheck', () => {
  let passes: Passes;
  let lastingPasses: Passes;
  let links: LinkTokens;
  let revoked: Set<string>;
  let gate: AccessCheck;

  beforeEach(() => {
    passes = new Passes('visit', () => ({ current: 'key', others: [] }));
    lastingPasses = new Passes('lasting', () => ({ current: 'other key', others: [] }));
    links = new LinkTokens(() => ({ current: 'other key', others: [] }));
    revoked = new Set();
    gate = new AccessCheck({
      passes,
      lastingPasses,
      links,
      cookieName: (form) => (form === 'host' ? '__Host-pass' : 'pass'),
      isGood: (tunnelId, visitor) => !revoked.has(`${tunnelId} ${visitor}`),
    });
  });

  function ask(access: Partial<StoredAccess>, asked: Asked = {}): Verdict {
    const { method = 'GET', fields = '', address = '192.0.2.1', prefix = '', tunnelId = 'one', link } = asked;
    const { hasBody = false, upgrade = false, trusted = false, secure = false, host = 'a.localhost' } = asked;
    const text = `${method} ${prefix}/ HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`;
    const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: 1000, fields: 9 });
    assert.ok(typeof head === 'object', text);
    return gate.decide(new AccessPolicy({ ...CLOSED, ...access }), {
      head,
      hasBody,
      upgrade,
      way: { trusted, secure },
      address,
      tunnelId,
      createdAt: NOW - 1000,
      account: 'acme',
      prefix,
      link,
      now: NOW,
    });
  }

  function pass(who: string, { version = 'v1', form = 'host', tunnelId = 'one' } = {}): string {
    const scope = { tunnelId, version, form: form as 'host' | 'path' };
    return `Cookie: a=b; ${form === 'host' ? '__Host-pass' : 'pass'}=${passes.make(scope, who, NOW / 1000 + 9)}\r\n`;
  }

  /** Whether the access cookie and the credentials of an upgrade count; it is always both or neither. */
  function countsForSocket(origin: string | undefined, asked: Asked = {}): boolean {
    const fields = (origin === undefined ? '' : `Origin: ${origin}\r\n`) + (asked.fields ?? '');
    const cookie = pass('password', { form: asked.prefix === undefined ? 'host' : 'path' });
    const kinds = [fields + cookie, fields + basic('ann', 'x')].map(
      (all) => ask({ ...PASSWORD, ...ANN }, { upgrade: true, ...asked, fields: all }).kind,
    );
    assert.deepEqual(kinds, kinds[0] === 'pass' ? ['pass', 'check'] : ['ask', 'ask'], origin);
    return kinds[0] === 'pass';
  }

  it('gives access to visitors from allowed addresses only', () => {
    const access = { allow: ['10.0.0.0/8', '2001:db8::/32'] };
    for (const address of ['10.1.2.3', '2001:db8::1', '::ffff:10.0.0.1'])
      assert.equal(ask(access, { address }).kind, 'pass', address);
    for (const address of ['11.0.0.1', '2001:db9::1', '::ffff:11.0.0.1', ''])
      assert.equal(ask(access, { address }).kind, 'address', address);
  });

  it('checks the address first, regardless of credentials', () => {
    const access = { allow: ['10.0.0.0/8'], ...PASSWORD };
    assert.equal(ask(access, { fields: pass('password') }).kind, 'address');
    assert.equal(ask(access, { fields: pass('password'), address: '10.0.0.1' }).kind, 'pass');
    assert.equal(ask(access, { address: '10.0.0.1' }).kind, 'ask');
  });

  it('asks visitors without credentials, for each kind of policy', () => {
    for (const access of [ANN, PASSWORD, { links: true }, { knock: true }, TOKENS])
      assert.equal(ask(access).kind, 'ask', JSON.stringify(access));
  });

  it('finds the token of a request, with the scheme in any case and any number of spaces', () => {
    for (const value of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER   ${TOKEN}`, `Bearer ${TOKEN} `])
      assert.deepEqual(ask(TOKENS, { fields: `Authorization: ${value}\r\n` }), { kind: 'token', token: CI });
  });

  it('accepts no other value as a token', () => {
    for (const value of [
      `Bearer ${TOKEN.slice(1)}`,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN} ${TOKEN}`,
      `Bearer ${TOKEN},`,
      `Bearer ${TOKEN}, Basic YTpi`,
      `Bearer "${TOKEN}"`,
      `Bearer ${TOKEN.toUpperCase()}`,
      `Bearer ${CI.hash}`,
      `Bearer ${'x'.repeat(700)}`,
    ])
      assert.deepEqual(
        ask(TOKENS, { fields: `Authorization: ${value}\r\n` }),
        { kind: 'token', token: undefined },
        value,
      );
  });

  it('asks if there is no token at all, which is no attempt', () => {
    for (const value of [
      'Bearer',
      `Bearer\t${TOKEN}`,
      `Token ${TOKEN}`,
      TOKEN,
      'Basic YTpi',
      `Bearer${TOKEN}`,
    ])
      assert.equal(ask(TOKENS, { fields: `Authorization: ${value}\r\n` }).kind, 'ask', value);
    assert.equal(ask(PASSWORD, { fields: `Authorization: Bearer ${TOKEN}\r\n` }).kind, 'ask');
  });

  it('accepts no token from a request with several Authorization fields', () => {
    const one = `Authorization: Bearer ${TOKEN}\r\n`;
    for (const other of [one, `Authorization: Bearer ${TOKEN}2\r\n`, basic('bob', 'x')]) {
      assert.deepEqual(ask(TOKENS, { fields: one + other }), { kind: 'token', token: undefined }, other);
      const mixed = ask({ ...TOKENS, ...ANN }, { fields: basic('ann', 'x') + one });
      assert.equal(mixed.kind, 'check');
    }
  });

  it('keeps any of its tokens from the service, however the visitor got access', () => {
    for (const [fields, isKept] of [
      [`Authorization: Bearer ${TOKEN}\r\n`, true],
      [`Authorization: Bearer other\r\nAuthorization: Bearer ${TOKEN}\r\n`, true],
      ['Authorization: Bearer of-the-service\r\n', false],
    ] as const) {
      const verdict = ask({ ...TOKENS, ...PASSWORD }, { fields: fields + pass('password') });
      assert.deepEqual(verdict, { kind: 'pass', visitor: 'password', kept: { authorization: isKept } });
    }
  });

  it('counts a token of a WebSocket from another origin, because browsers add none', () => {
    const fields = `Origin: https://elsewhere.test\r\nAuthorization: Bearer ${TOKEN}\r\n`;
    assert.equal(ask(TOKENS, { fields, upgrade: true }).kind, 'token');
  });

  it('lets preflights pass without a token, but not with a wrong one', () => {
    const fields = 'Origin: https://app.example\r\nAccess-Control-Request-Method: PUT\r\n';
    assert.equal(ask(TOKENS, { method: 'OPTIONS', fields }).kind, 'preflight');
    assert.equal(ask(TOKENS, { method: 'OPTIONS', fields, hasBody: true }).kind, 'ask');
    assert.deepEqual(ask(TOKENS, { method: 'OPTIONS', fields: `${fields}Authorization: Bearer x\r\n` }), {
      kind: 'token',
      token: undefined,
    });
  });

  it('has credentials checked if the policy has users, even for an unknown user', () => {
    assert.deepEqual(ask(ANN, { fields: basic('ann', 'a:b') }), {
      kind: 'check',
      credentials: { user: 'ann', password: 'a:b' },
      hash: 'hash of ann',
    });
    assert.deepEqual(ask(ANN, { fields: basic('bob', 'x') }), {
      kind: 'check',
      credentials: { user: 'bob', password: 'x' },
      hash: undefined,
    });
    for (const fields of [
      'Authorization: Bearer abc\r\n',
      'Authorization: Basic !\r\n',
      'Authorization: Basic YW5u\r\n',
    ])
      assert.equal(ask(ANN, { fields }).kind, 'ask', fields);
    assert.equal(ask(PASSWORD, { fields: basic('ann', 'x') }).kind, 'ask');
  });

  it("gives access to the owner of an access cookie, under the visitor's identity", () => {
    assert.deepEqual(ask(PASSWORD, { fields: pass('password') }), {
      kind: 'pass',
      visitor: 'password',
      kept: { authorization: false },
    });
  });

  it('rejects a cookie of another tunnel, access policy or form of the address, and a revoked one', () => {
    for (const fields of [
      pass('password', { tunnelId: 'two' }),
      pass('password', { version: 'v0' }),
      pass('password', { form: 'path' }),
      pass('password').replace('__Host-pass', 'pass'),
    ])
      assert.equal(ask(PASSWORD, { fields }).kind, 'ask', fields);
    assert.equal(ask(PASSWORD, { fields: pass('password'), prefix: '/t/abc' }).kind, 'ask');
    assert.equal(
      ask(PASSWORD, { fields: pass('password', { form: 'path' }), prefix: '/t/abc' }).kind,
      'pass',
    );
    revoked.add('one link:7');
    assert.equal(ask({ links: true }, { fields: pass('link:7') }).kind, 'ask');
    assert.equal(ask({ links: true }, { fields: pass('link:8') }).kind, 'pass');
  });

  it('finds the valid cookie among others of the same name, which other sites may have set', () => {
    const good = pass('password').slice('Cookie: '.length).trim();
    const fields = `Cookie: __Host-pass=x; __Host-pass=\r\nCookie: ${good}\r\n`;
    assert.equal(ask(PASSWORD, { fields }).kind, 'pass');
  });

  it('hides credentials that name one of its users from the service, and no others', () => {
    for (const [fields, isKept] of [
      [basic('ann', 'whatever'), true],
      [basic('service', 'x'), false],
      ['Authorization: Bearer abc\r\n', false],
      ['', false],
    ] as const) {
      const verdict = ask(ANN, { fields: fields + pass('basic:ann') });
      assert.deepEqual(verdict, { kind: 'pass', visitor: 'basic:ann', kept: { authorization: isKept } });
    }
  });

  describe('for a preflight', () => {
    const preflight = {
      method: 'OPTIONS',
      fields: 'Origin: https://app\r\nAccess-Control-Request-Method: PUT\r\n',
    };

    it('passes it without credentials if the policy has users, and otherwise only with a cookie', () => {
      assert.deepEqual(ask(ANN, preflight), { kind: 'preflight', kept: { authorization: false } });
      for (const access of [PASSWORD, { links: true }, { knock: true }]) {
        assert.equal(ask(access, preflight).kind, 'ask');
        assert.equal(ask(access, { ...preflight, fields: preflight.fields + pass('password') }).kind, 'pass');
      }
      for (const less of [{ method: 'GET' }, { fields: 'Origin: https://app\r\n' }])
        assert.equal(ask(ANN, { ...preflight, ...less }).kind, 'ask');
      assert.equal(ask({ ...ANN, allow: ['10.0.0.0/8'] }, preflight).kind, 'address');
    });

    it('requires credentials if it has a body or a method override', () => {
      assert.equal(ask(ANN, { ...preflight, hasBody: true }).kind, 'ask');
      for (const name of [
        'X-HTTP-Method-Override',
        'x_http_method_override',
        'X.Http.Method',
        'X-Method-Override',
      ])
        assert.equal(
          ask(ANN, { ...preflight, fields: `${preflight.fields}${name}: DELETE\r\n` }).kind,
          'ask',
        );
    });

    it('checks the credentials that it has', () => {
      assert.equal(ask(ANN, { ...preflight, fields: preflight.fields + basic('ann', 'x') }).kind, 'check');
    });

    it('identifies the visitor of one with a cookie', () => {
      const verdict = ask(ANN, { ...preflight, fields: preflight.fields + pass('basic:ann') });
      assert.ok(verdict.kind === 'pass' && verdict.visitor === 'basic:ann');
    });
  });

  describe('for a WebSocket', () => {
    it('accepts the cookie of programs, and of pages of its own host', () => {
      for (const origin of [
        undefined,
        'http://a.localhost',
        'https://a.localhost',
        'HTTPS://A.localhost.',
        'http://a.localhost:3000',
      ])
        assert.ok(countsForSocket(origin), origin);
    });

    it('rejects the cookie of a page of another host, and of an opaque origin', () => {
      for (const origin of [
        'http://b.localhost',
        'http://localhost',
        'http://b.a.localhost',
        'http://a.localhost.evil.example',
        'http://xa.localhost',
        'http://a.localhost@evil.example',
        'http://evil.example#a.localhost',
        'null',
        '',
        'a.localhost',
        'file://',
        'chrome-extension://a.localhost',
        'http://a.localhost, http://b.localhost',
        'http://a.localhost\r\nOrigin: http://b.localhost',
      ])
        assert.ok(!countsForSocket(origin), origin);
    });

    it('compares ports if Host has one', () => {
      for (const [host, origin, isSame] of [
        ['a.localhost:8080', 'http://a.localhost:8080', true],
        ['a.localhost:8080', 'http://a.localhost:3000', false],
        ['a.localhost:8080', 'http://a.localhost', false],
        ['a.localhost:443', 'https://a.localhost', true],
        ['a.localhost:443', 'http://a.localhost', false],
        ['a.localhost:80', 'http://a.localhost', true],
        ['[::1]:8080', 'http://[::1]:8080', true],
        ['[::1]:8080', 'http://[::2]:8080', false],
        ['[::1]', 'http://[::1]', true],
      ] as const)
        assert.equal(countsForSocket(origin, { host }), isSame, `${host} ${origin}`);
    });

    it('rejects the cookie of a page without https if tunnels use https', () => {
      assert.ok(countsForSocket('https://a.localhost', { secure: true }));
      assert.ok(!countsForSocket('http://a.localhost', { secure: true }));
    });

    it('accepts the host in X-Forwarded-Host of a trusted proxy only', () => {
      const fields = 'X-Forwarded-Host: shop.example\r\n';
      for (const trusted of [true, false]) {
        assert.equal(countsForSocket('https://shop.example', { fields, trusted }), trusted);
        assert.ok(countsForSocket('https://a.localhost', { fields, trusted }));
      }
    });

    it('accepts the cookie of any page of the shared origin in the path form', () => {
      const asked = { prefix: '/t/abc', host: 'localhost:8080' };
      assert.ok(countsForSocket('http://localhost:8080', asked));
      assert.ok(!countsForSocket('http://abc.localhost:8080', asked));
    });

    it('accepts a signed link from a page of another host', () => {
      const link = links.make('one', { id: '0123456789abcdef', note: '', end: NOW / 1000 + 60 });
      const fields = `Origin: https://b.example\r\n${pass('password')}`;
      assert.equal(ask({ links: true }, { upgrade: true, link, fields }).kind, 'link');
    });

    it('accepts the cookie of another host’s page for requests that are not upgrades', () => {
      assert.equal(
        ask(PASSWORD, { fields: `Origin: http://b.localhost\r\n${pass('password')}` }).kind,
        'pass',
      );
    });
  });

  describe('with a signed link', () => {
    const LINKS = { links: true };
    const ID = '0123456789abcdef';
    const end = NOW / 1000 + 60;
    let link: string;

    beforeEach(() => {
      link = links.make('one', { id: ID, note: 'Ann: review', end });
    });

    it('gives access to its visitors, identified by the link', () => {
      assert.deepEqual(ask({ ...LINKS, ...ANN }, { link, fields: basic('ann', 'x') }), {
        kind: 'link',
        link: { id: ID, note: 'Ann: review', end },
        visitor: `link:${ID}:Ann: review`,
        kept: { authorization: true },
      });
      assert.equal(ask(LINKS, { link, prefix: '/t/abc', method: 'POST' }).kind, 'link');
    });

    it('asks visitors whose link is of another tunnel, revoked or missing, and all if the policy allows no links', () => {
      assert.equal(ask(LINKS, { link, tunnelId: 'two' }).kind, 'ask');
      assert.equal(ask(PASSWORD, { link }).kind, 'ask');
      for (const other of ['', 'x', link.slice(0, -1), `${link}x`])
        assert.equal(ask(LINKS, { link: other }).kind, 'ask', other);
      revoked.add(`one link:${ID}:Ann: review`);
      assert.equal(ask(LINKS, { link }).kind, 'ask');
    });

    it('does not replace the identity of a visitor who has access', () => {
      const verdict = ask(LINKS, { link, fields: pass('password') });
      assert.ok(verdict.kind === 'pass' && verdict.visitor === 'password');
      revoked.add('one password');
      assert.equal(ask(LINKS, { link, fields: pass('password') }).kind, 'link');
    });

    it('gives access to visitors with other credentials, even if the link is invalid', () => {
      assert.equal(ask(LINKS, { link: 'x', fields: pass('password') }).kind, 'pass');
      assert.equal(ask({ ...LINKS, ...ANN }, { link: 'x', fields: basic('ann', 'x') }).kind, 'check');
      assert.equal(ask({ allow: ['192.0.2.0/24'] }, { link: 'x' }).kind, 'pass');
      assert.equal(ask({ ...LINKS, allow: ['10.0.0.0/8'] }, { link }).kind, 'address');
    });

    it('does not pass a preflight', () => {
      const fields = 'Origin: https://app\r\nAccess-Control-Request-Method: PUT\r\n';
      assert.equal(ask(LINKS, { link, method: 'OPTIONS', fields }).kind, 'ask');
      assert.equal(ask(LINKS, { link, method: 'OPTIONS' }).kind, 'link');
    });

    it('accepts the cookie of a link until the link ends or is revoked', () => {
      const scope = { tunnelId: 'one', version: 'v1', form: 'host' } as const;
      const who = `link:${ID}:`;
      const fields = `Cookie: __Host-pass=${lastingPasses.make(scope, who, end)}\r\n`;
      assert.deepEqual(ask(LINKS, { fields }), {
        kind: 'pass',
        visitor: who,
        until: end * 1000,
        kept: { authorization: false },
      });
      const other = ask(LINKS, { fields: pass('password') });
      assert.ok(other.kind === 'pass' && other.until === undefined);
      assert.equal(ask(LINKS, { fields, tunnelId: 'two' }).kind, 'ask');
      revoked.add(`one ${who}`);
      assert.equal(ask(LINKS, { fields }).kind, 'ask');
    });
  });
});

const id = '0123456789abcdef';

describe('the identity of a visitor', () => {
  it('is shown by the note of a link, and known by the id of the link', () => {
    for (const note of ['for the review', 'a:b', 'two\nlines', 'link:0123456789abcdef:x']) {
      const visitor = visitorByLink({ id, note });
      assert.equal(shownVisitor(visitor), `link:${note}`);
      assert.equal(linkIdOf(visitor), id);
    }
    assert.equal(shownVisitor(visitorByLink({ id, note: '' })), 'link');
  });

  it('is shown unchanged for other visitors', () => {
    for (const visitor of ['password', 'knock', 'basic:ann', `basic:link:${id}:x`]) {
      assert.equal(shownVisitor(visitor), visitor);
      assert.equal(linkIdOf(visitor), undefined);
    }
  });
});

describe('PassedPasswords', () => {
  const ann = { user: 'ann', password: 'fern' };

  it('remembers correct passwords for one version of the policy, and nothing that only looks similar', () => {
    const passed = new PassedPasswords();
    assert.equal(passed.has('v1', ann), false);
    passed.add('acme', 'v1', ann);
    assert.equal(passed.has('v1', ann), true);
    for (const [version, credentials] of [
      ['v2', ann],
      ['v1', { user: 'ann', password: 'ferns' }],
      ['v1', { user: 'an', password: 'nfern' }],
      ['v1', { user: '', password: 'fern' }],
    ] as const)
      assert.equal(passed.has(version, credentials), false, JSON.stringify([version, credentials]));
  });

  it('forgets the oldest beyond 10,000', () => {
    const passed = new PassedPasswords();
    passed.add('acme', 'v1', ann);
    for (let index = 0; index < PASSED_PASSWORDS_MAX; index += 1)
      passed.add('acme', 'v1', { user: 'ann', password: String(index) });
    assert.equal(passed.has('v1', ann), false);
    assert.equal(passed.has('v1', { user: 'ann', password: '0' }), true);
  });

  it('keeps those of an account when another account fills the cache', () => {
    const passed = new PassedPasswords();
    passed.add('other', 'v1', ann);
    for (let index = 0; index <= PASSED_PASSWORDS_MAX; index += 1)
      passed.add('acme', 'v2', { user: 'ann', password: String(index) });
    assert.equal(passed.has('v1', ann), true);
  });
});

describe('isSentFromHere', () => {
  for (const [fields, isHere] of [
    ['', true],
    ['Sec-Fetch-Site: same-origin', true],
    ['Sec-Fetch-Site: same-site', false],
    ['Sec-Fetch-Site: cross-site', false],
    ['Sec-Fetch-Site: none', false],
    ['Origin: null', true],
    ['Origin: https://A.test', true],
    ['Origin: https://b.test', false],
    ['Sec-Fetch-Site: same-site\r\nOrigin: https://a.test', false],
  ] as const)
    it(`is ${isHere} for ${fields === '' ? 'a program' : JSON.stringify(fields)}`, () => {
      const lines = fields === '' ? '' : `${fields}\r\n`;
      const head = parseRequestHead(Buffer.from(`POST / HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`), {
        target: 1000,
        fields: 20,
      });
      assert.ok(typeof head === 'object');
      assert.equal(isSentFromHere(head), isHere);
    });
});
