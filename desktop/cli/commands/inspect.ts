/** `culvert inspect`: the requests to tunnels of this machine. What runs it is loaded only then. */
import { UsageError } from '../../client/failures.ts';
import { SEARCH_MAX_CHARS } from '../../client/inspector/records.ts';
import { type AnyLine, type CommandContext, defineCommand, type Group } from '../command-line/command.ts';
import type { InspectCommand } from '../inspect/inspect-run.ts';

const OUTPUT = { Output: ['json'] } as const;

const listCommand = defineCommand({
  name: 'inspect list',
  summary: 'List the recorded requests',
  options: { Requests: ['tunnel', 'filter', 'search', 'reveal'], ...OUTPUT },
  examples: {
    'culvert inspect': 'list the recorded requests',
    'culvert inspect list --search order_17': 'list requests that contain a word in a header or body',
  },
  read(line) {
    const { search } = line.values;
    if (search !== undefined && (search.trim() === '' || search.length > SEARCH_MAX_CHARS))
      throw new UsageError(
        `--search "${search.slice(0, SEARCH_MAX_CHARS)}" is not valid. It must be words of at most ${SEARCH_MAX_CHARS} characters in all.`,
      );
    return given(line, { name: 'list' });
  },
  run,
});

const showCommand = defineCommand({
  name: 'inspect show',
  operands: { number: numberTo('show') },
  summary: 'Show a request and its response',
  options: { Requests: ['tunnel', 'filter', 'reveal', 'curl'], ...OUTPUT },
  meanings: { filter: 'Show only the messages that contain all of these words.' },
  examples: {
    'culvert inspect show 3': 'show request 3 and its response',
    'culvert inspect show 3 --curl': 'print request 3 as a curl command',
  },
  details: `
    The command prints the last messages of a WebSocket or an event stream one by one.`,
  read(line) {
    const { curl = false, json } = line.values;
    if (curl && json === true) throw new UsageError('--curl cannot be combined with --json.');
    return given(line, { name: 'show', request: readNumber('show', line.operands.number), asCurl: curl });
  },
  run,
});

const replayCommand = defineCommand({
  name: 'inspect replay',
  operands: { number: numberTo('replay') },
  summary: 'Send a request to the local port once more',
  options: { Requests: ['tunnel', 'reveal'], ...OUTPUT },
  examples: { 'culvert inspect replay 3': 'send request 3 to the local port once more' },
  read: (line) =>
    given(line, { name: 'replay', request: readNumber('replay', line.operands.number), asCurl: false }),
  run,
});

const editCommand = defineCommand({
  name: 'inspect edit',
  operands: { number: numberTo('edit') },
  summary: 'Change a request and send it',
  options: {
    Requests: ['tunnel', 'reveal'],
    Edit: ['method', 'path', 'header', 'body', 'sign'],
    ...OUTPUT,
  },
  meanings: { path: 'Change the path and query.' },
  examples: {
    'culvert inspect edit 3': 'change request 3 in an editor and send it',
    'culvert inspect edit 3 --method PUT': 'change the method of request 3 and send it',
    'culvert inspect edit 3 --sign whsec_…': 'edit webhook 3, and sign it again',
  },
  details: `
    The command opens the request in $VISUAL or $EDITOR, and sends it to the local port when you save and close the file.
    With --method, --path, --header or --body, it changes the request without opening an editor. Culvert always sets Host,
    Content-Length and the headers that control the connection itself. [redacted] stands for a secret, including in
    requests that you edit. With --sign, a webhook gets a new signature for its new content and the current time, even if
    you save it unchanged.`,
  read(line) {
    const { method, path, header = [], body, sign: secret } = line.values;
    const isGiven = [method, path, body].some((value) => value !== undefined) || header.length > 0;
    const changes = isGiven ? { method, path, headers: header, body } : undefined;
    return given(line, {
      name: 'edit',
      request: readNumber('edit', line.operands.number),
      changes,
      secret,
    });
  },
  run,
});

const exportCommand = defineCommand({
  name: 'inspect export',
  operands: { numbers: { shown: '[N…]', count: 'any' } },
  summary: 'Print requests as a HAR file',
  options: { Requests: ['tunnel', 'filter', 'reveal'], ...OUTPUT },
  examples: { 'culvert inspect export > requests.har': 'save all requests as HAR' },
  details: `
    The command writes the given requests, or all of them, to standard output.`,
  read: (line) =>
    given(line, {
      name: 'export',
      requests: line.operands.numbers.map((number) => readNumber('export', number)),
    }),
  run,
});

const importCommand = defineCommand({
  name: 'inspect import',
  operands: { file: { shown: '[FILE]', count: 'optional' } },
  summary: 'Add the requests of a HAR file or a curl command',
  options: { Requests: ['tunnel', 'filter'], ...OUTPUT },
  examples: { 'culvert inspect import requests.har': 'add the requests of a HAR file to the list' },
  details: `
    The command reads a HAR file or a curl command from FILE or from standard input, and adds its requests to the list
    without sending them. It does not run the curl command or read any other files.`,
  read: (line) => given(line, { name: 'import', file: line.operands.file }),
  run,
});

const watchCommand = defineCommand({
  name: 'inspect watch',
  summary: 'Print each request when it arrives',
  options: { Requests: ['tunnel', 'filter', 'reveal'], ...OUTPUT },
  examples: { 'culvert inspect watch': 'print each request when it arrives' },
  read: (line) => given(line, { name: 'watch' }),
  run,
});

export const inspectCommands = {
  name: 'inspect',
  summary: "Show, replay or edit a tunnel's requests on this machine",
  details: `
    These commands show the requests to a tunnel that a culvert command is serving on this machine.`,
  fallback: 'list',
  commands: [
    listCommand,
    showCommand,
    replayCommand,
    editCommand,
    exportCommand,
    importCommand,
    watchCommand,
  ],
} as const satisfies Group;

function given({ values }: AnyLine, action: InspectCommand['action']): InspectCommand {
  const { tunnel, filter = '', search, reveal = false, json = false } = values;
  return { action, tunnel, filter, search, reveal, json };
}

async function run(command: InspectCommand, context: CommandContext): Promise<void> {
  const { runInspect } = await import('../inspect/inspect-run.ts');
  await runInspect(command, context);
}

function numberTo(verb: string) {
  return {
    shown: 'N',
    missing: `Specify the number of the request to ${verb}, as shown by "culvert inspect".`,
  } as const;
}

function readNumber(verb: string, number: string): number {
  if (/^[1-9]\d{0,14}$/.test(number)) return Number(number);
  throw new UsageError(numberTo(verb).missing);
}
