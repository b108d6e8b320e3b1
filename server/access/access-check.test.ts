import assert from 'node:assert/strict';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { hashKey } from '../accounts/api-keys.ts';
import type { StoredAccess } from '../store/records.ts';
import { anAccess } from '../testing/fixtures.ts';
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
const TOKEN = 'cvp_0123456789abcdefghijklmnopqrstuv';
const CI = { name: 'ci', hash: hashKey(TOKEN) };
const LINK = '0123456789abcdef';
const END = NOW / 1000 + 60;

const POLICIES: Readonly<Record<string, Partial<StoredAccess>>> = {
  ann: { basic: [{ user: 'ann', hash: 'hash' }] },
  password: { password: 'hash' },
  links: { links: true },
  knock: { knock: true },
  oauth: { oauth: true },
  tokens: { tokens: [CI, { name: 'agent', hash: hashKey(`${TOKEN}2`) }] },
  net: { allow: ['10.0.0.0/8', '2001:db8::/32'] },
  home: { allow: ['192.0.2.0/24'] },
};

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

const passes = new Passes('visit', () => ({ current: 'key', others: [] }));
const lastingPasses = new Passes('lasting', () => ({ current: 'other key', others: [] }));
const personPasses = new Passes('person', () => ({ current: 'third key', others: [] }));
const links = new LinkTokens(() => ({ current: 'other key', others: [] }));
const link = links.make('one', { id: LINK, note: 'Ann: review', end: END });
const revokedLink = links.make('one', { id: LINK.replace('0', 'f'), note: '', end: END });
const REVOKED = new Set(['one link:7', 'one gone', `one link:${LINK.replace('0', 'f')}:`]);

const gate = new AccessCheck({
  passes,
  lastingPasses,
  personPasses,
  links,
  cookieName: (form) => (form === 'host' ? '__Host-pass' : 'pass'),
  isGood: (tunnelId, visitor) => !REVOKED.has(`${tunnelId} ${visitor}`),
});

/** @param policies names of {@link POLICIES} */
function ask(policies: string, asked: Asked | string = {}): string {
  const given: Asked = typeof asked === 'string' ? { fields: asked } : asked;
  const { method = 'GET', fields = '', address = '192.0.2.1', prefix = '', tunnelId = 'one' } = given;
  const { hasBody = false, upgrade = false, trusted = false, secure = false, host = 'a.localhost' } = given;
  const text = `${method} ${prefix}/ HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`;
  const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: 1000, fields: 9 });
  assert.ok(typeof head === 'object', text);
  const access = policies.split(' ').map((name) => POLICIES[name] ?? assert.fail(name));
  const policy = new AccessPolicy(anAccess({ version: 'v1', ...(Object.assign({}, ...access) as object) }));
  const way = { trusted, secure };
  const request = { head, hasBody, upgrade, way, address, tunnelId, prefix, link: given.link, now: NOW };
  return shown(
    gate.decide(policy, { ...request, linkScope: tunnelId, linksSince: NOW - 1000, account: 'acme' }),
  );
}

function shown(verdict: Verdict): string {
  const isHidden = 'kept' in verdict && verdict.kept.authorization;
  const end = isHidden ? ', hides Authorization' : '';
  switch (verdict.kind) {
    case 'pass':
      return `pass ${verdict.visitor}${verdict.until === undefined ? '' : ` until ${verdict.until}`}${end}`;
    case 'check':
      return `check ${verdict.credentials.user} ${verdict.credentials.password} ${verdict.hash}`;
    case 'token':
      return `token ${verdict.token?.name}`;
    case 'agent':
      return `agent ${verdict.token}`;
    case 'link':
      return `link ${verdict.link.id} ${verdict.link.note} ${verdict.link.end} ${verdict.visitor}${end}`;
    case 'address':
    case 'ask':
    case 'preflight':
      return `${verdict.kind}${end}`;
  }
}

function authorization(value: string): string {
  return `Authorization: ${value}\r\n`;
}

function basic(user: string, password: string): string {
  return authorization(`Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`);
}

function pass(who: string, { version = 'v1', form = 'host', tunnelId = 'one' } = {}): string {
  const scope = { tunnelId, version, form: form as 'host' | 'path' };
  return `Cookie: a=b; ${form === 'host' ? '__Host-pass' : 'pass'}=${passes.make(scope, who, NOW / 1000 + 9)}\r\n`;
}

