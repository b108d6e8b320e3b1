import assert from 'node:assert/strict';
import { readJson } from './json-document.ts';
import { jsonRows, type Unfolded } from './json-rows.ts';
import { treeMove } from './tree-keys.ts';

const TEXT = '{"a":[1,2],"b":{"c":3},"bd":4}';
// 0 {, 1 a, 2 1, 3 2, 4 b, 5 c, 6 bd
const OPEN: Unfolded = new Map([
  [0, 100],
  [1, 100],
]);

function move(key: string, number: number, unfolded = OPEN): unknown {
  const document = readJson(TEXT, false);
  assert.ok(document);
  const rows = jsonRows(document, unfolded);
  const at = rows.findIndex((row) => row.number === number);
  const found = treeMove(key, document, rows, at, unfolded);
  return found?.kind === 'go' ? rows[found.to]?.number : found;
}

describe('the keys of a tree', () => {
  it('go up and down through what is seen, and to its ends', () => {
    assert.deepEqual([move('ArrowDown', 0), move('ArrowDown', 3), move('ArrowDown', 6)], [1, 4, 6]);
    assert.deepEqual([move('ArrowUp', 4), move('ArrowUp', 0)], [3, 0]);
    assert.deepEqual([move('Home', 4), move('End', 1)], [0, 6]);
  });

  it('unfold to the right and then go in; fold to the left and then go out', () => {
    assert.deepEqual(move('ArrowRight', 4), { kind: 'act' });
    assert.deepEqual([move('ArrowRight', 1), move('ArrowRight', 6)], [2, 6]);
    assert.deepEqual(move('ArrowLeft', 1), { kind: 'act' });
    assert.deepEqual(
      [move('ArrowLeft', 3), move('ArrowLeft', 4), move('ArrowLeft', 0, new Map())],
      [1, 0, 0],
    );
  });

  it('fold and unfold with Enter and the space bar, and siblings with the asterisk', () => {
    for (const key of ['Enter', ' ']) assert.deepEqual(move(key, 4), { kind: 'act' });
    assert.equal(move('Enter', 6), 6);
    assert.deepEqual(move('*', 6), { kind: 'unfold', more: new Map([[4, 100]]) });
  });

  it('go to the next name that begins with a letter, or to the next element by its digit, and begin again', () => {
    assert.deepEqual([move('B', 0), move('b', 4), move('b', 6), move('a', 1)], [4, 6, 4, 1]);
    assert.deepEqual([move('1', 0), move('0', 3)], [3, 2]);
    assert.equal(move('c', 0), undefined, 'it is not unfolded');
  });

  it('leave other keys alone', () => {
    for (const key of ['Tab', 'Escape', 'j', '"', 'PageDown']) assert.equal(move(key, 1), undefined);
  });
});
