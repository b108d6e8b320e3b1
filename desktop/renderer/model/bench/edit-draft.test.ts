import assert from 'node:assert/strict';
import type { EditView } from '../../../shared/bench.ts';
import { changeHeader, draftOf, formOf, withHeader, withoutHeader } from './edit-draft.ts';

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
