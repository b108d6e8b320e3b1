import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { redactField, redactTarget, SECRET_FIELD_WORDS, SECRET_FIELDS, SECRET_WORDS } from './redaction.ts';

/** What is left out of a field. */
function secretsOf(name: string, value: string): string[] {
  const found: string[] = [];
  redactField(name, value, (key) => {
    found.push(key.trim());
    return '';
  });
  return found;
}

describe('redaction', () => {
  const targets: readonly (readonly [string, string])[] = [
    ['/a?token=1', '/a?token=[redacted]'],
    ['/a?page=2&access_token=1&x=3', '/a?page=2&access_token=[redacted]&x=3'],
    ['/a?refreshToken=1;b=2', '/a?refreshToken=[redacted];b=2'],
    ['/a?X-Amz-Signature=1#id_token=2', '/a?X-Amz-Signature=[redacted]#id_token=[redacted]'],
    ['/a?%74oken=1', '/a?%74oken=[redacted]'],
    ['/a?user%5Bpassword%5D=1', '/a?user%5Bpassword%5D=[redacted]'],
    ['/a?tokens=1&keyboard=2', '/a?tokens=1&keyboard=2'],
    ['/a?%=1&token=', '/a?%=1&token='],
    ['/token=1/x', '/token=1/x'],
    ['/a?x?token=1?y&z=2', '/a?x?token=[redacted]&z=2'],
    ['/a;jsessionid=1?b', '/a;jsessionid=[redacted]'],
    ['http://ann:pw@host/a@b', 'http://[redacted]@host/a@b'],
    ['http://ann:p@ss@host/a@b', 'http://[redacted]@host/a@b'],
    ['/acs?SAMLResponse=PHNhbWw&RelayState=x', '/acs?SAMLResponse=[redacted]&RelayState=x'],
    ['/reset/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln/x', '/reset/[redacted]/x'],
    ['/eyJustAName/a.b.c', '/eyJustAName/a.b.c'],
    ['GET /a?key=1 HTTP/1.1', 'GET /a?key=[redacted] HTTP/1.1'],
  ];
  for (const [target, shown] of targets)
    it(`shows ${target} as ${shown}`, () => assert.equal(redactTarget(target), shown));

  const fields: readonly (readonly [string, string, string])[] = [
    ['Authorization', 'Bearer abc', 'Bearer [redacted]'],
    ['authorization', 'Basic dTpw', 'Basic [redacted]'],
    ['Authorization', 'secretwithoutscheme', '[redacted]'],
    ['Authorization', 'my secret', '[redacted]'],
    ['Proxy-Authorization', 'Digest username="u", response="r"', 'Digest [redacted]'],
    ['X-Api-Key', 'abc', '[redacted]'],
    ['Stripe-Signature', 't=1,v1=abc', '[redacted]'],
    ['X-Slack-Signature', 'v0=abc', '[redacted]'],
    ['X-Shopify-Hmac-Sha256', 'abc', '[redacted]'],
    ['X-Telegram-Bot-Api-Secret-Token', 'abc', '[redacted]'],
    ['Paypal-Transmission-Sig', 'abc', '[redacted]'],
    ['X-Signatures-Kept', '3', '3'],
    ['Cookie', 'sid=abc; theme=dark; bare', 'sid=[redacted]; theme=[redacted];[redacted]'],
    ['Set-Cookie', 'sid=a=b; Path=/; HttpOnly', 'sid=[redacted]; Path=/; HttpOnly'],
    ['Referer', 'https://x/?code=1&a=2', 'https://x/?code=[redacted]&a=2'],
    ['Location', '/in#access_token=1', '/in#access_token=[redacted]'],
    ['Accept', 'token=1', 'token=1'],
    ['X-Upstream', 'Bearer abc', 'Bearer [redacted]'],
    ['X-Note', 'sent as "bearer abc", twice', 'sent as "bearer [redacted]", twice'],
    ['X-Forwarded-Header', 'Authorization: Basic dTpw', 'Authorization: Basic [redacted]'],
    ['Sec-WebSocket-Protocol', 'graphql-ws, bearer, abc', 'graphql-ws, bearer, [redacted]'],
    [
      'Sec-WebSocket-Protocol',
      'base64url.bearer.authorization.k8s.io.abc, v1',
      'base64url.bearer.[redacted], v1',
    ],
    ['WWW-Authenticate', 'Bearer realm="culvert"', 'Bearer realm="culvert"'],
    ['Location', 'https://ann:pw@host/', 'https://[redacted]@host/'],
    ['X-Origin', 'see <https://token@host> there', 'see <https://[redacted]@host> there'],
    [
      'Link',
      '<https://host/?page=2&token=abc>; rel="next"',
      '<https://host/?page=2&token=[redacted]; rel="next"',
    ],
    ['X-Original-URL', '/a?code=1&b=2', '/a?code=[redacted]&b=2'],
    ['X-Part', 'a; secret="b; c"; d=e', 'a; secret=[redacted]; d=e'],
    ['X-User', 'is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln, today', 'is [redacted], today'],
    ['X-Session-Id', 'abc', '[redacted]'],
    ['Mcp-Session-Id', 'abc', '[redacted]'],
    ['X-Auth', 'abc', '[redacted]'],
    ['Session', 'abc', '[redacted]'],
    ['Access-Control-Allow-Credentials', 'true', 'true'],
    ['Sec-WebSocket-Key', 'abc', 'abc'],
  ];
  for (const [name, value, shown] of fields)
    it(`shows ${name}: ${value} as ${shown}, and recognises its secrets after that`, () => {
      assert.equal(redactField(name, value), shown);
      assert.deepEqual(secretsOf(name, shown), secretsOf(name, value));
    });

  // With quadratic time these would take minutes, with linear time a few milliseconds.
  for (const piece of '?|&a|=|;token="|//|//@|@|eyJ|eyJ.|Bearer |Basic| |:|aB|"|%'.split('|'))
    it(`reads long runs of ${JSON.stringify(piece)} in linear time`, () => {
      const text = piece.repeat(1_000_000 / piece.length);
      assert.notEqual(redactTarget(`GET /${text} HTTP/1.1`), '');
      assert.notEqual(redactField('x-anything', text), '');
      assert.notEqual(redactField('set-cookie', text), '');
      assert.notEqual(redactField(text, text), '');
      assert.notEqual(redactTarget(`/?${text}=1`), '');
    });

  it('matches the documentation', () => {
    const page = readFileSync(
      new URL('../../../docs/guides/inspecting-requests.md', import.meta.url),
      'utf8',
    );
    for (const name of [...SECRET_FIELDS, ...SECRET_FIELD_WORDS, ...SECRET_WORDS])
      assert.ok(page.includes(`\`${name}\``), name);
  });
});
