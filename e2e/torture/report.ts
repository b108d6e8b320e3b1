/** docs/reliability.md, made from docs/reliability.json. */
import { figuresOf, numberText, wrongs, type FigureRecord, type RowRecord } from './records.ts';
import type { Outcome } from './run-row.ts';

const PREFACE = `# Reliability

What strangers, networks and machines may do to Culvert was done to it, and counted. Each row has its threshold in the source
(\`e2e/torture/rows\`), so from before the run. The relay and \`culvert\` are the built programs; proxies run with the files of
\`server/deploy\`. Everything is on one machine, and its load shares the cores with what is measured, so times are compared
only within one run.

\`npm run torture\` writes this page, and with \`--rows NAME,NAME\` only those rows of it; the rest stays as it was measured
before. \`npm run torture -- --short\` does less of each, leaves out rows that compare times or repeat at length what suites cover, writes
nothing, and is a part of \`npm run test:all\`. It needs Debian's
packages and root: see \`e2e/support/setup.sh\`.
`;

/** The whole page, as Markdown. */
export function page(records: readonly RowRecord[]): string {
  const passed = records.filter((record) => record.passed).length;
  const lines = records.flatMap((record) => record.figures.map((figure) => figureLine(record.name, figure)));
  return `${PREFACE}
${passed} of ${records.length} rows passed.

| row | figure | threshold | value | |
| --- | --- | --- | --- | --- |
${lines.join('\n')}

${records.map(section).join('\n')}`;
}

function section(record: RowRecord): string {
  const { name, title, done, faults, seed, seconds, date, commit, node, machine } = record;
  const found =
    faults.length === 0 ? '' : `\nWhat went wrong first:\n\n${faults.map(codeBlock).join('\n')}\n`;
  return `## ${name}

${title}.

${done}. ${record.passed ? 'Passed' : '**Failed**'} on ${date} at ${commit}, Node ${node}, in ${seconds} s, on ${machine}.
${found}
\`\`\`sh
${commandOf(name, seed)}
\`\`\`
`;
}

/** The command that repeats a row. */
export function commandOf(name: string, seed: number): string {
  return `npm run torture -- --rows ${name} --seed ${seed}`;
}

function codeBlock(text: string): string {
  return `\`\`\`\`text\n${text}\n\`\`\`\`\n`;
}

function figureLine(name: string, figure: FigureRecord): string {
  const cells = [`[${name}](#${name})`, figure.meaning, figure.threshold, valueText(figure)];
  return `| ${[...cells, figure.passed ? 'passed' : '**failed**'].map(cell).join(' | ')} |`;
}

/** What the terminal shows about a row that has just run: its figures, and what went wrong. */
export function summary(outcome: Outcome): string {
  const figures = figuresOf(outcome).map((figure) => {
    const mark = figure.passed ? '✔' : '✖';
    return `    ${mark} ${figure.meaning}: ${valueText(figure)} (${figure.threshold})`;
  });
  const { row, result, problems, seconds } = outcome;
  const mark = problems.length === 0 ? '✔' : '✖';
  const lines = [
    `  ${mark} ${row.name} (${Math.round(seconds)} s): ${result?.done ?? 'did not come to its end'}`,
  ];
  return [...lines, ...figures, ...wrongs(outcome).map((text) => `      ${text}`)].join('\n');
}

function valueText({ value }: FigureRecord): string {
  return value === undefined || Number.isNaN(value) ? 'none' : numberText(value);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
