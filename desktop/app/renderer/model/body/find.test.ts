import assert from 'node:assert/strict';
import { BLOCK_CHARACTERS, findInJson, findInText, foundText, MOST_FOUND, textBlocks } from './find.ts';
import { readJson } from './json-document.ts';

describe('find in a body', () => {
  it('finds a literal text in any case', () => {
    assert.deepEqual(findInText('Mug mug a.b aXb', 'MUG').at, [0, 4]);
    assert.deepEqual(findInText('a.b aXb', 'a.b').at, [0]);
    const special = '\\^$.*+?()[]{}|/-';
    assert.deepEqual(findInText(`x${special}`, special).at, [1]);
    assert.deepEqual(findInText('İstanbul İzmir', 'z').at, [10]);
    assert.deepEqual(findInText('aaaa', 'aa').at, [0, 2]);
    assert.deepEqual(findInText('a', '').at, []);
  });

  it('stops at a limit, and reports that', () => {
    const found = findInText('a'.repeat(MOST_FOUND + 1), 'a');
    assert.deepEqual([found.at.length, found.isCut], [MOST_FOUND, true]);
    assert.equal(foundText(found, 1), '2 of more than 2,000');
    assert.equal(findInText('a'.repeat(MOST_FOUND), 'a').isCut, false);
    assert.equal(foundText({ at: [3, 9], isCut: false }, 0), '1 of 2');
    assert.equal(foundText({ at: [], isCut: false }, 0), 'No matches');
  });

  it('finds names and values of JSON as they are shown', () => {
    const document = readJson('{"caf\\u00e9":1,"a":["Café",12345678901234567890,{"b":true}]}', false);
    assert.ok(document);
    assert.deepEqual(findInJson(document, 'café').at, [1, 3]);
    assert.deepEqual(findInJson(document, '567890').at, [4]);
    assert.deepEqual(findInJson(document, 'true').at, [6]);
    assert.deepEqual(findInJson(document, '').at, []);
  });
});

describe('the blocks of a text', () => {
  it('are one for a short text, and none for an empty one', () => {
    assert.deepEqual(textBlocks('abc\n\nb'), [{ pieces: ['abc\n\nb'], lines: 3, columns: 4 }]);
    assert.deepEqual(textBlocks(''), []);
  });

  it('consist of whole lines, as many as fit', () => {
    const line = `${'x'.repeat(999)}\n`;
    const blocks = textBlocks(line.repeat(9));
    assert.deepEqual(
      blocks.map(({ pieces, lines }) => [pieces.length, pieces[0]?.length, lines]),
      [
        [1, 4000, 4],
        [1, 4000, 4],
        [1, 1000, 1],
      ],
    );
  });

  it('split a long line into pieces, without splitting a character', () => {
    const long = `${'x'.repeat(BLOCK_CHARACTERS - 1)}😀${'y'.repeat(BLOCK_CHARACTERS)}`;
    const blocks = textBlocks(`a\n${long}\nb\n`);
    assert.deepEqual(
      blocks.map(({ pieces, lines }) => [pieces.length, lines]),
      [
        [1, 1],
        [3, 1],
        [1, 1],
      ],
    );
    assert.ok(blocks[1]?.pieces[1]?.startsWith('😀'));
  });

  it('contain all of the text', () => {
    for (const text of ['\n', '\n\n', 'a\n', 'z'.repeat(9000), 'z\n'.repeat(9000)])
      assert.equal(joined(text), text);
  });
});

function joined(text: string): string {
  return textBlocks(text)
    .flatMap(({ pieces }) => pieces)
    .join('');
}