const COOKIE = pass('password');
const BEARER = authorization(`Bearer ${TOKEN}`);
const PREFLIGHT = 'Origin: https://app\r\nAccess-Control-Request-Method: PUT\r\n';
const BY_LINK = `link ${LINK} Ann: review ${END} link:${LINK}:Ann: review`;
const linkCookie = (who: string): string =>
  `Cookie: __Host-pass=${lastingPasses.make({ tunnelId: 'one', version: 'v1', form: 'host' }, who, END)}\r\n`;

function options(fields = '', more: Asked = {}): Asked {
  return { method: 'OPTIONS', fields: PREFLIGHT + fields, ...more };
}

/** The verdict for a policy and a request, or the fields of one. */
type Row = readonly [policies: string, asked: Asked | string, verdict: string];

const AGENT = authorization('Bearer cva_secret');

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'takes a token of OAuth for an agent, where the policy takes agents, and keeps it from the service': [
    ['oauth', AGENT, 'agent cva_secret'],
    ['oauth tokens', AGENT, 'agent cva_secret'],
    ['oauth tokens', BEARER, 'token ci'],
    ['oauth', AGENT + AGENT, 'agent undefined'],
    ['oauth', BEARER + AGENT, 'agent undefined'],
    ['oauth', BEARER, 'ask'],
    ['oauth password', COOKIE + AGENT, 'pass password, hides Authorization'],
    ['password', COOKIE + AGENT, 'pass password'],
    ['password', AGENT, 'ask'],
    ['tokens', AGENT, 'token undefined'],
    ['oauth', options(), 'preflight'],
  ],
  'gives access to visitors from allowed addresses only, whatever their credentials': [
    ...['10.1.2.3', '2001:db8::1', '::ffff:10.0.0.1'].map((address): Row => [
      'net',
      { address },
      'pass undefined',
    ]),
    ...['11.0.0.1', '2001:db9::1', '::ffff:11.0.0.1', ''].map((address): Row => [
      'net',
      { address },
      'address',
    ]),
    ['net password', COOKIE, 'address'],
    ['net password', { fields: COOKIE, address: '10.0.0.1' }, 'pass password'],
    ['net password', { address: '10.0.0.1' }, 'ask'],
  ],
  'asks visitors without credentials, for each kind of policy': [
    'ann',
    'password',
    'links',
    'knock',
    'tokens',
  ].map((policy): Row => [policy, '', 'ask']),
  'finds the token of a request, with the scheme in any case and any number of spaces': [
    `Bearer ${TOKEN}`,
    `bearer ${TOKEN}`,
    `BEARER   ${TOKEN}`,
    `Bearer ${TOKEN} `,
  ].map((value): Row => ['tokens', authorization(value), 'token ci']),
  'accepts no other value as a token, and none from a request with several Authorization fields': [
    ...[
      TOKEN.slice(1),
      `${TOKEN}x`,
      `${TOKEN} ${TOKEN}`,
      `${TOKEN},`,
      `${TOKEN}, Basic YTpi`,
      `"${TOKEN}"`,
    ].map((value): Row => ['tokens', authorization(`Bearer ${value}`), 'token undefined']),
    ...[TOKEN.toUpperCase(), CI.hash, 'x'.repeat(700)].map((value): Row => [
      'tokens',
      authorization(`Bearer ${value}`),
      'token undefined',
    ]),
    ...[BEARER, authorization(`Bearer ${TOKEN}2`), basic('bob', 'x')].map((other): Row => [
      'tokens',
      BEARER + other,
      'token undefined',
    ]),
    ['tokens ann', basic('ann', 'x') + BEARER, 'check ann x hash'],
  ],
  'asks if there is no token at all, which is no attempt': [
    ...['Bearer', `Bearer\t${TOKEN}`, `Token ${TOKEN}`, TOKEN, 'Basic YTpi', `Bearer${TOKEN}`].map(
      (value): Row => ['tokens', authorization(value), 'ask'],
    ),
    ['password', BEARER, 'ask'],
  ],
  'keeps any of its tokens from the service, however the visitor got access': [
    ['tokens password', BEARER + COOKIE, 'pass password, hides Authorization'],
    [
      'tokens password',
      authorization('Bearer other') + BEARER + COOKIE,
      'pass password, hides Authorization',
    ],
    ['tokens password', authorization('Bearer of-the-service') + COOKIE, 'pass password'],
  ],
  'counts a token of a WebSocket from another origin, because browsers add none': [
    ['tokens', { fields: `Origin: https://elsewhere.test\r\n${BEARER}`, upgrade: true }, 'token ci'],
  ],
  'has credentials checked if the policy has users, even for an unknown user': [
    ['ann', basic('ann', 'a:b'), 'check ann a:b hash'],
    ['ann', basic('bob', 'x'), 'check bob x undefined'],
    ...['Bearer abc', 'Basic !', 'Basic YW5u'].map((value): Row => ['ann', authorization(value), 'ask']),
    ['password', basic('ann', 'x'), 'ask'],
  ],
  'accepts no cookie of another tunnel, access policy or form of the address, and no revoked one': [
    ['password', COOKIE, 'pass password'],
    ['password', pass('password', { tunnelId: 'two' }), 'ask'],
    ['password', pass('password', { version: 'v0' }), 'ask'],
    ['password', pass('password', { form: 'path' }), 'ask'],
    ['password', COOKIE.replace('__Host-pass', 'pass'), 'ask'],
    ['password', { fields: COOKIE, prefix: '/t/abc' }, 'ask'],
    ['password', { fields: pass('password', { form: 'path' }), prefix: '/t/abc' }, 'pass password'],
    ['links', pass('link:7'), 'ask'],
    ['links', pass('link:8'), 'pass link:8'],
  ],
  'finds the valid cookie among others of the same name, which other sites may have set': [
    ['password', `Cookie: __Host-pass=x; __Host-pass=\r\n${COOKIE}`, 'pass password'],
  ],
  'hides credentials that name one of its users from the service, and no others': [
    ['ann', basic('ann', 'whatever') + pass('basic:ann'), 'pass basic:ann, hides Authorization'],
    ['ann', basic('service', 'x') + pass('basic:ann'), 'pass basic:ann'],
    ['ann', authorization('Bearer abc') + pass('basic:ann'), 'pass basic:ann'],
    ['ann', pass('basic:ann'), 'pass basic:ann'],
  ],
  'passes a preflight without credentials if the policy has users or tokens, otherwise only with a cookie': [
    ['ann', options(), 'preflight'],
    ['tokens', options(), 'preflight'],
    ...['password', 'links', 'knock'].flatMap((policy): Row[] => [
      [policy, options(), 'ask'],
      [policy, options(COOKIE), 'pass password'],
    ]),
    ['ann', { ...options(), method: 'GET' }, 'ask'],
    ['ann', { method: 'OPTIONS', fields: 'Origin: https://app\r\n' }, 'ask'],
    ['ann net', options(), 'address'],
    ['ann', options(pass('basic:ann')), 'pass basic:ann'],
  ],
  'requires credentials of a preflight that has a body or a method override, and checks those that it has': [
    ['ann', options('', { hasBody: true }), 'ask'],
    ['tokens', options('', { hasBody: true }), 'ask'],
    ...['X-HTTP-Method-Override', 'x_http_method_override', 'X.Http.Method', 'X-Method-Override'].map(
      (name): Row => ['ann', options(`${name}: DELETE\r\n`), 'ask'],
    ),
    ['ann', options(basic('ann', 'x')), 'check ann x hash'],
    ['tokens', options(authorization('Bearer x')), 'token undefined'],
  ],
  'accepts a signed link from a page of another host, and the cookie of such a page without an upgrade': [
    ['links', { upgrade: true, link, fields: `Origin: https://b.example\r\n${COOKIE}` }, BY_LINK],
    ['password', `Origin: http://b.localhost\r\n${COOKIE}`, 'pass password'],
  ],
  'gives access to the visitors of a signed link, identified by the link': [
    ['links ann', { link, fields: basic('ann', 'x') }, `${BY_LINK}, hides Authorization`],
    ['links', { link, prefix: '/t/abc', method: 'POST' }, BY_LINK],
  ],
  'asks visitors whose link is of another tunnel, revoked or missing, and all if the policy allows no links':
    [
      ['links', { link, tunnelId: 'two' }, 'ask'],
      ['password', { link }, 'ask'],
      ...['', 'x', link.slice(0, -1), `${link}x`, revokedLink].map((other): Row => [
        'links',
        { link: other },
        'ask',
      ]),
    ],
  'does not replace the identity of a visitor who has access by that of a link': [
    ['links', { link, fields: COOKIE }, 'pass password'],
    ['links', { link, fields: pass('gone') }, BY_LINK],
  ],
  'gives access to visitors with other credentials, even if the link is invalid': [
    ['links', { link: 'x', fields: COOKIE }, 'pass password'],
    ['links ann', { link: 'x', fields: basic('ann', 'x') }, 'check ann x hash'],
    ['home', { link: 'x' }, 'pass undefined'],
    ['links net', { link }, 'address'],
  ],
  'passes no preflight with a link': [
    ['links', options('', { link }), 'ask'],
    ['links', { method: 'OPTIONS', link }, BY_LINK],
  ],
  'accepts the cookie of a link until the link ends or is revoked': [
    ['links', linkCookie(`link:${LINK}:`), `pass link:${LINK}: until ${END * 1000}`],
    ['links', { fields: linkCookie(`link:${LINK}:`), tunnelId: 'two' }, 'ask'],
    ['links', linkCookie('link:7'), 'ask'],
  ],
};

