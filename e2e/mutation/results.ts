import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import type { Mutation } from './mutation.ts';
import type { Failure } from './test-run.ts';
import { ROOT } from './workspace.ts';

/** What became of a break. */
export interface Outcome {
  readonly mutation: Mutation;
  /** empty for one that survived */
  readonly caughtBy: readonly Failure[];
}

const WHY_MAX_CHARS = 160;

/** `date` and the commit that the tree is at, with a word where it has changes. */
export function treeState(now: Date): { readonly date: string; readonly commit: string } {
  const isChanged = git('status', '--porcelain') !== '';
  const commit = git('rev-parse', '--short', 'HEAD');
  return { date: now.toISOString().slice(0, 10), commit: isChanged ? `${commit} with changes` : commit };
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}

/** The table of `results.md`. */
export function report(outcomes: readonly Outcome[], { date, commit }: ReturnType<typeof treeState>): string {
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
