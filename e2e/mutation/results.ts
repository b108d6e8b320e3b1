import { tmpdir } from 'node:os';
import type { TreeState } from '../support/tree-state.ts';
import { type Mutation, type Part, PARTS } from './mutation.ts';
import type { Failure } from './test-run.ts';

/** What became of a break. */
export interface Outcome {
  readonly mutation: Mutation;
  /** empty for one that survived */
  readonly caughtBy: readonly Failure[];
}

const WHY_MAX_CHARS = 160;

const INTRODUCTION = `# Deliberate breaks

Written by \`npm run mutate\`. Each test passed on the tree without the break in the same run.
`;

/**
 * The text of `results.md`, a section for each part of the program.
 *
 * @param before the text so far: the sections of parts of which nothing was tried stay
 */
export function report(before: string, outcomes: readonly Outcome[], state: TreeState): string {
  const sections = PARTS.map((part) => {
    const tried = outcomes.filter(({ mutation }) => mutation.part === part);
    return tried.length === 0 ? sectionOf(before, part) : section(part, tried, state);
  });
  return [INTRODUCTION, ...sections.filter((text) => text !== '')].join('\n');
}

function section(part: Part, outcomes: readonly Outcome[], { date, commit }: TreeState): string {
  const caught = outcomes.filter(({ caughtBy }) => caughtBy.length > 0).length;
  const rows = outcomes.map(
    ({ mutation: { notice, file }, caughtBy }) =>
      `| ${cell(notice)} | \`${file}\` | ${caughtBy.map(failureCell).join('<br>') || '**nothing**'} |`,
  );
  return `${heading(part)}
${caught} of ${outcomes.length} caught, on ${date} at ${commit}.

| what a person would notice | broken file | caught by, with what it said |
| --- | --- | --- |
${rows.join('\n')}
`;
}

/** Empty where there is none. */
function sectionOf(results: string, part: Part): string {
  const begin = results.indexOf(heading(part));
  if (begin === -1) return '';
  const end = results.indexOf('\n## ', begin);
  return `${results.slice(begin, end === -1 ? undefined : end).trimEnd()}\n`;
}

function heading(part: Part): string {
  return `## ${part}\n`;
}

function failureCell({ title, why: whole }: Failure): string {
  const why = whole.replaceAll(tmpdir(), '…');
  const short = why.length > WHY_MAX_CHARS ? `${why.slice(0, WHY_MAX_CHARS)}…` : why;
  return `${cell(title)}: \`${cell(short.replaceAll('`', "'"))}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/[\r\n]+/g, ' ');
}
