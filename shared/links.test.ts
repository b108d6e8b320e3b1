import assert from 'node:assert/strict';
import { ApiError } from './errors.ts';
import { LINK_NOTE_MAX_LENGTH, LINK_PATH_MAX_LENGTH, readCreateLink } from './links.ts';

describe('readCreateLink', () => {
  it('accepts no field, or all of them', () => {
    const usual = { ttl: 86_400, note: '', path: undefined };
    for (const given of [{}, { ttl: null, note: null, path: null }, { note: '', path: '' }, { other: 1 }])
      assert.deepEqual(readCreateLink(given), usual);
    assert.deepEqual(readCreateLink({ ttl: '1.5h', note: 'for the review', path: '/x?y' }), {
      ttl: 5400,
      note: 'for the review',
      path: '/x?y',
    });
  });

  it('accepts notes in any language, and counts characters', () => {
    for (const note of ['Ünïcode', '🦊'.repeat(LINK_NOTE_MAX_LENGTH), ' a:b ', '<b>&"'])
      assert.equal(readCreateLink({ note }).note, note);
  });

  it('accepts paths as URLs have them', () => {
    const paths = [
      '/',
      '/x',
      '/x/',
      '/a//b',
      '/a.b/..c/...',
      '/%20%C3%A4',
      "/-._~!$&'()*+,;=:@",
      '/x?a=/../b&c?',
      '/x?',
    ];
    for (const path of [...paths, `/${'x'.repeat(LINK_PATH_MAX_LENGTH - 1)}`])
      assert.equal(readCreateLink({ path }).path, path);
  });

  const wrong: [field: string, values: unknown[], code: string, text: RegExp][] = [
    ['ttl', [60, 'soon', '', '999ms', '-1h'], 'invalid-ttl', /^invalid ttl format$/],
    ['ttl', ['720h1s', '9999999999h'], 'ttl-too-long', /^ttl must be at most 720h0m0s$/],
    [
      'note',
      [1, ['a'], 'a\nb', 'a\u0000', '\u0085', '\ud800', 'x'.repeat(65)],
      'invalid-link',
      /^the note of a link must be up to 64 characters/,
    ],
    [
      'path',
      [
        1,
        'x',
        '//evil.example',
        '///',
        '/\\evil.example',
        'https://evil.example/',
        '/a b',
        '/ä',
        '/a\r\nb',
        '/a#b',
        '/%2',
        '/%zz',
        '/..',
        '/.',
        '/a/../b',
        '/a/./b',
        '/%2e%2E/b',
        '/a/.%2e',
        '/x?culvert_pass=a',
        '/x?a&culvert_gate',
        '/<',
        `/${'x'.repeat(LINK_PATH_MAX_LENGTH)}`,
      ],
      'invalid-link',
      /^the path of a link must be up to 1024 characters of a URL/,
    ],
  ];
  for (const [field, values, code, text] of wrong) {
    for (const value of values) {
      it(`rejects ${field} ${JSON.stringify(value).slice(0, 40)}`, () => {
        assert.throws(
          () => readCreateLink({ [field]: value }),
          (error) => {
            assert.ok(error instanceof ApiError);
            assert.deepEqual([error.status, error.body.code], [400, code]);
            assert.match(error.body.error, text);
            return true;
          },
        );
      });
    }
  }

  it('rejects anything but an object, and names the first invalid field', () => {
    assert.throws(() => readCreateLink([]), { message: 'invalid request body' });
    assert.throws(() => readCreateLink({ path: 'x', note: 1, ttl: 1 }), { message: 'invalid ttl format' });
  });
});
