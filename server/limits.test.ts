import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const ROOT = new URL('../', import.meta.url);
const SOURCES = [
  'server/limits.ts',
  'desktop/engine/limits.ts',
  'desktop/config/limits.ts',
  'desktop/cli/limits.ts',
  'desktop/doctor/limits.ts',
  'desktop/main/limits.ts',
  'desktop/share/limits.ts',
];
const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

interface Row {
  readonly limit: string;
  readonly value: string;
  readonly file: string;
  readonly title: string;
}

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** The rows of all tables of docs/limits.md. */
function readRows(): Row[] {
  return [...read('docs/limits.md').matchAll(/^\| (.+?) +\| (.+?) +\| `(\S+)`: (.+?) +\|$/gm)].map(
    ([, limit = '', value = '', file = '', title = '']) => ({ limit, value, file, title }),
  );
}

/** A value of the page in the unit of the constant: bytes, ms, or what its name says. */
function valueOf({ limit, value }: Row): number {
  const [, number = '', unit = ''] = /^([\d,.]+) ?(\w*)$/.exec(value) ?? [];
  const base = Number(number.replaceAll(',', '')) * (UNITS[unit] ?? Number.NaN);
  return limit.includes('_SECONDS') ? base / 1000 : base;
}

describe('docs/limits.md', () => {
  const rows = readRows();

  for (const source of SOURCES) {
    it(`has a row with name and value for each limit of ${source}; add one, with the test that reaches it`, async () => {
      const limits = (await import(new URL(source, ROOT).href)) as Record<string, number>;
      const missing = Object.entries(limits).filter(
        ([name, value]) => !rows.some((row) => row.limit === `\`${name}\`` && valueOf(row) === value),
      );
      assert.deepEqual(missing, []);
    });
  }

  it('names tests that exist', () => {
    for (const { limit, file, title } of rows) {
      assert.ok(read(file).includes(title), `${limit}: no "${title}" in ${file}`);
    }
  });

  it('names no limit that is gone', () => {
    const text = SOURCES.map(read).join('\n');
    for (const { limit } of rows) {
      const name = /^`(\w+)`$/.exec(limit)?.[1];
      assert.ok(name === undefined || text.includes(`export const ${name} =`), `${limit} is not a limit`);
    }
  });
});
