/** `culvert name` and `culvert away`: names that the account keeps, and what their visitors read meanwhile. */
import { parseDuration } from '../../../shared/duration.ts';
import { AWAY_RULE, type KeptName, readTime } from '../../../shared/names.ts';
import { NAME_RULE } from '../../../shared/value-rules.ts';
import { UsageError } from '../../client/failures.ts';
import { apiOf, type CommandLine, defineCommand, type Group } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { jsonLine, localTime, table } from '../output/format.ts';

const NAME = { shown: 'NAME', missing: 'Specify a name, such as my-app.' } as const;
/** What `culvert away NAME` alone says. */
const AWAY_TEXT = 'Away.';

const listCommand = defineCommand({
  name: 'name list',
  summary: 'List the names that your account keeps',
  options: COMMON,
  examples: { 'culvert name list': 'list the names' },
  read: (line) => line.access(),
  async run(command, { output }) {
    const names = await apiOf(command).listNames();
    output.out(command.json ? jsonLine({ names }) : listText(names));
  },
});

const keepCommand = defineCommand({
  name: 'name keep',
  operands: { name: NAME },
  summary: 'Keep a name for your account',
  options: COMMON,
  examples: { 'culvert name keep my-app': 'keep the name until you let it go' },
  read: (line) => ({ name: nameOf(line.operands.name), ...line.access() }),
  async run(command, { output }) {
    const kept = await apiOf(command).keepName(command.name);
    output.out(command.json ? jsonLine(kept) : `Your account keeps ${kept.name}.\n`);
  },
});

const releaseCommand = defineCommand({
  name: 'name release',
  operands: { name: NAME },
  summary: 'Let a kept name go',
  options: COMMON,
  examples: { 'culvert name release my-app': 'let the name go; a live tunnel of that name stays open' },
  read: (line) => ({ ...line.operands, ...line.access() }),
  async run(command, { output }) {
    await apiOf(command).releaseName(command.name);
    output.out(command.json ? '{"status":"released"}\n' : `Let go of ${command.name}.\n`);
  },
});

export const nameCommands = {
  name: 'name',
  summary: 'Keep names while they have no tunnel',
  details: `
    A name that your account keeps is nobody else's, whether you have a tunnel open or not. Without being kept, a name stays
    reserved for your account for a while after its tunnel ends. Your plan limits how many names you can keep.`,
  fallback: 'list',
  commands: [listCommand, keepCommand, releaseCommand],
} as const satisfies Group;

const AWAY_OPERANDS = { name: NAME, text: { shown: '[TEXT]', count: 'optional' } } as const;

export const awayCommand = defineCommand({
  name: 'away',
  operands: AWAY_OPERANDS,
  summary: 'Leave a message for visitors while a kept name has no tunnel',
  options: { Message: ['until', 'back'], ...COMMON },
  examples: {
    'culvert away my-app': 'say that you are away',
    "culvert away my-app 'Back after lunch.' --until 2h":
      'leave a message, and say when you expect to be back',
    'culvert away my-app --back': 'remove the message',
  },
  details: `
    Visitors read the message whenever no client serves the name, and the site itself as soon as one does. The name must be one
    that your account keeps: see "culvert name".`,
  read: (line) => ({ name: line.operands.name, changes: readChanges(line), ...line.access() }),
  async run(command, { output }) {
    const kept = await apiOf(command).changeName(command.name, command.changes);
    output.out(command.json ? jsonLine(kept) : awayText(kept));
  },
});

/** @throws UsageError */
function readChanges({ operands, values }: CommandLine<typeof AWAY_OPERANDS>) {
  const { text } = operands;
  const { until, back = false } = values;
  if (back && (text !== undefined || until !== undefined))
    throw new UsageError('--back removes the message, so it takes neither a text nor --until.');
  if (back) return { away: null, until: null };
  if (text !== undefined && !AWAY_RULE.accepts(text))
    throw new UsageError(`TEXT must be ${AWAY_RULE.accepted}.`);
  return { away: text ?? AWAY_TEXT, until: until === undefined ? null : readUntil(until) };
}

/** @returns RFC 3339 @throws UsageError */
function readUntil(given: string): string {
  const seconds = parseDuration(given);
  const time = seconds === undefined ? readTime(given) : Date.now() + seconds * 1000;
  if (time === undefined)
    throw new UsageError(
      `--until ${JSON.stringify(given)}: use a time such as 2030-01-31T09:00:00Z, or a duration such as 2h.`,
    );
  return new Date(time).toISOString();
}

/** @throws UsageError */
function nameOf(given: string): string {
  if (NAME_RULE.accepts(given)) return given;
  throw new UsageError(`${JSON.stringify(given)}: a name must be ${NAME_RULE.accepted}.`);
}

function listText(names: readonly KeptName[]): string {
  if (names.length === 0) return 'No names. "culvert name keep my-app" keeps one.\n';
  const rows = names.map(({ name, away, until, tunnel_id }) => [
    name,
    tunnel_id === null ? 'no tunnel' : 'live',
    until === null ? '' : localTime(until),
    away?.replaceAll('\n', ' ') ?? '',
  ]);
  return table([['NAME', 'TUNNEL', 'BACK', 'MESSAGE'], ...rows]);
}

function awayText({ name, away, until }: KeptName): string {
  if (away === null) return `Removed the message of ${name}.\n`;
  const back = until === null ? '' : `You expect to be back ${localTime(until)}.\n`;
  return `Visitors of ${name} read this while no client serves it:\n${away}\n${back}`;
}
