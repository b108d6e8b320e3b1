import assert from 'node:assert/strict';
import { breaksOf, broken } from './breaks.ts';

function all(source: string): string[] {
  return breaksOf(source).map((each) => broken(source, each));
}

describe('breaksOf', () => {
  it('replaces conditions with true and with false', () => {
    assert.deepEqual(all('if (a) b;'), ['if (true) b;', 'if (false) b;', 'if (a) ;']);
    assert.deepEqual(all('x = a ? b : c;'), [';', 'x = true ? b : c;', 'x = false ? b : c;']);
  });

  it('shifts comparisons by one, and inverts other operators', () => {
    assert.deepEqual(all('const x = a < b;'), ['const x = a <= b;']);
    assert.deepEqual(all('const x = (a > "<") === b && !c;'), [
      'const x = (a >= "<") === b && !c;',
      'const x = (a > "<") !== b && !c;',
      'const x = (a > "<") === b || !c;',
      'const x = (a > "<") === b && c;',
    ]);
  });

  it('changes numbers and truth values, but no types', () => {
    assert.deepEqual(all('const x: 5 | true = f(5 as 5, true);'), [
      'const x: 5 | true = f(6 as 5, true);',
      'const x: 5 | true = f(5 as 5, false);',
    ]);
  });

  it('removes statements, and names their line', () => {
    assert.deepEqual(breaksOf('class A {\n  b() {\n    this.c();\n  }\n}'), [
      { line: 3, start: 22, end: 31, text: ';' },
    ]);
  });
});
