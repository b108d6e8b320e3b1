/** The results as tables of text. */
import { type Figure, FIGURES, isReached } from './figures.ts';
import type { Machine } from './machine.ts';
import type { Samples } from './stats.ts';

/** Three significant digits, but never fewer than the integer part has. */
export function rounded(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The figures to reach, as Markdown; those without a measure are left out. */
export function figuresTable(samples: Samples, figures: readonly Figure[] = FIGURES): string {
  const rows = figures.flatMap((figure) => {
    const value = figure.value(samples);
    if (value === undefined) return [];
    const goal = `${figure.atMost ? 'at most' : 'at least'} ${figure.goal}`;
    return [[figure.what, figure.against, goal, rounded(value), isReached(figure, value) ? 'yes' : 'no']];
  });
  return table([['figure', 'against', 'goal', 'measured', 'reached'], ...rows]);
}

/** One Markdown table for each case: peers as rows, medians of their measures as columns. */
export function casesTables(samples: Samples): string {
  const cases = new Map<string, Map<string, Map<string, number>>>();
  for (const [name] of samples.entries()) {
    const [load = '', peer = '', ...measure] = name.split('/');
    const peers = cases.get(load) ?? new Map<string, Map<string, number>>();
    const measures = peers.get(peer) ?? new Map<string, number>();
    cases.set(load, peers.set(peer, measures.set(measure.join('/'), samples.median(name) ?? NaN)));
  }
  return [...cases].map(([load, peers]) => `### ${load}\n\n${caseTable(peers)}`).join('\n\n');
}

function caseTable(peers: ReadonlyMap<string, ReadonlyMap<string, number>>): string {
  const columns = [...new Set([...peers.values()].flatMap((measures) => [...measures.keys()]))];
  const rows = [...peers].map(([peer, measures]) => [
    peer,
    ...columns.map((column) => {
      const value = measures.get(column);
      return value === undefined ? '' : rounded(value);
    }),
  ]);
  return table([['', ...columns], ...rows]);
}

export function machineText(machine: Machine, rounds: number, seconds: number): string {
  const { cores, processor, memoryGiB, kernel, node, programs, commit, load } = machine;
  return (
    `${cores} cores (${processor}), ${memoryGiB} GiB, ${kernel}, Node ${node}; ${programs.join(', ')}. ` +
    `Commit ${commit}. Load generator, local service and both ends share these cores. ` +
    `Medians of ${rounds} interleaved rounds, ${seconds} s each for requests; load average before: ${load.toFixed(1)}.`
  );
}

/** A Markdown table; the first row is its head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}
