import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { SETTING_NAMES, SETTINGS, variableOf } from './settings.ts';

const ROW = /^\| (`CULVERT_[^|]+?) +\| ([^|]+?) +\|/gm;

/**
 * The variables of a row; after the first one, `_HOST` is short for a name that ends with it and begins like the one before.
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
  const names = new Map(SETTING_NAMES.map((name) => [variableOf(name), name]));

  it('has every setting once, and nothing else', () => {
    const variables = rows.flatMap((row) => row.variables);
    assert.deepEqual(variables.toSorted(), [...names.keys()].toSorted());
  });

  it('has their defaults', () => {
    for (const { variables, fallback } of rows) {
      const known = variables.map((variable) => SETTINGS[names.get(variable) ?? 'host'].fallback);
      const [shown] = fallback.split(': ');
      assert.equal(shown, [...new Set(known)].join(', '), variables.join());
    }
  });
});
