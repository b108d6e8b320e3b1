/** Every generated page, with the function that generates it. */
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { EN } from '../../desktop/app/messages/en.ts';
import { WINDOW_KEYS } from '../../desktop/app/messages/window-keys.ts';
import { KEYS } from '../../desktop/cli/view/frame.ts';
import { EXIT_CODE_MEANINGS as CLIENT_CODES } from '../../desktop/client/failures.ts';
import { EXIT_CODE_MEANINGS as RELAY_CODES } from '../../server/cli/command.ts';
import { LOG_EVENTS } from '../../server/log.ts';
import { METRICS } from '../../server/observe/metrics.ts';
import { ERROR_HELP } from '../../shared/error-help.ts';
import { ALL_API_ERRORS, VISITOR_ERRORS } from '../../shared/errors.ts';
import { ROOT } from '../repository.ts';
import { culvertPage, projectPage } from './culvert-page.ts';
import { limitsPage } from './limits-page.ts';
import { code, pageStart, markdownTable, prose, sentence } from './page.ts';
import { culvertRelayPage, settingsPage } from './relay-page.ts';
import { restPage } from './rest-page.ts';

const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/reference/culvert.md': culvertPage,
  'docs/reference/culvert-relay.md': culvertRelayPage,
  'docs/reference/culvert-yml.md': projectPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/exit-codes.md': exitCodesPage,
  'docs/reference/limits.md': limitsPage,
  'docs/reference/log-events.md': logEventsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/rest.md': restPage,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/shortcuts.md': shortcutsPage,
};

export const GENERATED: readonly string[] = Object.keys(PAGES);

/** @returns the text of a generated page, formatted */
export async function generate(path: string): Promise<string> {
  const make = PAGES[path];
  if (make === undefined) throw new Error(`${path} is not generated`);
  const options = await resolveConfig(join(ROOT, path));
  return await format(await make(), { ...options, parser: 'markdown' });
}

const ERRORS_INTRODUCTION = `Programs should rely on an error's code, which never changes. The text is meant for human readers.

- [Errors for visitors](#errors-for-visitors): responses at the address of a tunnel, with the code in the \`Culvert-Error\` header. Visitors
whose \`Accept\` header prefers HTML get a page; all others get \`{"error", "code"}\` as JSON.
- [Errors of the API](#errors-of-the-api): responses of the REST interface and the WebSocket endpoints, \`{"error", "code"}\` as JSON.

Responses with status 429 and 503 have a \`Retry-After\` header in whole seconds. \`…\` stands for a variable part of a text.`;

function errorsPage(): string {
  const visitors = Object.entries(VISITOR_ERRORS).map(([name, { status, title, text }]) =>
    section(name, `${status}: ${title}. ${text}`, name === 'method-not-allowed' ? 'visitor' : ''),
  );
  const api = ALL_API_ERRORS.toSorted((a, b) => a.status - b.status).map(({ code: name, status, text }) =>
    section(name, `${status}: ${code(text.replaceAll(/\{\w+\}/g, '…'))}`),
  );
  return [
    pageStart('Errors', 'shared/errors.ts and shared/error-help.ts', ERRORS_INTRODUCTION),
    '## Errors for visitors\n',
    ...visitors,
    '## Errors of the API\n',
    ...api,
  ].join('\n');
}

/** @param kind distinguishes a code that both lists have; the heading of the API's error is its anchor */
function section(name: string, first: string, kind = ''): string {
  const help = ERROR_HELP[kind === '' ? name : `${kind}:${name}`];
  if (help === undefined) throw new Error(`shared/error-help.ts does not explain ${name}`);
  return `### ${code(name)}${kind === '' ? '' : ` (${kind})`}\n\n${first}\n\n${help}\n`;
}

/** What a user can do, by exit code of `culvert`. */
const REMEDIES: Readonly<Record<string, string>> = {
  1: 'The message says why. `culvert doctor` finds problems between this machine and the relay.',
  2: 'The message names the option or field and says what it accepts. `culvert help COMMAND` shows examples.',
  3: 'Run `culvert login` with a valid key, or check `--key` and `CULVERT_API_KEY`.',
  4: 'Open the tunnel again; `--ttl` sets a longer time to live.',
  5: 'Stop the other client, or use a different name.',
};

