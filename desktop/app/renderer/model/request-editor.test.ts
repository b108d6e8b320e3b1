import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { MessageView } from '../../../client/inspector/records.ts';
import type { EditView } from '../../ipc/request-views.ts';
import {
  answerDiff,
  draftOf,
  type EditDraft,
  editOf,
  headerProblem,
  lineDiff,
  shownBody,
} from './request-editor.ts';

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
    assert.deepEqual(editOf(draftOf(VIEW), VIEW), {
      edit: { method: 'POST', target: '/a', fields: VIEW.fields, body: undefined },
      signs: false,
    });
  });

  it('is sent as UTF-8', () => {
    const draft = { ...draftOf(VIEW), body: 'ä', headers: 'X-A: ü' };
    const { fields, body = [] } = editOf(draft, VIEW).edit;
    assert.deepEqual(
      [fields[0], [...body]],
      [
        ['X-A', '\xc3\xbc'],
        [0xc3, 0xa4],
      ],
    );
  });

  it('is signed if possible, unless the user disables that', () => {
    const signed = { ...VIEW, signer: 'Stripe' };
    const draft = draftOf(signed);
    assert.equal(editOf(draft, signed).signs, true);
    assert.equal(editOf({ ...draft, signs: false }, signed).signs, false);
    assert.equal(editOf(draft, VIEW).signs, false);
  });

  it('has its headers as lines, whose problems name them', () => {
    const draft = { ...draftOf(VIEW), headers: '\nX-B:2\n X-C :  a: b \n\nX-D' };
    assert.equal(draftOf(VIEW).headers, 'X-A: 1\nX-B: 2');
    assert.deepEqual(editOf(draft, VIEW).edit.fields, [
      ['X-B', '2'],
      ['X-C', 'a: b'],
      ['X-D', ''],
    ]);
    const problems = [
      { part: 'fields.2.value', text: 'Bad.' },
      { part: 'fields', text: 'Too long.' },
    ];
    assert.equal(headerProblem(draft, problems), 'Line 5: Bad. Too long.');
    assert.equal(headerProblem(draft, [{ part: 'body', text: 'Bad.' }]), undefined);
  });

  it('shows JSON laid out, and sends it as recorded until it is changed', () => {
    const view = { ...VIEW, body: '{"id":12345678901234567890}' };
    assert.equal(shownBody(view), '{\n  "id": 12345678901234567890\n}');
    assert.equal(shownBody({ ...view, body: '{"id":' }), '{"id":');
    assert.equal(editOf(draftOf(view), view).edit.body, undefined);
  });

  it('ends its lines like the recorded body', () => {
    const typed = { ...draftOf(VIEW), body: 'a\nb\nc' };
    const sent = (draft: EditDraft, body = VIEW.body): string =>
      new TextDecoder().decode(editOf(draft, { ...VIEW, body }).edit.body);
    assert.equal(sent(typed), 'a\r\nb\r\nc');
    for (const body of ['a\nb', 'a\r\nb\nc', 'a']) assert.equal(sent(typed, body), 'a\nb\nc', body);
    assert.equal(sent({ ...typed, body: '' }), '');
    assert.equal(editOf({ ...typed, body: '' }, { ...VIEW, body: undefined }).edit.body?.length, 0);
  });
});

function answer(status: string, fields: MessageView['fields'], body: string | Uint8Array): MessageView {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  return { startLine: `HTTP/1.1 ${status}`, fields, body: bytes, isTruncated: false };
}

const LINES = Array.from({ length: 20 }, (_, index) => String(index));

function many(mark: string): string {
  return Array.from({ length: 3000 }, (_, index) => mark + index).join('\n');
}

