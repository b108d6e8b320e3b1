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
  isLarge: false,
  signer: undefined,
};

describe('an edited request', () => {
  it('is sent as recorded while nothing is changed', () => {
    assert.deepEqual(formOf(draftOf(VIEW), VIEW), {
      method: 'POST',
      target: '/a',
      fields: VIEW.fields,
      body: null,
      signs: false,
    });
  });

  it('is signed if possible, unless the user disables that', () => {
    const signed = { ...VIEW, signer: 'Stripe' };
    const draft = draftOf(signed);
    assert.equal(formOf(draft, signed).signs, true);
    assert.equal(formOf({ ...draft, signs: false }, signed).signs, false);
    assert.equal(formOf(draft, VIEW).signs, false);
  });

  it('may add and remove headers, including repeated ones', () => {
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

  it('ends its lines like the recorded body', () => {
    const typed = { ...draftOf(VIEW), body: 'a\nb\nc' };
    assert.equal(formOf(typed, VIEW).body, 'a\r\nb\r\nc');
    for (const body of ['a\nb', 'a\r\nb\nc', 'a', undefined])
      assert.equal(formOf(typed, { ...VIEW, body }).body, 'a\nb\nc', String(body));
    assert.equal(formOf({ ...typed, body: '' }, VIEW).body, '');
  });
});

describe('a request repeated until it succeeds', () => {
  it('is sent again after 2 s, then less and less often, down to every 30 s', () => {
    const waits = Array.from({ length: 9 }, (_, index) => nextTry(index + 1, false, 0));
    assert.deepEqual(waits.slice(0, 3), [2000, 3000, 4500]);
    assert.equal(waits.at(-1), 30_000);
  });

  it('checks every second whether a missing server listens again', () => {
    assert.deepEqual([nextTry(0, true, 0), nextTry(9, true, 0)], [1000, 1000]);
  });

  it('ends after 30 tries or 10 minutes', () => {
    assert.equal(nextTry(TRIES_MAX, false, 0), undefined);
    assert.equal(nextTry(0, true, UNTIL_MS), undefined);
    assert.notEqual(nextTry(TRIES_MAX - 1, false, 0), undefined);
  });

  it('succeeds with any 2xx', () => {
    assert.deepEqual([200, 299, 199, 300, undefined].map(isOk), [true, true, false, false, false]);
  });
});

describe('results of saved requests', () => {
  it('count the sent and the successful requests', () => {
    const statuses = [200, 204, 301, 404, 500, undefined];
    const results = statuses.map((status, index) => ({ id: index + 1, status }));
    assert.equal(sentWords(results), '6 requests were sent, and 2 got a 2xx response.');
    assert.equal(sentWords(results.slice(3, 4)), '1 request was sent, and 0 got a 2xx response.');
    assert.equal(progressWords(3, 6), '3 of 6 requests sent.');
    assert.deepEqual(results.map(isFine), [true, true, true, false, false, false]);
    assert.deepEqual(results.map(resultText), ['200', '204', '301', '404', '500', 'no response']);
  });
});