function exitCodesPage(): string {
  const client = Object.entries(CLIENT_CODES).map(([exitCode, meaning]) => [
    `<a id="culvert-${exitCode}"></a>${exitCode}`,
    meaning,
    REMEDIES[exitCode] ?? '',
  ]);
  const relay = Object.entries(RELAY_CODES).map(([exitCode, meaning]) => [exitCode, meaning]);
  return [
    pageStart(
      'Exit codes',
      'desktop/client/failures.ts and server/cli/command.ts',
      'Exit codes are [stable](versioning.md), so scripts can rely on them.',
    ),
    '## culvert\n',
    markdownTable(['code', 'meaning', 'what to do'], client),
    `- SIGTERM and closing the terminal have the same effect as Ctrl-C. A second Ctrl-C ends the program immediately with code 1; its tunnels then remain until they expire.
- If the tunnels opened by \`culvert start\` end with different codes, the command exits with the first of these that occurred: 3, 1, 5, 4, 0.
- \`culvert run\` exits with the code of its command, or with 128 and the number of the signal that ended the command. It exits with 127 if the command was not found, and with 126 if it cannot be executed.
- \`culvert doctor\` exits with 1 if a check fails, and \`culvert domain verify\` exits with 1 if a record is wrong.
- The command exits with 3 or 4 only after the relay has confirmed the refusal on a second connection.
`,
    '## culvert-relay\n',
    markdownTable(['code', 'meaning'], relay),
    '`culvert-relay doctor` exits with 1 if a check fails.\n',
  ].join('\n');
}

const EVENTS_INTRODUCTION = `The relay logs one line per event, as JSON or as text. In JSON, \`msg\` contains the event's name and \`level\` contains its level. Both are
[stable](versioning.md), so you can build alerts on them. [Monitoring](../operating/monitoring.md) explains the format.`;

const METRICS_INTRODUCTION = `Setting \`CULVERT_METRICS_PORT\` makes the relay serve \`/metrics\` for Prometheus on a separate listener. Names and labels are [stable](versioning.md). Counters
start at 0 when the relay starts. \`/metrics\` also includes the [default metrics of prom-client](https://github.com/siimon/prom-client#default-metrics):
CPU, memory, file descriptors, garbage collection and event loop lag. [Monitoring](../operating/monitoring.md) has a dashboard and alerts.`;

/** @returns log-events.md */
function logEventsPage(): string {
  return [
    pageStart('Log events', 'server/log.ts', EVENTS_INTRODUCTION),
    markdownTable(
      ['event', 'level', 'meaning'],
      Object.entries(LOG_EVENTS).map(([event, { level, meaning }]) => [code(event), level, prose(meaning)]),
    ),
  ].join('\n');
}

/** @returns metrics.md */
function metricsPage(): string {
  const rows = Object.entries(METRICS).map(([name, metric]) => [
    code(name),
    metric.type,
    metric.help,
    'labels' in metric
      ? Object.entries(metric.labels)
          .map(([label, values]) => `${code(label)}: ${values}`)
          .join('; ')
      : '',
  ]);
  return [
    pageStart('Metrics', 'server/observe/metrics.ts', METRICS_INTRODUCTION),
    markdownTable(['metric', 'type', 'meaning', 'labels'], rows),
    'Every request to a tunnel is counted under exactly one outcome.\n',
  ].join('\n');
}

/** Keys of the request log in the terminal. */
const LOG_KEYS: Readonly<Record<string, string>> = {
  '↑ ↓, k j': 'Move through the requests, or scroll an open one.',
  'PgUp PgDn, Space': 'Move by one page.',
  Enter: 'Show the request and its response.',
  '/': 'Search the method, path, status and visitor address.',
  r: 'Send the request to the local service again.',
  'Esc, i, q': 'Go back.',
};

/** Works in any program, and can be changed. */
const GLOBAL_KEY = [
  'Ctrl+Alt+Shift+C',
  'Show the newest address from within any program. Press the shortcut twice to copy the address. You can change the shortcut in the settings.',
] as const;

function shortcutsPage(): string {
  return [
    pageStart(
      'Keyboard shortcuts',
      'desktop/cli/view/frame.ts, desktop/app/messages/window-keys.ts and release/docs/pages.ts',
      'These are the keyboard shortcuts for the terminal view and the desktop app.',
    ),
    '## Terminal view\n',
    'While `culvert http`, `culvert share` or `culvert start` is running in a terminal:\n',
    keyTable(Object.fromEntries(KEYS)),
    'In the request log, which `i` opens:\n',
    keyTable(LOG_KEYS),
    '## Window\n',
    'On macOS, use Cmd instead of Ctrl.\n',
    keyTable(
      Object.fromEntries([
        GLOBAL_KEY,
        ...WINDOW_KEYS.map(([keys, text]) => [keys.replaceAll('Mod+', 'Ctrl+'), EN[text]]),
      ]),
    ),
  ].join('\n');
}

function keyTable(keys: Readonly<Record<string, string>>): string {
  return markdownTable(
    ['key', 'action'],
    Object.entries(keys).map(([key, action]) => [code(key), sentence(action)]),
  );
}
