import assert from 'node:assert/strict';
import type { EditView } from '../../ipc/request-views.ts';
import {
  changeHeader,
  draftOf,
  formOf,
  isFine,
  isOk,
  nextTry,
  progressWords,
  resultText,
  sentWords,
  TRIES_MAX,
  UNTIL_MS,
  withHeader,
  withoutHeader,
} from './request-draft.ts';

const VIEW: EditView = {
  method: 'POST',
  target: '/a',
  fields: [
    ['X-A', '1'],
    ['X-B', '2'],
  ],
  body: 'a\r\nb',
  bodySize: 4,
  isCut: false,
  signer: undefined,
};

describe('an edited request, as it is typed', () => {
  it('is sent as it was recorded while nothing is changed', () => {
    assert.deepEqual(formOf(draftOf(VIEW), VIEW), {
      method: 'POST',
      target: '/a',
      fields: VIEW.fields,
      body: null,
      signs: false,
    });
  });

  it('is signed where it can be, unless that is not wanted', () => {
    const signed = { ...VIEW, signer: 'Stripe' };
    const draft = draftOf(signed);
    assert.equal(formOf(draft, signed).signs, true);
    assert.equal(formOf({ ...draft, signs: false }, signed).signs, false);
    assert.equal(formOf(draft, VIEW).signs, false);
  });

  it('has headers that come and go, each its own', () => {
    let draft = withHeader(withoutHeader(draftOf(VIEW), 0));
    draft = changeHeader(draft, 2, { name: ' X-C ', value: ' 3' });
    assert.deepEqual(formOf(draft, VIEW).fields, [
      ['X-B', '2'],
      ['X-C', ' 3'],
    ]);
    assert.deepEqual(
      withHeader(withoutHeader(draft, 2)).headers.map(({ key }) => key),
      [1, 2],
    );
  });

  it('ends its lines as the recorded body does', () => {
    const typed = { ...draftOf(VIEW), body: 'a\nb\nc' };
    assert.equal(formOf(typed, VIEW).body, 'a\r\nb\r\nc');
    for (const body of ['a\nb', 'a\r\nb\nc', 'a', undefined])
      assert.equal(formOf(typed, { ...VIEW, body }).body, 'a\nb\nc', String(body));
    assert.equal(formOf({ ...typed, body: '' }, VIEW).body, '');
  });
});

describe('a request that is repeated until it succeeds', () => {
  it('is sent again after 2 s, then less and less often, every 30 s at last', () => {
    const waits = Array.from({ length: 9 }, (_, index) => nextTry(index + 1, false, 0));
    assert.deepEqual(waits.slice(0, 3), [2000, 3000, 4500]);
    assert.equal(waits.at(-1), 30_000);
  });

  it('looks every second whether a server that is not there listens again', () => {
    assert.deepEqual([nextTry(0, true, 0), nextTry(9, true, 0)], [1000, 1000]);
  });

  it('is over after 30 tries or 10 minutes', () => {
    assert.equal(nextTry(TRIES_MAX, false, 0), undefined);
    assert.equal(nextTry(0, true, UNTIL_MS), undefined);
    assert.notEqual(nextTry(TRIES_MAX - 1, false, 0), undefined);
  });

  it('succeeds with any 2xx', () => {
    assert.deepEqual([200, 299, 199, 300, undefined].map(isOk), [true, true, false, false, false]);
  });
});

describe('results of kept requests', () => {
  it('say how many were sent, and how many of them went well', () => {
    const statuses = [200, 204, 301, 404, 500, undefined];
    const results = statuses.map((status, index) => ({ id: index + 1, status }));
    assert.equal(sentWords(results), '6 requests were sent, 2 answered with 2xx.');
    assert.equal(sentWords(results.slice(3, 4)), '1 request was sent, 0 answered with 2xx.');
    assert.equal(progressWords(3, 6), '3 of 6 sent.');
    assert.deepEqual(results.map(isFine), [true, true, true, false, false, false]);
    assert.deepEqual(results.map(resultText), ['200', '204', '301', '404', '500', 'no response']);
  });
});
