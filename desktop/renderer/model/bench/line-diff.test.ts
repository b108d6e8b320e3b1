import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { lineDiff } from './line-diff.ts';

const MARKS = { same: ' ', gone: '-', new: '+' };

function shown(before: string, after: string): string {
  return lineDiff(before.split(''), after.split(''))
    .map(({ kind, text }) => MARKS[kind] + text)
    .join('');
}

describe('the difference of two texts', () => {
  it('is the fewest lines that went and came', () => {
    assert.equal(shown('abc', 'abc'), ' a b c');
    assert.equal(shown('abc', 'axc'), ' a-b+x c');
    assert.equal(shown('abcd', 'bd'), '-a b-c d');
    assert.equal(shown('', 'ab'), '+a+b');
    assert.equal(shown('aa', 'aaa').replaceAll(/[ a]/g, ''), '+');
  });

  it('is both texts again, whatever they are', () => {
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

  it('does not match what is too long to be matched soon', () => {
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