/** Origins of a WebSocket whose page may use the access cookie, or not. */
const ORIGINS: Readonly<Record<string, readonly (readonly [origin: string | undefined, Asked, boolean])[]>> =
  {
    'accepts the cookie of programs, and of pages of its own host': [
      undefined,
      'http://a.localhost',
      'https://a.localhost',
      'HTTPS://A.localhost.',
      'http://a.localhost:3000',
    ].map((origin) => [origin, {}, true] as const),
    'rejects the cookie of a page of another host, and of an opaque origin': [
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
    ].map((origin) => [origin, {}, false]),
    'compares ports if Host has one': [
      ['http://a.localhost:8080', { host: 'a.localhost:8080' }, true],
      ['http://a.localhost:3000', { host: 'a.localhost:8080' }, false],
      ['http://a.localhost', { host: 'a.localhost:8080' }, false],
      ['https://a.localhost', { host: 'a.localhost:443' }, true],
      ['http://a.localhost', { host: 'a.localhost:443' }, false],
      ['http://a.localhost', { host: 'a.localhost:80' }, true],
      ['http://[::1]:8080', { host: '[::1]:8080' }, true],
      ['http://[::2]:8080', { host: '[::1]:8080' }, false],
      ['http://[::1]', { host: '[::1]' }, true],
    ],
    'rejects the cookie of a page without https if tunnels use https': [
      ['https://a.localhost', { secure: true }, true],
      ['http://a.localhost', { secure: true }, false],
    ],
    'accepts the host in X-Forwarded-Host of a trusted proxy only': [true, false].flatMap((trusted) => {
      const asked = { fields: 'X-Forwarded-Host: shop.example\r\n', trusted };
      return [
        ['https://shop.example', asked, trusted],
        ['https://a.localhost', asked, true],
      ] as const;
    }),
    'accepts the cookie of any page of the shared origin in the path form': [
      ['http://localhost:8080', { prefix: '/t/abc', host: 'localhost:8080' }, true],
      ['http://abc.localhost:8080', { prefix: '/t/abc', host: 'localhost:8080' }, false],
    ],
  };

describe('AccessCheck', () => {
  for (const [title, rows] of Object.entries(ROWS))
    it(title, () => {
      for (const [policies, asked, verdict] of rows)
        assert.equal(ask(policies, asked), verdict, JSON.stringify([policies, asked]));
    });

  describe('for a WebSocket', () => {
    for (const [title, rows] of Object.entries(ORIGINS))
      it(title, () => {
        for (const [origin, asked, counts] of rows) {
          const fields = (origin === undefined ? '' : `Origin: ${origin}\r\n`) + (asked.fields ?? '');
          const cookie = pass('password', { form: asked.prefix === undefined ? 'host' : 'path' });
          // The cookie and the credentials of an upgrade count, or neither.
          const verdicts = [cookie, basic('ann', 'x')].map((credentials) =>
            ask('password ann', { upgrade: true, ...asked, fields: fields + credentials }),
          );
          const expected = counts ? ['pass password', 'check ann x hash'] : ['ask', 'ask'];
          assert.deepEqual(verdicts, expected, `${origin} ${JSON.stringify(asked)}`);
        }
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
