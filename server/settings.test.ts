import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { ALL_SETTINGS } from './settings.ts';

const ROW = /^\| (`CULVERT_[^|]+?) +\| ([^|]+?) +\|/gm;

/**
 * The variables of a row. A later one may be short: `_HOST` replaces the last word of the first variable.
 */
function variablesOf(cell: string): string[] {
  const written = [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name);
  const [first = ''] = written;
  return written.map((name) => (name.startsWith('_') ? first.slice(0, first.lastIndexOf('_')) + name : name));
}

describe('the table of settings in README.md', () => {
  const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(ROW)].map(([, names = '', fallback = '']) => ({
    variables: variablesOf(names),
    fallback: fallback.replaceAll('`', '').replaceAll('; ', ', '),
  }));
  const fallbacks = new Map(ALL_SETTINGS.map(({ variable, fallback: shown }) => [variable, shown]));

  it('lists every setting exactly once', () => {
    const variables = rows.flatMap((row) => row.variables);
    assert.deepEqual(variables.toSorted(), [...fallbacks.keys()].toSorted());
  });

  it('shows their defaults', () => {
    for (const { variables, fallback } of rows) {
      const known = variables.map((variable) => fallbacks.get(variable));
      const [shown] = fallback.split(': ');
      assert.equal(shown, [...new Set(known)].join(', '), variables.join());
    }
  });
});
