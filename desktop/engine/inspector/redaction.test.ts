import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { redactField, redactTarget, SECRET_FIELDS, SECRET_WORDS } from './redaction.ts';

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
  ];
  for (const [name, value, shown] of fields)
    it(`shows ${name}: ${value} as ${shown}`, () => assert.equal(redactField(name, value), shown));

  it('is what the documentation says', () => {
    const page = readFileSync(new URL('../../../docs/inspector.md', import.meta.url), 'utf8');
    for (const name of [...SECRET_FIELDS, ...SECRET_WORDS]) assert.ok(page.includes(`\`${name}\``), name);
  });
});
