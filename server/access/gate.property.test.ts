/**
 * A visitor who does not meet the access policy never has access, however the request looks; a visitor who does always
 * has.
 */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { hashKey } from '../accounts/api-keys.ts';
import type { StoredAccess } from '../store/records.ts';
import { AccessCheck, type Verdict } from './access-check.ts';
import { AccessPolicy } from './access-policy.ts';
import { LinkTokens, Passes } from './passes.ts';

const NOW = Date.UTC(2026, 10, 1);
const END = NOW / 1000 + 60;
const HOST = '__Host-pass';
const PATH = 'pass';
const INSIDE = '10.1.2.3';
const OUTSIDE = '192.0.2.1';
const LINK_ID = '0123456789abcdef';

const passes = new Passes('visit', () => ({ current: 'key', others: ['older key'] }));
const lastingPasses = new Passes('lasting', () => ({ current: 'lasting key', others: [] }));
const personPasses = new Passes('person', () => ({ current: 'third key', others: [] }));
const links = new LinkTokens(() => ({ current: 'lasting key', others: [] }));
/** of another tunnel's owner, or of a relay with other secrets */
const foreign = new Passes('visit', () => ({ current: 'foreign key', others: [] }));
const foreignLinks = new LinkTokens(() => ({ current: 'foreign key', others: [] }));
const gate = new AccessCheck({
  passes,
  lastingPasses,
  personPasses,
  links,
  cookieName: (form) => (form === 'host' ? HOST : PATH),
  isGood: () => true,
});

/** Policies that ask for something. */
const access = fc
  .record({
    allow: fc.constantFrom([], ['10.0.0.0/8', '::1']),
    basic: fc.constantFrom([], [{ user: 'ann', hash: 'hash' }]),
    password: fc.constantFrom(null, 'hash'),
    links: fc.boolean(),
    knock: fc.boolean(),
    tokens: fc.constantFrom([], [{ name: 'ci', hash: hashKey('token') }]),
    sign_in: fc.constantFrom([], ['*']),
    oauth: fc.boolean(),
  })
  .filter(
    ({ basic, password, links: takes, knock, tokens, sign_in, oauth }) =>
      basic.length + tokens.length + sign_in.length > 0 || password !== null || takes || knock || oauth,
  )
  .map((given): StoredAccess => ({ version: 'v1', ...given }));

const form = fc.constantFrom('host', 'path');
const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT');

/** Cookies that are not valid for this tunnel, policy and form of the address. */
const badPass = fc.oneof(
  fc.constantFrom(
    foreign.make({ tunnelId: 'one', version: 'v1', form: 'host' }, 'password', END),
    passes.make({ tunnelId: 'two', version: 'v1', form: 'host' }, 'password', END),
    passes.make({ tunnelId: 'one', version: 'v0', form: 'host' }, 'password', END),
    passes.make({ tunnelId: 'one', version: 'v1', form: 'host' }, 'password', NOW / 1000),
    '',
    '....',
    'visit.9999999999..',
  ),
  fc.string({ maxLength: 60, unit: fc.constantFrom(...Array.from('visitlasng.0123456789AZ_-=')) }),
);

/** Fields that do not meet any policy. */
const noise = fc.array(
  fc.oneof(
    badPass.map((value) => `Cookie: ${HOST}=${value}; ${PATH}=${value}`),
    badPass.map((value) => `cookie: a=b;${HOST}=${value}`),
    fc.constantFrom(
      'Authorization: Bearer abc',
      'Authorization: Bearer token, token',
      'Authorization: Token token',
      'Cookie: token=token',
      'Authorization: Basic !',
      'Authorization: Digest username="ann"',
      'Culvert-Visitor: password',
      'X-Forwarded-For: 10.1.2.3',
      'Origin: https://a.example',
      'Accept: text/html',
    ),
  ),
  { maxLength: 5 },
);

function ask(
  stored: StoredAccess,
  how: {
    method: string;
    form: string;
    fields: readonly string[];
    address: string;
    link?: string | undefined;
  },
): Verdict {
  const prefix = how.form === 'path' ? '/t/abc' : '';
  const lines = how.fields.map((field) => `${field}\r\n`).join('');
  const text = `${how.method} ${prefix}/ HTTP/1.1\r\nHost: a.localhost\r\n${lines}\r\n`;
  const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: 1000, fields: 50 });
  assert.ok(typeof head === 'object', text);
  const { address, link } = how;
  const request = { head, hasBody: false, upgrade: false, way: { trusted: false, secure: false } };
  return gate.decide(new AccessPolicy(stored), {
    ...request,
    address,
    tunnelId: 'one',
    linkScope: 'one',
    linksSince: NOW - 1000,
    account: 'acme',
    prefix,
    link,
    now: NOW,
  });
}

describe('AccessCheck, for any request', () => {
  it('gives no access to requests that do not meet the policy', () => {
    const link = fc.constantFrom(
      undefined,
      '',
      foreignLinks.make('one', { id: LINK_ID, note: '', end: END }),
      links.make('two', { id: LINK_ID, note: '', end: END }),
      links.make('one', { id: LINK_ID, note: '', end: NOW / 1000 }),
    );
    fc.assert(
      fc.property(access, method, form, noise, link, (stored, asked, of, fields, shown) => {
        const verdict = ask(stored, { method: asked, form: of, fields, address: INSIDE, link: shown });
        assert.ok(verdict.kind === 'ask' || (verdict.kind === 'token' && verdict.token === undefined));
      }),
      { numRuns: 1000 },
    );
  });

  it('gives access with any valid cookie, whatever else is sent', () => {
    const good = fc.constantFrom('password', 'basic:ann', `knock:${LINK_ID}`, `link:${LINK_ID}:for Ann`);
    fc.assert(
      fc.property(
        access,
        method,
        form,
        noise,
        good,
        fc.boolean(),
        (stored, asked, of, fields, who, isLasting) => {
          const scope = { tunnelId: 'one', version: 'v1', form: of };
          const value = (isLasting ? lastingPasses : passes).make(scope, who, END);
          const cookie = `Cookie: ${of === 'host' ? HOST : PATH}=${value}`;
          const verdict = ask(stored, {
            method: asked,
            form: of,
            fields: [...fields, cookie],
            address: INSIDE,
          });
          assert.ok(verdict.kind === 'pass' && verdict.visitor === who, verdict.kind);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('gives no access from other addresses, whatever is sent', () => {
    fc.assert(
      fc.property(access, method, form, noise, (stored, asked, of, fields) => {
        const scope = { tunnelId: 'one', version: 'v1', form: of };
        const value = passes.make(scope, 'password', END);
        const shown = [
          ...fields,
          `Cookie: ${HOST}=${value}; ${PATH}=${value}`,
          'Authorization: Basic YW5uOng=',
          'Authorization: Bearer token',
        ];
        const limited = { ...stored, allow: ['10.0.0.0/8'] };
        const link = links.make('one', { id: LINK_ID, note: '', end: END });
        const verdict = ask(limited, { method: asked, form: of, fields: shown, address: OUTSIDE, link });
        assert.equal(verdict.kind, 'address');
      }),
      { numRuns: 500 },
    );
  });
});
