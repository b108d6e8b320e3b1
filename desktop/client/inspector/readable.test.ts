import assert from 'node:assert/strict';
import { array, assert as check, dictionary, jsonValue, oneof, property, string } from 'fast-check';
import { byteSize, indentJson, isUnsent, laidOutInPieces, readableTarget, utf8Text } from './readable.ts';

describe('readableTarget', () => {
  const cases: [string, string][] = [
    ['/caf%C3%A9', '/café'],
    ['/%F0%9F%A6%86?q=%E9%B9%AD', '/🦆?q=鹭'],
    // Delimiters of an address stay encoded.
    ['/a%2Fb%3Fc%26d%25e', '/a%2Fb%3Fc%26d%25e'],
    ['/100%', '/100%'],
    ['/%ff%C3%A9', '/%ff%C3%A9'],
    ['/cafÃ©', '/café'],
    ['*', '*'],
  ];
  for (const [target, expected] of cases) {
    it(`shows ${target} as ${expected}`, () => assert.equal(readableTarget(target), expected));
  }
});

describe('utf8Text', () => {
  it('decodes UTF-8, and leaves other bytes unchanged', () => {
    assert.equal(utf8Text('Ã¼ber'), 'über');
    assert.equal(utf8Text('\xfcber'), '\xfcber');
    assert.equal(utf8Text('plain'), 'plain');
    assert.equal(utf8Text('鹭 Ã©'), '鹭 Ã©');
  });
});

describe('an imported request', () => {
  it('counts as unsent until it is sent from here, unless it came with a response', () => {
    const unsent = { isImported: true, status: undefined, durationMs: 0, isBroken: false };
    assert.equal(isUnsent(unsent), true);
    for (const change of [
      { isImported: false },
      { status: 200 },
      { durationMs: undefined },
      { isBroken: true, durationMs: 3 },
    ])
      assert.equal(isUnsent({ ...unsent, ...change }), false, JSON.stringify(change));
  });
});

describe('indentJson', () => {
  it('formats like JSON.stringify', () => {
    check(
      property(oneof(array(jsonValue()), dictionary(string(), jsonValue())), (value) => {
        const text = JSON.stringify(value);
        const expected = JSON.stringify(JSON.parse(text), undefined, 2);
        assert.equal(indentJson(text), expected);
        assert.equal(indentJson(expected), expected);
      }),
    );
  });

  it('keeps digits and repeated names', () => {
    assert.equal(
      indentJson('{"id":12345678901234567890,"a":1.0,"a":2}'),
      '{\n  "id": 12345678901234567890,\n  "a": 1.0,\n  "a": 2\n}',
    );
  });

  it('formats long texts in pieces', () => {
    const value = Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'cup' }));
    const pieces = laidOutInPieces(JSON.stringify(value));
    let count = 0;
    let piece = pieces.next();
    for (; piece.done !== true; piece = pieces.next()) count += 1;
    assert.ok(count >= 10, `${count} pieces`);
    assert.equal(piece.value, JSON.stringify(value, undefined, 2));
  });

  it('limits the output for deep nesting', () => {
    const laidOut = indentJson('['.repeat(10_000) + ']'.repeat(10_000));
    assert.ok((laidOut?.length ?? 0) < 1_500_000);
    assert.equal(indentJson('['.repeat(500_000) + ']'.repeat(500_000)), undefined);
  });

  it('leaves other text alone, and JSON that needs no formatting', () => {
    for (const text of ['', 'x', '3', '"{}"', '{"a":', '{a: 1}', '<p>{}</p>'])
      assert.equal(indentJson(text), undefined);
  });
});

describe('byteSize', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [65_536, '64 KiB'],
    [123_456, '121 KiB'],
    [10 ** 9, '954 MiB'],
    [10 ** 15, '909 TiB'],
  ];
  for (const [bytes, text] of cases)
    it(`writes ${bytes} as ${text}`, () => assert.equal(byteSize(bytes), text));
});
