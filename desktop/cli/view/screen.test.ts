import assert from 'node:assert/strict';
import { LEAVE, Screen } from './screen.ts';
import { span } from './text.ts';

const ESC = '\u{1B}';
const text = (...lines: string[]) => lines.map((line) => [span(line)]);

function setUp() {
  const written: string[] = [];
  const stream = { columns: 20, rows: 5, writableLength: 0, write: (part: string) => written.push(part) };
  const screen = new Screen(stream, true);
  screen.open();
  /** What was written since the last call, with ESC as ^. */
  const taken = (): string => written.splice(0).join('').replaceAll(ESC, '^');
  taken();
  return { screen, stream, taken };
}

describe('Screen', () => {
  it('writes what has changed and no more', () => {
    const { screen, taken } = setUp();
    screen.draw(text('one', 'two', 'three'));
    assert.equal(taken(), '^[2J^[1;1H^[Kone^[2;1H^[Ktwo^[3;1H^[Kthree');
    screen.draw(text('one', '2', 'three'));
    assert.equal(taken(), '^[2;1H^[K2');
    screen.draw(text('one', '2', 'three'));
    assert.equal(taken(), '');
    screen.draw(text('one'));
    assert.equal(taken(), '^[2;1H^[J');
  });

  it('writes everything again for a window of another size', () => {
    const { screen, stream, taken } = setUp();
    screen.draw(text('one', 'a long second line'));
    taken();
    stream.columns = 6;
    screen.forget();
    screen.draw(text('one', 'a long second line'));
    assert.equal(taken(), '^[2J^[1;1H^[Kone^[2;1H^[Ka lon…');
  });

  it('writes nothing to a terminal that is stopped, and what is missing once it continues', () => {
    const { screen, stream, taken } = setUp();
    stream.writableLength = 1;
    screen.draw(text('one'));
    screen.draw(text('two'));
    assert.equal(taken(), '');
    stream.writableLength = 0;
    screen.draw(text('two'));
    assert.equal(taken(), '^[2J^[1;1H^[Ktwo');
  });

  it('leaves the terminal as it was, once', () => {
    const { screen, taken } = setUp();
    screen.close();
    screen.close();
    assert.equal(taken(), LEAVE.replaceAll(ESC, '^'));
    screen.draw(text('late'));
    assert.equal(taken(), '');
  });

  it('assumes 80 by 24 for a terminal without a size', () => {
    const { screen, stream } = setUp();
    stream.columns = 0;
    stream.rows = 0;
    assert.deepEqual(screen.size, { columns: 80, rows: 24 });
  });
});
