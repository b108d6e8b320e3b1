import assert from 'node:assert/strict';
import { BLOCK_CHARACTERS, textBlocks } from './text-blocks.ts';

describe('the blocks of a text', () => {
  it('are one of a short text, and none of an empty one', () => {
    assert.deepEqual(textBlocks('abc\n\nb'), [{ pieces: ['abc\n\nb'], lines: 3, columns: 4 }]);
    assert.deepEqual(textBlocks(''), []);
  });

  it('are of whole lines, as many as go into one', () => {
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

  it('are of one line where it is longer, in pieces that split no character', () => {
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

  it('are all of the text', () => {
    for (const text of ['\n', '\n\n', 'a\n', 'z'.repeat(9000), 'z\n'.repeat(9000)])
      assert.equal(joined(text), text);
  });
});

function joined(text: string): string {
  return textBlocks(text)
    .flatMap(({ pieces }) => pieces)
    .join('');
}
