/** The command line of `culvert inspect`; inspect-run.ts runs it. */
import { UsageError } from '../../client/failures.ts';
import { defineCommand } from '../command-line/command.ts';
import type { RequestChanges } from '../inspect/inspect-edit.ts';
import type { InspectCommand } from '../inspect/inspect-run.ts';
import { SEARCH_MAX_CHARS } from '../../client/inspector/records.ts';

interface InspectValues {
  readonly tunnel?: string | undefined;
  readonly reveal?: boolean | undefined;
  readonly filter?: string | undefined;
  readonly search?: string | undefined;
  readonly curl?: boolean | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly body?: string | undefined;
  readonly sign?: string | undefined;
  readonly json?: boolean | undefined;
}

export const inspectCommand = defineCommand({
  name: 'inspect',
  operands: {
    words: {
      shown: '[list | show N | replay N | edit N | export [N…] | import [FILE] | watch]',
      count: 'any',
      words: ['list', 'show', 'replay', 'edit', 'export', 'import', 'watch'],
    },
  },
  summary: "Show, replay or edit a tunnel's requests on this machine",
  options: {
    Requests: ['tunnel', 'filter', 'search', 'reveal', 'curl'],
    Edit: ['method', 'path', 'header', 'body', 'sign'],
    Output: ['json'],
  },
  meanings: { path: 'With "edit": change the path and query.' },
  examples: {
    'culvert inspect': 'list the recorded requests',
    'culvert inspect list --search order_17': 'list requests that contain a word in a header or body',
    'culvert inspect show 3': 'show request 3 and its response',
    'culvert inspect show 3 --curl': 'print request 3 as a curl command',
    'culvert inspect replay 3': 'send request 3 to the local port once more',
    'culvert inspect edit 3 --method PUT': 'change request 3 and send it',
    'culvert inspect edit 3 --sign whsec_…': 'edit webhook 3, and sign it again',
    'culvert inspect export > requests.har': 'save all requests as HAR',
    'culvert inspect watch': 'print each request when it arrives',
  },
  details: `
    The command shows the requests to a tunnel that a culvert command is serving on this machine.

    "edit" opens request N in $VISUAL or $EDITOR, and sends it to the local port when you save and close the file. With
    --method, --path, --header or --body, it changes the request without opening an editor. Culvert always sets Host,
    Content-Length and the headers that control the connection itself. [redacted] stands for a secret, including in
    requests that you edit. With --sign, a webhook gets a new signature for its new content and the current time, also if
    you save it unchanged.

    "show" prints the last messages of a WebSocket one by one. With --filter, only those that contain every word.

    "export" writes the given requests, or all of them, to standard output as a HAR file. "import" reads a HAR file or
    a curl command from FILE or from standard input, and adds its requests to the list without sending them. It does
    not run the curl command or read any other files.`,
  read: ({ operands, values }) => readInspect(operands.words, values),
  async run(given, context) {
    const { runInspect } = await import('../inspect/inspect-run.ts');
    await runInspect(given, context);
  },
});

/** Actions that accept `--filter`. */
const FILTERED: readonly string[] = ['list', 'show', 'watch', 'export', 'import'];

/**
 * @param operands what follows `culvert inspect`
 * @throws UsageError
 */
export function readInspect(operands: readonly string[], values: InspectValues): InspectCommand {
  const { tunnel, filter, search, reveal = false, curl = false, json = false } = values;
  const action = readAction(operands, values);
  if (curl && (action.name !== 'show' || json))
    throw new UsageError('--curl can only be used with "culvert inspect show", and not with --json.');
  if (filter !== undefined && !FILTERED.includes(action.name))
    throw new UsageError('--filter can only be used with list, show, watch, export and import.');
  if (search !== undefined && action.name !== 'list')
    throw new UsageError('--search can only be used with "culvert inspect list".');
  if (search !== undefined && (search.trim() === '' || search.length > SEARCH_MAX_CHARS))
    throw new UsageError(
      `--search "${search.slice(0, SEARCH_MAX_CHARS)}" is not valid. It must be words of at most ${SEARCH_MAX_CHARS} characters in all.`,
    );
  if (action.name !== 'edit' && (changesOf(values) !== undefined || values.sign !== undefined))
    throw new UsageError(
      '--method, --path, --header, --body and --sign can only be used with "culvert inspect edit".',
    );
  return { action, tunnel, filter: filter ?? '', search, reveal, json };
}

/** @returns `undefined` if nothing changes */
function changesOf({ method, path, header = [], body }: InspectValues): RequestChanges | undefined {
  const isGiven = [method, path, body].some((value) => value !== undefined) || header.length > 0;
  return isGiven ? { method, path, headers: header, body } : undefined;
}

function readAction(operands: readonly string[], values: InspectValues): InspectCommand['action'] {
  const [name = 'list', first, ...more] = operands;
  switch (name) {
    case 'list':
    case 'watch':
      refuseMore(name, operands.slice(1));
      return { name };
    case 'show':
    case 'replay':
      refuseMore(name, more);
      return { name, request: readNumber(name, first), asCurl: values.curl ?? false };
    case 'edit':
      refuseMore(name, more);
      return { name, request: readNumber(name, first), changes: changesOf(values), secret: values.sign };
    case 'export':
      return { name, requests: operands.slice(1).map((number) => readNumber(name, number)) };
    case 'import':
      refuseMore(name, more);
      return { name, file: first };
    default:
      throw new UsageError(
        `Unknown command "inspect ${name}". Use list, show, replay, edit, export, import or watch.`,
      );
  }
}

function refuseMore(name: string, more: readonly string[]): void {
  if (more.length > 0)
    throw new UsageError(`Unexpected argument "${more.join(' ')}" for "culvert inspect ${name}".`);
}

function readNumber(name: string, number: string | undefined): number {
  if (number !== undefined && /^[1-9]\d{0,14}$/.test(number)) return Number(number);
  throw new UsageError(`Specify the number of the request to ${name}, as shown by "culvert inspect".`);
}
