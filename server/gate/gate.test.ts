import assert from 'node:assert/strict';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { Gate, type Verdict } from './gate.ts';
import type { StoredAccess } from '../store/records.ts';
import { HeldAccess } from './held-access.ts';
import { LinkTokens } from './link-tokens.ts';
import { Passes } from './passes.ts';

const NOW = Date.UTC(2026, 10, 1);
const CLOSED: StoredAccess = {
  version: 'v1',
  allow: [],
  basic: [],
  password: null,
  links: false,
  knock: false,
};
const ANN = { basic: [{ user: 'ann', hash: 'hash of ann' }] };
const PASSWORD = { password: 'hash' };

/** A request, and what is different about it. */
interface Asked {
  readonly method?: string;
  readonly fields?: string;
  readonly address?: string;
  readonly prefix?: string;
  readonly tunnelId?: string;
  readonly link?: string;
}

function basic(user: string, password: string): string {
  return `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}\r\n`;
}

describe('Gate', () => {
  let passes: Passes;
  let lastingPasses: Passes;
  let links: LinkTokens;
  let revoked: Set<string>;
  let gate: Gate;

  beforeEach(() => {
    passes = new Passes('visit', () => ({ current: 'key', others: [] }));
    lastingPasses = new Passes('lasting', () => ({ current: 'other key', others: [] }));
    links = new LinkTokens(() => ({ current: 'other key', others: [] }));
    revoked = new Set();
    gate = new Gate({
      passes,
      lastingPasses,
      links,
      cookieName: (form) => (form === 'host' ? '__Host-pass' : 'pass'),
      isGood: (tunnelId, visitor) => !revoked.has(`${tunnelId} ${visitor}`),
    });
  });

  function ask(access: Partial<StoredAccess>, asked: Asked = {}): Verdict {
    const { method = 'GET', fields = '', address = '192.0.2.1', prefix = '', tunnelId = 'one', link } = asked;
    const text = `${method} ${prefix}/ HTTP/1.1\r\nHost: a.localhost\r\n${fields}\r\n`;
    const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: 1000, fields: 9 });
    assert.ok(typeof head === 'object', text);
    return gate.decide(new HeldAccess({ ...CLOSED, ...access }), {
      head,
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

  it('lets in who comes from where he may, and nobody else', () => {
    const access = { allow: ['10.0.0.0/8', '2001:db8::/32'] };
    for (const address of ['10.1.2.3', '2001:db8::1', '::ffff:10.0.0.1'])
      assert.equal(ask(access, { address }).kind, 'pass', address);
    for (const address of ['11.0.0.1', '2001:db9::1', '::ffff:11.0.0.1', ''])
      assert.equal(ask(access, { address }).kind, 'address', address);
  });

  it('looks at the address first, whatever is shown', () => {
    const access = { allow: ['10.0.0.0/8'], ...PASSWORD };
    assert.equal(ask(access, { fields: pass('password') }).kind, 'address');
    assert.equal(ask(access, { fields: pass('password'), address: '10.0.0.1' }).kind, 'pass');
    assert.equal(ask(access, { address: '10.0.0.1' }).kind, 'ask');
  });

  it('asks who shows nothing, whichever of the others is set', () => {
    for (const access of [ANN, PASSWORD, { links: true }, { knock: true }])
      assert.equal(ask(access).kind, 'ask', JSON.stringify(access));
  });

  it('has credentials checked where it has users, also of a user who does not exist', () => {
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

  it('lets in who has a pass, as who he is', () => {
    assert.deepEqual(ask(PASSWORD, { fields: pass('password') }), {
      kind: 'pass',
      visitor: 'password',
      kept: { authorization: false },
    });
  });

  it('takes no pass of another tunnel, another access or another form of the address, nor one that was revoked', () => {
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

  it('finds the right one among cookies of the same name, which others may have set', () => {
    const good = pass('password').slice('Cookie: '.length).trim();
    const fields = `Cookie: __Host-pass=x; __Host-pass=\r\nCookie: ${good}\r\n`;
    assert.equal(ask(PASSWORD, { fields }).kind, 'pass');
  });

  it('keeps credentials that name one of its users, and no others, from the service', () => {
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

  it('lets preflights in where the request itself brings credentials, and otherwise only with a pass', () => {
    const preflight = {
      method: 'OPTIONS',
      fields: 'Origin: https://app\r\nAccess-Control-Request-Method: PUT\r\n',
    };
    assert.equal(ask(ANN, preflight).kind, 'pass');
    for (const access of [PASSWORD, { links: true }, { knock: true }]) {
      assert.equal(ask(access, preflight).kind, 'ask');
      assert.equal(ask(access, { ...preflight, fields: preflight.fields + pass('password') }).kind, 'pass');
    }
    for (const less of [{ method: 'GET' }, { fields: 'Origin: https://app\r\n' }])
      assert.equal(ask(ANN, { ...preflight, ...less }).kind, 'ask');
    assert.equal(ask({ ...ANN, allow: ['10.0.0.0/8'] }, preflight).kind, 'address');
  });

  describe('with a signed link', () => {
    const LINKS = { links: true };
    const ID = '0123456789abcdef';
    const end = NOW / 1000 + 60;
    let link: string;

    beforeEach(() => {
      link = links.make('one', { id: ID, note: 'Ann: review', end });
    });

    it('lets in whoever has one, as the link', () => {
      assert.deepEqual(ask({ ...LINKS, ...ANN }, { link, fields: basic('ann', 'x') }), {
        kind: 'link',
        link: { id: ID, note: 'Ann: review', end },
        visitor: `link:${ID}:Ann: review`,
        kept: { authorization: true },
      });
      assert.equal(ask(LINKS, { link, prefix: '/t/abc', method: 'POST' }).kind, 'link');
    });

    it('asks who has one of another tunnel, a revoked one or none, and where links let nobody in', () => {
      assert.equal(ask(LINKS, { link, tunnelId: 'two' }).kind, 'ask');
      assert.equal(ask(PASSWORD, { link }).kind, 'ask');
      for (const other of ['', 'x', link.slice(0, -1), `${link}x`])
        assert.equal(ask(LINKS, { link: other }).kind, 'ask', other);
      revoked.add(`one link:${ID}:Ann: review`);
      assert.equal(ask(LINKS, { link }).kind, 'ask');
    });

    it('lets in who passes by other means, whatever his link is', () => {
      assert.equal(ask(LINKS, { link: 'x', fields: pass('password') }).kind, 'pass');
      assert.equal(ask({ ...LINKS, ...ANN }, { link: 'x', fields: basic('ann', 'x') }).kind, 'check');
      assert.equal(ask({ allow: ['192.0.2.0/24'] }, { link: 'x' }).kind, 'pass');
      assert.equal(ask({ ...LINKS, allow: ['10.0.0.0/8'] }, { link }).kind, 'address');
    });

    it('lets no preflight in for it', () => {
      const fields = 'Origin: https://app\r\nAccess-Control-Request-Method: PUT\r\n';
      assert.equal(ask(LINKS, { link, method: 'OPTIONS', fields }).kind, 'ask');
      assert.equal(ask(LINKS, { link, method: 'OPTIONS' }).kind, 'link');
    });

    it('takes a pass of one until the link ends, and is revoked', () => {
      const scope = { tunnelId: 'one', version: 'v1', form: 'host' } as const;
      const who = `link:${ID}:`;
      const fields = `Cookie: __Host-pass=${lastingPasses.make(scope, who, end)}\r\n`;
      assert.deepEqual(ask(LINKS, { fields }), {
        kind: 'pass',
        visitor: who,
        kept: { authorization: false },
      });
      assert.equal(ask(LINKS, { fields, tunnelId: 'two' }).kind, 'ask');
      revoked.add(`one ${who}`);
      assert.equal(ask(LINKS, { fields }).kind, 'ask');
    });
  });
});
