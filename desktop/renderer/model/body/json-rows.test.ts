import assert from 'node:assert/strict';
import { type JsonDocument, readJson } from './json-document.ts';
import { copiedValue, firstUnfolded, jsonRows, revealed, shownSource, summaryOf } from './json-rows.ts';

function document(value: unknown): JsonDocument {
  const read = readJson(JSON.stringify(value), false);
  assert.ok(read);
  return read;
}

describe('the rows of a JSON tree', () => {
  it('are what is unfolded, in order, each with its place', () => {
    const small = document({ a: [1, 2], b: {} });
    assert.deepEqual(
      jsonRows(small, firstUnfolded(small)).map((row) => Object.values(row).join(' ')),
      ['0 false 1 1 1', '1 false 2 1 2', '2 false 3 1 2', '3 false 3 2 2', '4 false 2 2 2'],
    );
    assert.equal(jsonRows(small, new Map()).length, 1);
  });

  it('unfold level by level, and not too much at first', () => {
    const wide = document({ list: Array.from({ length: 50 }, (_, n) => n), last: 1 });
    assert.deepEqual([...firstUnfolded(wide).keys()], [0]);
    assert.deepEqual([...firstUnfolded(document([[[[1]]]])).keys()], [0, 1, 2, 3]);
  });

  it('show a hundred members, then say that there are more', () => {
    const long = document(Array.from({ length: 250 }, (_, n) => n));
    const rows = jsonRows(long, firstUnfolded(long));
    assert.equal(rows.length, 102);
    assert.deepEqual(rows.at(-1), { number: 0, isMore: true, level: 2, position: 101, siblings: 250 });
    assert.equal(jsonRows(long, new Map([[0, 300]])).length, 251);
  });

  it('unfold as far as a node needs', () => {
    const deep = document([Array.from({ length: 250 }, (_, n) => [n])]);
    const target = deep.nodes.findIndex((node) => deep.text.slice(node.start, node.end) === '177');
    const unfolded = revealed(deep, new Map([[0, 100]]), target);
    assert.deepEqual(unfolded.get(1), 200);
    assert.ok(jsonRows(deep, unfolded).some(({ number }) => number === target));
    assert.equal(revealed(deep, unfolded, target), unfolded, 'what shows already is not drawn again');
  });

  it('cope with a nesting of any depth', () => {
    const deep = readJson('['.repeat(200_000), true);
    assert.ok(deep);
    assert.equal(jsonRows(deep, revealed(deep, new Map(), 199_999)).length, 200_000);
    assert.ok(firstUnfolded(deep).size < 100);
  });

  it('show strings as they read, and what hides in them', () => {
    assert.equal(shownSource('"caf\\u00e9\\u202e\\n"'), '"café\\u{202e}\\n"');
    assert.equal(shownSource('12345678901234567890'), '12345678901234567890');
    assert.equal(shownSource('"a [b] \\u005c \\"c\\""'), String.raw`"a [b] \\ \"c\""`);
    assert.deepEqual(
      document([{}, [], { a: 1 }, [1, 2]])
        .nodes.map(summaryOf)
        .slice(1),
      ['{}', '[]', '{…} 1 member', '[]', '[…] 2 elements', '[]', '[]'],
    );
  });

  it('copy the characters of a string, and anything else as it was sent', () => {
    const read = readJson('["caf\\u00e9\\n", 1.0, { "a":1 } ]', false);
    assert.ok(read);
    assert.deepEqual(
      [1, 2, 3].map((number) => copiedValue(read, number)),
      ['café\n', '1.0', '{ "a":1 }'],
    );
  });
});
