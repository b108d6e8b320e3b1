import { tmpdir } from 'node:os';
import type { TreeState } from '../support/tree-state.ts';
import type { Mutation } from './mutation.ts';
import type { Failure } from './test-run.ts';

/** What became of a break. */
export interface Outcome {
  readonly mutation: Mutation;
  /** empty for one that survived */
  readonly caughtBy: readonly Failure[];
}

const WHY_MAX_CHARS = 160;

/** The table of `results.md`. */
export function report(outcomes: readonly Outcome[], { date, commit }: TreeState): string {
  const caught = outcomes.filter(({ caughtBy }) => caughtBy.length > 0).length;
  const rows = outcomes.map(
    ({ mutation: { part, notice, file }, caughtBy }) =>
      `| ${part} | ${cell(notice)} | \`${file}\` | ${caughtBy.map(failureCell).join('<br>') || '**nothing**'} |`,
  );
  return `# Deliberate breaks

Written by \`npm run mutate\`: ${caught} of ${outcomes.length} breaks caught, on ${date} at ${commit}. Each test passed on
the tree without the break in the same run.

| part | what a person would notice | broken file | caught by, with what it said |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function failureCell({ title, why: whole }: Failure): string {
  const why = whole.replaceAll(tmpdir(), '…');
  const short = why.length > WHY_MAX_CHARS ? `${why.slice(0, WHY_MAX_CHARS)}…` : why;
  return `${cell(title)}: \`${cell(short.replaceAll('`', "'"))}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
