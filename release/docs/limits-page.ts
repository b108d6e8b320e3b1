/** Generates limits.md from the constants that a person can meet: those whose comment ends with `@limit`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { ROOT } from '../repository.ts';
import { markdownTable, pageStart } from './page.ts';

/** The headings of those who meet a limit, by the word in the mark. */
const MET_BY = { visitor: 'For visitors', owner: 'For owners', operator: 'For operators' } as const;

export interface Limit {
  readonly metBy: keyof typeof MET_BY;
  readonly subject: string;
  readonly name: string;
  readonly value: number;
  readonly beyond: string;
}

const INTRODUCTION = `These are the limits that you can meet, and what happens beyond them. Words such as \`too-many\` are the codes of [errors](errors.md).
Operators can change those that are [settings](settings.md), and [plans](../operating/accounts.md) add limits for each account. All other
limits are constants in the source code, each with its reason in the comment above it.`;

const CONCLUSION = `## No limit

A local service may take any amount of time to respond, and may pause for any amount of time during its response. A WebSocket may stay
silent indefinitely. A body can be any size, because it is streamed using constant memory. All of these use file descriptors: two for a
visitor with a data socket, one for the control socket of each tunnel, and one for each trunk.
`;

/** A constant with a mark: `@limit METBY: SUBJECT | BEYOND` at the end of the comment above it. */
const MARKED =
  /@limit (?<metBy>visitor|owner|operator): (?<subject>[^|\n]+) \| (?<beyond>[^\n]+)\n \*\/\n(?:export )?const (?<name>[A-Z][A-Z0-9_]*)(?:: \w+)? =\s*(?<initializer>[^;]+);/g;

/** @returns the whole page */
export function limitsPage(): string {
  const limits = allLimits().toSorted((a, b) => a.subject.localeCompare(b.subject, 'en'));
  const parts = Object.entries(MET_BY).flatMap(([who, heading]) => [
    `## ${heading}\n`,
    markdownTable(
      ['limit', 'value', 'beyond it'],
      limits
        .filter(({ metBy }) => metBy === who)
        .map(({ subject, name, value, beyond }) => [subject, readable(name, value), beyond]),
    ),
  ]);
  return [pageStart('Limits', 'the constants marked `@limit`', INTRODUCTION), ...parts, CONCLUSION].join(
    '\n',
  );
}

/** @returns every limit on the page */
export function allLimits(): Limit[] {
  const files = globSync('{server,desktop,shared}/**/*.ts', { cwd: ROOT, exclude: ['**/*.test.ts'] });
  return files.flatMap((file) => limitsOf(readFileSync(join(ROOT, file), 'utf8')));
}

/** @param source TypeScript, formatted by Prettier; the values of marked constants are made of numbers alone */
export function limitsOf(source: string): Limit[] {
  return [...source.matchAll(MARKED)].map(({ groups = {} }) => {
    const { metBy, subject = '', beyond = '', name = '', initializer = '' } = groups;
    const value = runInNewContext(initializer) as number;
    return { metBy: metBy as Limit['metBy'], subject, name, value, beyond };
  });
}

/** @returns the value in readable form, with the unit at the end of the constant's name */
export function readable(name: string, value: number): string {
  if (/_MS(?:_|$)/.test(name)) return inUnits(value, MS);
  if (/_SECONDS(?:_|$)/.test(name)) return inUnits(value * 1000, MS);
  if (/_BYTES(?:_|$)/.test(name)) return inUnits(value, BYTES);
  if (name.endsWith('_PERCENT')) return `${grouped(value)} %`;
  if (/_(?:CHARS|LENGTH)$/.test(name)) return `${grouped(value)} characters`;
  if (name.endsWith('_PER_MINUTE')) return `${grouped(value)} a minute`;
  if (/_PER_HOUR(?:_|$)/.test(name)) return `${grouped(value)} an hour`;
  return grouped(value);
}

type Units = readonly (readonly [unit: string, size: number])[];
const MS: Units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
  ['ms', 1],
];
const BYTES: Units = [
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
  ['bytes', 1],
];

/** In the largest unit with at most one decimal place and a value that is not too small. */
function inUnits(value: number, units: Units): string {
  const [unit, size] = units.find(([, each]) => value >= each && Number.isInteger((value / each) * 2)) ??
    units.at(-1) ?? ['', 1];
  return `${grouped(value / size)} ${unit}`;
}

function grouped(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 3 });
}
