import assert from 'node:assert/strict';
import { parseFields } from '../../shared/http1/fields.ts';
import { belowPrefix } from './path-form.ts';

function mapped(name: string, value: string, atPrefix = false): string | undefined {
  const [field] = parseFields(Buffer.from(`${name}: ${value}\r\n\r\n`), 0) ?? [];
  assert.ok(field);
  return belowPrefix('/t/abc', atPrefix, ['relay.example'])(field);
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

  const cookies: [string, string][] = [
    ['a=1; Path=/', 'a=1; Path=/t/abc'],
    ['a=1; path=/app; HttpOnly', 'a=1; Path=/t/abc/app; HttpOnly'],
    ['a=1; Domain=relay.example; Path=/; Secure', 'a=1; Path=/t/abc; Secure'],
    ['a=1; HttpOnly', 'a=1; HttpOnly'],
    ['a="Path=/"', 'a="Path=/"'],
  ];
  for (const [from, to] of cookies) {
    it(`makes Set-Cookie ${from} ${to}`, () => assert.equal(mapped('Set-Cookie', from), to));
  }

  it("keeps a cookie without a path out of everybody's /t", () => {
    assert.equal(mapped('Set-Cookie', 'a=1', true), 'a=1; Path=/t/abc');
  });

  it('drops what reaches beyond the prefix, and leaves the rest', () => {
    for (const name of ['Service-Worker-Allowed', 'Clear-Site-Data', 'Strict-Transport-Security']) {
      assert.equal(mapped(name, 'x'), undefined);
    }
    assert.equal(mapped('X-Location', '/a'), '/a');
  });
});
