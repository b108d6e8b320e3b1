import assert from 'node:assert/strict';
import { type JsonDocument, type JsonNode, readJson } from './json-document.ts';
import {
  copiedValue,
  firstUnfolded,
  jsonPath,
  jsonRows,
  revealed,
  shownSource,
  summaryOf,
  treeMove,
  type Unfolded,
} from './json-rows.ts';

function jsonRowsDocument(value: unknown): JsonDocument {
  const read = readJson(JSON.stringify(value), false);
  assert.ok(read);
  return read;
}

describe('the rows of a JSON tree', () => {
  it('are the visible nodes in order, each with its position', () => {
    const small = jsonRowsDocument({ a: [1, 2], b: {} });
    assert.deepEqual(
      jsonRows(small, firstUnfolded(small)).map((row) => Object.values(row).join(' ')),
      ['0 false 1 1 1', '1 false 2 1 2', '2 false 3 1 2', '3 false 3 2 2', '4 false 2 2 2'],
    );
    assert.equal(jsonRows(small, new Map()).length, 1);
  });

  it('unfold level by level, with a limit at first', () => {
    const wide = jsonRowsDocument({ list: Array.from({ length: 50 }, (_, n) => n), last: 1 });
    assert.deepEqual([...firstUnfolded(wide).keys()], [0]);
    assert.deepEqual([...firstUnfolded(jsonRowsDocument([[[[1]]]])).keys()], [0, 1, 2, 3]);
  });

  it('show a hundred members, then a row for the rest', () => {
    const long = jsonRowsDocument(Array.from({ length: 250 }, (_, n) => n));
    const rows = jsonRows(long, firstUnfolded(long));
    assert.equal(rows.length, 102);
    assert.deepEqual(rows.at(-1), { number: 0, isMore: true, level: 2, position: 101, siblings: 250 });
    assert.equal(jsonRows(long, new Map([[0, 300]])).length, 251);
  });

  it('unfold as far as a node needs', () => {
    const deep = jsonRowsDocument([Array.from({ length: 250 }, (_, n) => [n])]);
    const target = deep.nodes.findIndex((node) => deep.text.slice(node.start, node.end) === '177');
    const unfolded = revealed(deep, new Map([[0, 100]]), target);
    assert.deepEqual(unfolded.get(1), 200);
    assert.ok(jsonRows(deep, unfolded).some(({ number }) => number === target));
    assert.equal(revealed(deep, unfolded, target), unfolded, 'what shows already is not drawn again');
  });

  it('handle any depth', () => {
    const deep = readJson('['.repeat(200_000), true);
    assert.ok(deep);
    assert.equal(jsonRows(deep, revealed(deep, new Map(), 199_999)).length, 200_000);
    assert.ok(firstUnfolded(deep).size < 100);
  });

  it('show decoded strings, with hidden characters made visible', () => {
    assert.equal(shownSource('"caf\\u00e9\\u202e\\n"'), '"café\\u{202e}\\n"');
    assert.equal(shownSource('12345678901234567890'), '12345678901234567890');
    assert.equal(shownSource('"a [b] \\u005c \\"c\\""'), String.raw`"a [b] \\ \"c\""`);
    assert.deepEqual(
      jsonRowsDocument([{}, [], { a: 1 }, [1, 2]])
        .nodes.map(summaryOf)
        .slice(1),
      ['{}', '[]', '{…} 1 member', '[]', '[…] 2 elements', '[]', '[]'],
    );
    const cut = readJson('[{"a":[1]},{"b":2,', true);
    assert.deepEqual(
      [0, 1, 4].map((number) => summaryOf(cut?.nodes[number] as JsonNode)),
      ['[…] first 2 elements', '{…} 1 member', '{…} first member'],
    );
  });

  it('copy the decoded characters of a string, and other values as sent', () => {
    const read = readJson('["caf\\u00e9\\n", 1.0, { "a":1 } ]', false);
    assert.ok(read);
    assert.deepEqual(
      [1, 2, 3].map((number) => copiedValue(read, number)),
      ['café\n', '1.0', '{ "a":1 }'],
    );
  });
});

function paths(text: string): string[] {
  const document = readJson(text, false);
  assert.ok(document);
  return document.nodes.map((_, number) => jsonPath(document, number));
}

describe('jsonPath', () => {
  it('returns the path of a value', () => {
    assert.deepEqual(paths('{"a":[{"b":1},2],"é_1":[]}'), [
      '$',
      '$.a',
      '$.a[0]',
      '$.a[0].b',
      '$.a[1]',
      '$.é_1',
    ]);
  });

  it('quotes special names, with hidden characters made visible', () => {
    assert.deepEqual(
      paths(`{"b c":0,"1":0,"":0,"it's":0,"\\n\\\\":0,"\\u0000\u202e":0,"\\ud800":0,"x-y":0}`).slice(1),
      [
        "$['b c']",
        "$['1']",
        "$['']",
        "$['it\\'s']",
        "$['\\n\\\\']",
        "$['\\u0000\\u202e']",
        "$['\\ud800']",
        "$['x-y']",
      ],
    );
  });
});

const TEXT = '{"a":[1,2],"b":{"c":3},"bd":4}';
// Node numbers: 0 {, 1 a, 2 1, 3 2, 4 b, 5 c, 6 bd
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
  it('move up and down through the visible rows, and to the ends', () => {
    assert.deepEqual([move('ArrowDown', 0), move('ArrowDown', 3), move('ArrowDown', 6)], [1, 4, 6]);
    assert.deepEqual([move('ArrowUp', 4), move('ArrowUp', 0)], [3, 0]);
    assert.deepEqual([move('Home', 4), move('End', 1)], [0, 6]);
  });

  it('unfold and then enter to the right; fold and then leave to the left', () => {
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

  it('move to the next name by its first letter, or to the next element by its digit, and wrap around', () => {
    assert.deepEqual([move('B', 0), move('b', 4), move('b', 6), move('a', 1)], [4, 6, 4, 1]);
    assert.deepEqual([move('1', 0), move('0', 3)], [3, 2]);
    assert.equal(move('c', 0), undefined, 'it is not unfolded');
  });

  it('ignore other keys', () => {
    for (const key of ['Tab', 'Escape', 'j', '"', 'PageDown']) assert.equal(move(key, 1), undefined);
  });
});
