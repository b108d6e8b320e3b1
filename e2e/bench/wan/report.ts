/** The results of `npm run bench:wan` as a page. */
import type { Machine } from '../machine.ts';
import { barChart, rounded, table } from '../report.ts';
import { median } from '../stats.ts';
import { PROFILES, TESTS, testsOf } from './options.ts';
import { REFERENCE, SYSTEMS } from './systems.ts';

/** The values of each round by `profile/measure/system`; `null` for one that failed. */
export type WanSamples = Record<string, (number | null)[]>;

/** What a run was like. */
export interface Run {
  readonly machine: Machine;
  readonly date: string;
  readonly rounds: number;
  /** highest load average of a minute, during the run */
  readonly highestLoad: number;
}

/**
 * The median of the rounds, in parentheses the median of its ratio to the reference in the same round, and how many
 * rounds failed. Empty if the measure was not taken.
 */
export function cell(values: readonly (number | null)[], reference?: readonly (number | null)[]): string {
  const good = values.filter((value) => value !== null);
  if (values.length === 0) return '';
  if (good.length === 0) return 'failed';
  const ratios = values.flatMap((value, round) => {
    const other = reference?.[round] ?? null;
    return value === null || other === null || other === 0 ? [] : [value / other];
  });
  const ratio = ratios.length === 0 ? '' : ` (${rounded(median(ratios))})`;
  const failed =
    good.length < values.length ? `, ${values.length - good.length} of ${values.length} failed` : '';
  return `${rounded(median(good))}${ratio}${failed}`;
}

/** A table for each profile that was measured, with a row for each measure. */
export function profileTables(samples: WanSamples): string {
  const systems = Object.keys(SYSTEMS);
  const tables = Object.entries(PROFILES).flatMap(([profile, { title }]) => {
    const rows = Object.values(TESTS)
      .flat()
      .map((measure) => {
        const rounds = (system: string) => samples[`${profile}/${measure}/${system}`] ?? [];
        // The reference is back within a round trip, so a ratio to it says nothing.
        const isRecovery = measure.startsWith('200 again');
        const reference = isRecovery ? [] : rounds(REFERENCE);
        const cells = systems.map((system) =>
          cell(rounds(system), system === REFERENCE ? undefined : reference),
        );
        return [measure, ...cells];
      })
      .filter((row) => row.slice(1).some((text) => text !== ''));
    return rows.length === 0 ? [] : [`### ${profile}\n\n${title}\n\n${table([['', ...systems], ...rows])}`];
  });
  return tables.join('\n\n');
}

const COLOURS = { culvert: '#1f6feb', 'culvert h1': '#79b8ff', ssh: '#2da44e', direct: '#8b949e' };

/** An SVG of the seconds that a page takes: a group of bars for each profile, first load and reload. */
export function wanPlot(samples: WanSamples): string {
  const profiles = Object.keys(PROFILES).filter((name) => testsOf({ tests: ['page'] }, name).length > 0);
  const groups = profiles.flatMap((profile) =>
    (TESTS['page'] ?? []).map((measure): [string, (number | undefined)[]] => [
      `${profile}: ${measure.replace(/ of (the page|300 modules)/, '')}`,
      Object.keys(COLOURS).map((system) => {
        const good = (samples[`${profile}/${measure}/${system}`] ?? []).filter((value) => value !== null);
        return good.length === 0 ? undefined : median(good);
      }),
    ]),
  );
  return barChart(COLOURS, groups);
}

/** The whole page. */
export function wanPage(samples: WanSamples, { machine, date, rounds, highestLoad }: Run): string {
  const systems = Object.entries(SYSTEMS).map(([name, { title }]) => `- **${name}**: ${title}`);
  const profiles = Object.entries(PROFILES).map(([name, { title }]) => `- **${name}**: ${title}`);
  const { cores, processor, memoryGiB, kernel, node, programs, commit, load } = machine;
  return `# Benchmarks over a wide area network

Round trips, rates and losses decide how fast a tunnel feels. \`npm run bench:wan\` measures them on one machine, with
emulated links ([method](../../../e2e/bench/README.md#over-a-wide-area-network)).

The systems:

${systems.join('\n')}

The links, with their round trips:

${profiles.join('\n')}

## Results

${date}, commit ${commit}: medians of ${rounds} interleaved rounds on ${cores} cores (${processor}), ${memoryGiB} GiB, ${kernel}, Node ${node}; ${programs.join(', ')}. The load average was ${load.toFixed(1)} before the run, and at most ${highestLoad.toFixed(1)} during it.

![Seconds until a page of 300 modules has loaded](wan.svg)

In parentheses: the ratio to ${REFERENCE} in the same round.

${profileTables(samples)}

[wan.json](wan.json) has the value of every round.
`;
}
