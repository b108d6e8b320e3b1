/** Generates limits.md from the constants. The reason for each limit is the comment above it, and nowhere else. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { ROOT } from '../repository.ts';
import { code, pageStart } from './page.ts';

export interface Limit {
  readonly name: string;
  readonly value: number;
  /** the text of its comment on one line; empty without a comment */
  readonly reason: string;
}

/** Related limits, with the heading of their table; empty for those before the first heading of a file. */
interface Area {
  readonly heading: string;
  readonly limits: readonly Limit[];
}

/** A heading of the page, and the files of desktop/ below it: in a `limits.ts` every constant is a limit. */
interface Chapter {
  readonly heading: string;
  readonly files: Readonly<Record<string, string>>;
}

const CLIENT: Chapter = {
  heading: 'The client',
  files: {
    'desktop/client/limits.ts': '',
    'desktop/client/share/folder-handler.ts': 'Shared folders',
    'desktop/cli/limits.ts': 'The command',
    'desktop/client/diagnostics/hop.ts': '`culvert doctor`',
    'desktop/app/main/limits.ts': 'The desktop app',
  },
};

/** The headings of the relay's limits. A file is below the first heading that has the beginning of its path. */
const ROOMS: readonly (readonly [heading: string, ...paths: string[]])[] = [
  ['API', 'server/api/'],
  ['Keys and invitations', 'server/accounts/'],
  ['Administration', 'server/administration/'],
  ['Tunnels', 'server/tunnels/'],
  ['The store', 'server/store/'],
  ['Log and metrics', 'server/observe/'],
  ['Start, shutdown and handoff', 'server/handoff/', 'server/cli/', 'server/relay/'],
  ['HTTP/2', 'server/edge/http2/'],
  ['Visitors', 'server/edge/'],
  ['Clients', 'server/clients/'],
  ['Several relays as one', 'server/cluster/'],
  ['Access to tunnels', 'server/access/'],
  ['DNS authority for challenges', 'server/certificates/dns/'],
  ['Certificates', 'server/certificates/'],
  ['Domains', 'server/domains/'],
  ['`culvert-relay doctor`', 'server/diagnostics/'],
  ['Settings and listeners', 'server/'],
];

const INTRODUCTION = `Each limit is a constant next to the code that applies it, or in a \`limits.ts\` file under \`desktop/\`. The comment above the constant explains its value; this page shows the beginning of that comment. Operators can change the limits that are
[settings](settings.md), and plans have limits of their own.`;

const CONCLUSION = `## No limit

A local service may take any amount of time to respond, and may pause for any amount of time during its response. A WebSocket may stay
silent indefinitely. A body can be any size, because it is streamed using constant memory. All of these use file descriptors: two for a
visitor with a data socket, one for the control socket of each tunnel, and one for each trunk.
`;

/** A constant with the comment above it, or a heading such as `// ## Clients`. */
const PARTS =
  /^\/\/ ## (?<heading>.+)$|(?:^\/\*\*(?<comment>(?:(?!\*\/)[\s\S])*)\*\/\n)?^(?:export )?const (?<name>[A-Z][A-Z0-9_]*)(?:: \w+)? =\s*(?<initializer>[^;]+);/gm;

/** Marks a constant outside of a `limits.ts` as a limit. */
const MARK = /@limit\b/;

/** @returns the whole page */
export async function limitsPage(): Promise<string> {
  const parts = [pageStart('Limits', 'the constants and their comments', INTRODUCTION), '## The relay\n'];
  const relay = await markedLimits('server');
  for (const each of ROOMS) {
    const limits = relay.filter(([file]) => roomOf(file) === each).flatMap(([, ofFile]) => ofFile);
    parts.push(list(each[0], limits));
  }
  parts.push(`## ${CLIENT.heading}\n`);
  for (const [file, title] of Object.entries(CLIENT.files))
    for (const area of await readAreas(file)) parts.push(list(area.heading || title, area.limits));
  const both = await markedLimits('shared');
  parts.push(
    '## Both ends\n',
    list(
      '',
      both.flatMap(([, limits]) => limits),
    ),
    CONCLUSION,
  );
  return parts.join('\n');
}