describe('the comparison of two responses', () => {
  it('covers the status, headers in any order, and lines of the body', () => {
    const before = answer(
      '500 No',
      [
        ['B', '2'],
        ['A', '1'],
        ['Date', 'now'],
      ],
      '{"a":1,"b":2}',
    );
    const after = answer(
      '200 OK',
      [
        ['A', '1'],
        ['B', '3'],
        ['Date', 'then'],
      ],
      '{"a":1,"b":3}',
    );
    const { status, headers, body } = answerDiff(before, after);
    assert.deepEqual(status, { before: '500 No', after: '200 OK' });
    assert.deepEqual(headers, [
      { before: 'A: 1', after: 'A: 1' },
      { before: 'B: 2', after: 'B: 3' },
    ]);
    assert.deepEqual(body[2], { before: '  "b": 2', after: '  "b": 3' });
  });

  it('hides long runs of equal lines', () => {
    const after = LINES.map((line) => (line === '10' ? 'x' : line)).join('\n');
    const { body } = answerDiff(answer('200 OK', [], LINES.join('\n')), answer('200 OK', [], after));
    assert.deepEqual([body[0], body.length, body.at(-1)], [7, 9, 6]);
    assert.deepEqual(answerDiff(answer('200 OK', [], 'a'), answer('200 OK', [], 'a')).body, [1]);
  });

  it('has at most a thousand rows', () => {
    const { body } = answerDiff(answer('200 OK', [], many('a')), answer('200 OK', [], many('b')));
    assert.deepEqual([body.length, body.at(-1)], [1001, 2000]);
  });

  it('distinguishes binary bodies, and missing ones', () => {
    const [one, other] = [new Uint8Array([255, 1]), new Uint8Array([255, 2])];
    const { body } = answerDiff(answer('200 OK', [], one), answer('200 OK', [], other));
    const [row] = body;
    assert.ok(typeof row === 'object' && row.before !== row.after);
    assert.match(row.before ?? '', /^2 B of binary data/);
    const { status } = answerDiff(undefined, answer('200 OK', [], ''));
    assert.deepEqual(status, { before: undefined, after: '200 OK' });
  });

  it('shows characters that hide or reverse text', () => {
    const { headers, body } = answerDiff(undefined, answer('200 OK', [['X', 'a\u{9b}']], 'b\u{202e}'));
    assert.deepEqual(headers, [{ before: undefined, after: String.raw`X: a\x9b` }]);
    assert.deepEqual(body, [{ before: undefined, after: String.raw`b\u{202e}` }]);
  });
});

const MARKS = { same: ' ', gone: '-', new: '+' };

function shown(before: string, after: string): string {
  return lineDiff(before.split(''), after.split(''))
    .map(({ kind, text }) => MARKS[kind] + text)
    .join('');
}

describe('the difference of two texts', () => {
  it('has the fewest removed and added lines', () => {
    assert.equal(shown('abc', 'abc'), ' a b c');
    assert.equal(shown('abc', 'axc'), ' a-b+x c');
    assert.equal(shown('abcd', 'bd'), '-a b-c d');
    assert.equal(shown('', 'ab'), '+a+b');
    assert.equal(shown('aa', 'aaa').replaceAll(/[ a]/g, ''), '+');
  });

  it('reconstructs both texts', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after);
        const without = (kind: string): string[] =>
          lines.filter((line) => line.kind !== kind).map((line) => line.text);
        assert.deepEqual(without('new'), before);
        assert.deepEqual(without('gone'), after);
        const common = lines.filter(({ kind }) => kind === 'same').length;
        assert.equal(common, longest(before, after));
      }),
    );
  });

  it('does not match texts that would take too long', () => {
    const before = Array.from({ length: 2000 }, (_, index) => `a${index}`);
    const after = [...before].toReversed();
    const lines = lineDiff(['x', ...before], ['x', ...after]);
    assert.deepEqual([lines.length, lines[0]?.kind, lines[1]?.kind], [4001, 'same', 'gone']);
  });
});

/** Length of the longest common subsequence, by definition. */
function longest(before: readonly string[], after: readonly string[]): number {
  const [head, ...rest] = before;
  if (head === undefined || after.length === 0) return 0;
  const at = after.indexOf(head);
  const without = longest(rest, after);
  return at === -1 ? without : Math.max(without, 1 + longest(rest, after.slice(at + 1)));
}
