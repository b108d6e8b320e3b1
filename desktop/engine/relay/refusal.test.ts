import assert from 'node:assert/strict';
import { API_ERRORS } from '../../../shared/errors.ts';
import { refusesKey } from './errors.ts';
import { readErrorBody, readRefusal, readRetryAfter } from './refusal.ts';

describe('readErrorBody', () => {
  it('reads the text of an error body', () => {
    assert.deepEqual(readErrorBody('{"error":"name already in use"}'), {
      text: 'name already in use',
      code: undefined,
    });
  });

  it('reads its code', () => {
    assert.equal(readErrorBody('{"error":"name already in use","code":"name-taken"}')?.code, 'name-taken');
    assert.equal(readErrorBody('{"error":"name already in use","code":1}')?.code, undefined);
  });

  it('lets no control characters through to a terminal', () => {
    assert.equal(
      readErrorBody(JSON.stringify({ error: 'a\u001b[2Jb\r\nc\u009bd\u202ee' }))?.text,
      'a [2Jb  c d e',
    );
  });

  it('leaves out how the text ends: more follows', () => {
    assert.equal(readErrorBody('{"error":"port 3000 ??"}')?.text, 'port 3000');
    assert.equal(readErrorBody('{"error":"Wait."}')?.text, 'Wait');
  });

  it('cuts long texts', () => {
    assert.equal(readErrorBody(JSON.stringify({ error: 'x'.repeat(5000) }))?.text.length, 300);
  });

  for (const body of ['', '<html>', 'null', '[]', '{}', '{"error":1}', '{"error":""}', '{"error":"??"}']) {
    it(`finds none in ${JSON.stringify(body)}`, () => assert.equal(readErrorBody(body), undefined));
  }
});

describe('a refusal of the key', () => {
  const challenge = { 'www-authenticate': 'Bearer' };
  const { text, code } = API_ERRORS.invalidKey;
  const cases: [string, object, boolean][] = [
    ['is known by its code, whatever the text', { error: 'this key is not known', code }, true],
    ['is known by its text where there is no code, as older relays answer', { error: text }, true],
    ['is none with another code', { error: text, code: 'missing-key' }, false],
    ['is none with another text and no code', { error: 'no' }, false],
  ];
  for (const [title, body, isRefused] of cases) {
    it(title, () => {
      assert.equal(refusesKey(readRefusal(401, challenge, JSON.stringify(body), 0)), isRefused);
    });
  }

  it('is none without the challenge of the relay', () => {
    assert.equal(refusesKey(readRefusal(401, {}, JSON.stringify({ error: text, code }), 0)), false);
  });

  it('is none with another status', () => {
    assert.equal(refusesKey(readRefusal(403, challenge, JSON.stringify({ error: text, code }), 0)), false);
  });
});

describe('readRetryAfter', () => {
  const now = Date.parse('2026-07-10T12:00:00Z');
  const cases: [string | null, number | undefined][] = [
    ['0', 0],
    ['12', 12_000],
    ['Fri, 10 Jul 2026 12:00:30 GMT', 30_000],
    ['Fri, 10 Jul 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    [null, undefined],
  ];
  for (const [value, ms] of cases) {
    it(`reads ${value ?? 'no field'} as ${ms} ms`, () => assert.equal(readRetryAfter(value, now), ms));
  }
});
