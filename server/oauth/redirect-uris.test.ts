import assert from 'node:assert/strict';
import { formSources, isRedirectUri, isRegistered, responseAddress, shownHost } from './redirect-uris.ts';

describe('an address that an authorization returns to', () => {
  it('is https, http on this machine, or the scheme of an app', () => {
    for (const uri of [
      'https://app.example',
      'https://app.example:8443/back?a=b',
      'https://[2001:db8::1]/back',
      'http://127.0.0.1/back',
      'http://localhost:5000/back',
      'http://[::1]:5000/',
      'cursor://anysphere.cursor-retrieval/back',
      'com.example.app:/back',
    ])
      assert.ok(isRedirectUri(uri), uri);
    for (const uri of [
      'http://app.example/',
      'http://127.0.0.1.app.example/',
      'http://localhost.app.example/',
      'http://127.0.0.1@app.example/',
      'http://0x7f.1/',
      'https://user@app.example/',
      'https://user:password@app.example/',
      'https://app.example/#fragment',
      'https://app.example\\@other.example/',
      'https:app.example/',
      'https:///app.example/',
      'https://app.example/ ',
      ' https://app.example/',
      'https://app.example/\t',
      'https://app.example/"',
      'https://app.example/%zz',
      'https://app.example/é',
      'https://app.example/\r\nSet-Cookie: a=b',
      'javascript:alert(1)',
      'JavaScript://app.example/%0aalert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'blob:https://app.example/x',
      'view-source:https://app.example/',
      'intent://app.example/#Intent;end',
      'ms-settings://x',
      'vscode:no-slashes',
      'ws://app.example/',
      '/back',
      '',
      undefined,
      `https://app.example/${'x'.repeat(1024)}`,
    ])
      assert.ok(!isRedirectUri(uri), String(uri));
  });

  it('is registered as it is written, but for the port of a program on this machine', () => {
    const rows: readonly [string, string, boolean][] = [
      ['https://app.example/back', 'https://app.example/back', true],
      ['https://app.example/back', 'https://app.example/back/', false],
      ['https://app.example/back', 'https://app.example:443/back', false],
      ['https://app.example/', 'https://app.example', false],
      ['http://127.0.0.1/back', 'http://127.0.0.1:5000/back', true],
      ['http://127.0.0.1:7/back', 'http://127.0.0.1/back', true],
      ['http://127.0.0.1:7/back', 'http://127.0.0.1:5000/back?a', false],
      ['http://127.0.0.1/back', 'http://localhost/back', false],
      ['http://localhost/back', 'http://localhost.app.example/back', false],
      ['https://localhost/back', 'https://localhost:5000/back', false],
    ];
    for (const [registered, given, isSame] of rows)
      assert.equal(
        isRegistered(given, ['https://other.example/', registered]),
        isSame,
        `${registered} ${given}`,
      );
  });

  it('is shown by its host, or by the scheme of an app, which may put any host behind it', () => {
    assert.equal(shownHost('https://claude.ai:8443/back'), 'claude.ai');
    assert.equal(shownHost('http://[::1]:7/back'), '[::1]');
    assert.equal(shownHost('evil://claude.ai/back'), 'evil:');
    assert.equal(formSources('https://claude.ai/back'), 'https://claude.ai https:');
    assert.equal(formSources('http://127.0.0.1:7/back'), 'http://127.0.0.1:7 https:');
    assert.equal(formSources('cursor://back'), 'cursor:');
  });

  it('keeps its own parameters in a response', () => {
    assert.equal(responseAddress('https://a.example/', { a: 'b&c' }), 'https://a.example/?a=b%26c');
    assert.equal(responseAddress('https://a.example/?x=1', { a: 'b' }), 'https://a.example/?x=1&a=b');
  });
});