function roomOf(file: string): (typeof ROOMS)[number] | undefined {
  return ROOMS.find(([, ...paths]) => paths.some((path) => file.startsWith(path)));
}

/** @returns the marked limits of each file in a folder */
async function markedLimits(folder: string): Promise<[file: string, limits: Limit[]][]> {
  const files = globSync(`${folder}/**/*.ts`, { cwd: ROOT, exclude: ['**/*.test.ts', '**/testing/**'] });
  const found: [string, Limit[]][] = [];
  for (const file of files.map((path) => path.replaceAll('\\', '/')).toSorted())
    found.push([file, (await readAreas(file, MARK)).flatMap(({ limits }) => limits)]);
  return found;
}

/** @returns every limit on the page */
export async function allLimits(): Promise<Limit[]> {
  const client = await Promise.all(Object.keys(CLIENT.files).map(async (file) => await readAreas(file)));
  const marked = [...(await markedLimits('server')), ...(await markedLimits('shared'))];
  return [...client.flat(), ...marked.map(([, limits]) => ({ limits }))].flatMap(({ limits }) => limits);
}

/**
 * @param file from the root of the repository
 * @param mark matches the comment of a limit; anything in a file of limits
 */
async function readAreas(file: string, mark = file.endsWith('limits.ts') ? /(?:)/ : MARK): Promise<Area[]> {
  const source = readFileSync(join(ROOT, file), 'utf8');
  if (!mark.test(source)) return [];
  return areasOf(source, (await import(pathToFileURL(join(ROOT, file)).href)) as object, mark);
}

/**
 * @param source TypeScript, formatted by Prettier
 * @param exports of that module, with the values of exported constants
 * @param mark matches the comment of a limit
 */
export function areasOf(source: string, exports: object, mark = /(?:)/): Area[] {
  const areas: { heading: string; limits: Limit[] }[] = [{ heading: '', limits: [] }];
  const values: Record<string, unknown> = { ...exports };
  for (const { groups = {} } of source.matchAll(PARTS)) {
    const { heading, comment = '', name = '', initializer = '' } = groups;
    if (heading !== undefined) areas.push({ heading, limits: [] });
    else if (mark.test(comment)) {
      const value = (values[name] ??= runInNewContext(initializer, { ...values }));
      if (typeof value === 'number') areas.at(-1)?.limits.push({ name, value, reason: reasonOf(comment) });
    }
  }
  return areas.filter(({ limits }) => limits.length > 0);
}

/** What may follow the purpose of a limit in the first sentence of its comment: why it has that value. */
const WHY =
  /[:;] | \(|, (?:so that|so|because|since|which|who|including|included|even if|even|as|with|in case|whose|like|or) /;

/** The purpose in a comment. The value includes the unit, so it is removed from the purpose. */
function reasonOf(comment: string): string {
  const text = comment
    .replaceAll(/\s*\n \* ?/g, ' ')
    .replace(MARK, '')
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .trim();
  const [sentence = ''] = text.split(/(?<=[.?!])\s+(?=[A-Z`])/, 1);
  const [first = ''] = sentence.replace(/\.$/, '').split(WHY, 1);
  const unitless = first
    .replace(/^(?:ms|s|Seconds) (?=\w)/, 'Time ')
    .replaceAll(/, in (?:ms|s|seconds)(?=[,.:])/g, '')
    .replaceAll(/\bmost (?:ms|s) /g, 'most time ');
  return unitless;
}

/** How often something is done is no limit. */
const INTERVAL = /^(?:How often|Time between|Longest time between|Time until the next) /;

function list(heading: string, limits: readonly Limit[]): string {
  const title = heading === '' ? '' : `### ${heading}\n\n`;
  const lines = limits
    .filter(({ reason }) => !INTERVAL.test(reason))
    .map(({ name, value, reason }) => `- ${code(name)} ${readable(name, value)}: ${reason}\n`);
  return `${title}${lines.join('')}`;
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
