import assert from 'node:assert/strict';
import { parseFields } from '../../../shared/http1/fields.ts';
import { belowPrefix } from './path-form.ts';

function mapped(name: string, value: string): string | undefined {
  const [field] = parseFields(Buffer.from(`${name}: ${value}\r\n\r\n`), 0) ?? [];
  assert.ok(field);
  const map = belowPrefix({ prefix: '/t/abc', target: '/x/y', isBare: false, ownHosts: ['relay.example'] });
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

  it('moves cookies', () => {
    assert.equal(mapped('set-cookie', 'a=1; Path=/; Secure'), 'a=1; Path=/t/abc; Secure');
    assert.equal(mapped('Set-Cookie', 'a=1'), 'a=1; Path=/t/abc/x');
  });

  it('moves challenges', () => {
    assert.equal(mapped('WWW-Authenticate', 'Basic realm="x"'), 'Basic realm="/t/abc x"');
  });

  it('drops what has an effect beyond the prefix, and leaves the rest', () => {
    for (const name of [
      'Service-Worker-Allowed',
      'Clear-Site-Data',
      'STRICT-TRANSPORT-SECURITY',
      'NEL',
      'report-to',
      'Reporting-Endpoints',
      'Alt-Svc',
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
