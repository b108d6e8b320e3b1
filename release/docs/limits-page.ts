/** Generates limits.md from the constants. The reason for each limit is the comment above it, and nowhere else. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** The headings of one end's limits. A file is below the first heading that has the beginning of its path. */
type Rooms = readonly (readonly [heading: string, ...paths: string[]])[];

const RELAY_ROOMS: Rooms = [
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

const CLIENT_ROOMS: Rooms = [
  [
    'The local service',
    'desktop/client/local/',
    'desktop/client/visitors/',
    'desktop/client/data/header-rewriter',
  ],
  ['Compression', 'desktop/client/compression/'],
  ['The request log', 'desktop/client/inspector/', 'desktop/client/methods/', 'desktop/client/host/'],
  ['Shared folders', 'desktop/client/share/'],
  ['`culvert doctor`', 'desktop/client/diagnostics/'],
  ['Files that it reads', 'desktop/client/config/'],
  ['The relay', 'desktop/client/', 'desktop/library/'],
  ['Agents', 'desktop/cli/mcp/'],
  ['The command', 'desktop/cli/'],
  ['The window in a browser', 'desktop/app/browser/'],
  ['The desktop app', 'desktop/app/'],
];

const INTRODUCTION = `Each limit is a constant next to the code that applies it. The comment above the constant explains its value; this page shows the beginning of that comment. Operators can change the limits that are
[settings](settings.md), and plans have limits of their own.`;

const CONCLUSION = `## No limit

A local service may take any amount of time to respond, and may pause for any amount of time during its response. A WebSocket may stay
silent indefinitely. A body can be any size, because it is streamed using constant memory. All of these use file descriptors: two for a
visitor with a data socket, one for the control socket of each tunnel, and one for each trunk.
`;

/** A constant with the comment above it. */
const CONSTANTS =
  /(?:^\/\*\*(?<comment>(?:(?!\*\/)[\s\S])*)\*\/\n)?^(?:export )?const (?<name>[A-Z][A-Z0-9_]*)(?:: \w+)? =\s*(?<initializer>[^;]+);/gm;

/** Marks a constant as a limit. */
const MARK = /@limit\b/;

/** @returns the whole page */
export async function limitsPage(): Promise<string> {
  const parts = [
    pageStart('Limits', 'the constants and their comments', INTRODUCTION),
    '## The relay\n',
    ...lists(await markedLimits('server'), RELAY_ROOMS),
    '## The client\n',
    ...lists(await markedLimits('desktop'), CLIENT_ROOMS),
  ];
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

function lists(files: readonly [file: string, limits: Limit[]][], rooms: Rooms): string[] {
  const roomOf = (file: string) => rooms.find(([, ...paths]) => paths.some((path) => file.startsWith(path)));
  return rooms.map((room) => {
    const limits = files.filter(([file]) => roomOf(file) === room).flatMap(([, ofFile]) => ofFile);
    return list(room[0], limits);
  });
}

/** @returns the marked limits of each file in a folder */
async function markedLimits(folder: string): Promise<[file: string, limits: Limit[]][]> {
  const files = globSync(`${folder}/**/*.ts`, { cwd: ROOT, exclude: ['**/*.test.ts', '**/testing/**'] });
  const found: [string, Limit[]][] = [];
  for (const file of files.map((path) => path.replaceAll('\\', '/')).toSorted())
    found.push([file, await readLimits(file)]);
  return found;
}

/** @returns every limit on the page */
export async function allLimits(): Promise<Limit[]> {
  const all = await Promise.all(['server', 'desktop', 'shared'].map(markedLimits));
  return all.flat().flatMap(([, limits]) => limits);
}

/** @param file from the root of the repository */
async function readLimits(file: string): Promise<Limit[]> {
  const source = readFileSync(join(ROOT, file), 'utf8');
  if (!MARK.test(source)) return [];
  try {
    return limitsOf(source, {});
  } catch {
    // A value is made of others, which are exported here or imported from elsewhere.
    const from = [...source.matchAll(CONSTANT_IMPORTS)].map(([, path = '']) => join(dirname(file), path));
    return limitsOf(
      source,
      Object.assign({}, ...(await Promise.all([...from, file].map(exportsOf)))) as object,
    );
  }
}

/** Imports of constants from other files. */
const CONSTANT_IMPORTS = /^import \{[^}]*\b[A-Z][A-Z0-9_]+\b[^}]*\} from '(\.[^']+)';$/gm;

async function exportsOf(file: string): Promise<object> {
  return (await import(pathToFileURL(join(ROOT, file)).href)) as object;
}

/**
 * @param source TypeScript, formatted by Prettier
 * @param values by the names of constants that are exported or imported
 */
export function limitsOf(source: string, exports: object): Limit[] {
  const limits: Limit[] = [];
  const values: Record<string, unknown> = { ...exports };
  for (const { groups = {} } of source.matchAll(CONSTANTS)) {
    const { comment = '', name = '', initializer = '' } = groups;
    if (!MARK.test(comment)) continue;
    const value = (values[name] ??= runInNewContext(initializer, { ...values }));
    if (typeof value === 'number') limits.push({ name, value, reason: reasonOf(comment) });
  }
  return limits;
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
