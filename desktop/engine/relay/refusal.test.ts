import assert from 'node:assert/strict';
import { readErrorText, readRetryAfter } from './refusal.ts';

describe('readErrorText', () => {
  it('takes the text of an error body', () => {
    assert.equal(readErrorText('{"error":"name already in use"}'), 'name already in use');
  });

  it('lets no control characters through to a terminal', () => {
    assert.equal(readErrorText(JSON.stringify({ error: 'a\u001b[2Jb\r\nc\u009bd\u202ee' })), 'a [2Jb  c d e');
  });

  it('cuts long texts', () => {
    assert.equal(readErrorText(JSON.stringify({ error: 'x'.repeat(5000) }))?.length, 300);
  });

  for (const body of ['', '<html>', 'null', '[]', '{}', '{"error":1}', '{"error":""}']) {
    it(`finds none in ${JSON.stringify(body)}`, () => assert.equal(readErrorText(body), undefined));
  }
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
