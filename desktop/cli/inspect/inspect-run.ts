/** `culvert inspect`: shows the requests of a `culvert` that is running on this machine. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { REDACTED } from '../../../shared/version.ts';
import { curlCommand, shellOf } from '../../client/inspector/curl.ts';
import { ImportRefused, type RequestEdit } from '../../client/inspector/edit.ts';
import { exportHar, type Har, ifAvailable } from '../../client/inspector/har.ts';
import { importText, IMPORT_MAX_BYTES, IMPORTED_REQUESTS_MAX } from '../../client/inspector/import-text.ts';
import { matchingMessages } from '../../client/inspector/readable.ts';
import {
  findTunnels,
  type FoundTunnel,
  Inspector,
  type OtherVersion,
} from '../../client/inspector/inspector.ts';
import { runtimeFolder } from '../../client/inspector/runtime-folder.ts';
import {
  matches,
  matching,
  newLines,
  type RequestDetail,
  type RequestSummary,
  RECORDED_BODY_MAX_BYTES,
} from '../../client/inspector/records.ts';
import { textOf } from '../../client/messages.ts';
import type { CommandContext } from '../command-line/command.ts';
import { jsonLine } from '../output/format.ts';
import { changed, editedByHand, editText, type RequestChanges } from './inspect-edit.ts';
import {
  detailJson,
  detailText,
  messagesJson,
  messagesText,
  summaryJson,
  summaryLine,
  summaryTable,
} from './inspect-format.ts';
import type { Output } from '../output/reporter.ts';

/** The command as read. */
export interface InspectCommand {
  readonly action:
    | { readonly name: 'list' | 'watch' }
    | { readonly name: 'show' | 'replay'; readonly request: number; readonly asCurl: boolean }
    /** without `changes`, in an editor */
    | {
        readonly name: 'edit';
        readonly request: number;
        readonly changes: RequestChanges | undefined;
        /** signs the request again */
        readonly secret: string | undefined;
      }
    /** no numbers: all */
    | { readonly name: 'export'; readonly requests: readonly number[] }
    /** without `file`, from standard input */
    | { readonly name: 'import'; readonly file: string | undefined };
  /** id or slug; `undefined` for the only one there is */
  readonly tunnel: string | undefined;
  /** words that listed requests, or messages of a WebSocket, have; `''` for all */
  readonly filter: string;
  /** words that listed requests contain anywhere; `undefined` for all */
  readonly search?: string | undefined;
  readonly reveal: boolean;
  readonly json: boolean;
}

/** No tunnel can be inspected, or not the requested one. */
class NothingToInspect extends Error {}

/** @throws NothingToInspect, CallRefused
 */
export async function runInspect(
  command: InspectCommand,
  { output, interruptible }: CommandContext,
): Promise<void> {
  const interrupted = interruptible();
  const others: OtherVersion[] = [];
  const tunnels = await findTunnels(runtimeFolder(process.env), (other) => others.push(other));
  const tunnel = choose(tunnels, command.tunnel, others);
  const inspector = new Inspector(tunnel);
  const { action, reveal, json } = command;
  switch (action.name) {
    case 'list':
      printList(await listed(inspector, command, output), command, output);
      return;
    case 'watch': {
      const isLine = newLines();
      await inspector.follow(
        reveal,
        (summary) => {
          if (!matches(summary, command.filter)) return;
          if (json) output.out(jsonLine(summaryJson(summary)));
          else if (isLine(summary)) output.out(summaryLine(summary));
        },
        interrupted,
      );
      return;
    }
    case 'show':
      await show(inspector, tunnel, action, command, output);
      return;
    case 'replay': {
      const request = await inspector.call('log:replay', { id: action.request });
      await show(inspector, tunnel, { request, asCurl: false }, command, output);
      return;
    }
    case 'edit': {
      const edit = await editOf(inspector, action, reveal);
      if (edit === undefined) return output.err('culvert: Nothing was changed, so nothing was sent.\n');
      const { request: id, secret } = action;
      const request = await inspector.call('log:edit', { id, edit, secret });
      await show(inspector, tunnel, { request, asCurl: false }, command, output);
      return;
    }
    case 'export': {
      const { requests } = action;
      const har = await exported(inspector, { requests, filter: command.filter, reveal }, tunnel.publicUrl);
      output.out(jsonLine(har));
      if (har.log.comment !== undefined)
        output.err(`culvert: ${har.log.comment} Use --reveal to include them.\n`);
      return;
    }
    case 'import': {
      const text = (await readAll(action.file, process.stdin, IMPORT_MAX_BYTES)).toString();
      const { added, warnings } = await importRequests(inspector, text, command.filter);
      output.out(json ? jsonLine({ requests: added.map(summaryJson) }) : summaryTable(added));
      for (const warning of warnings) output.err(`culvert: ${warning}\n`);
      return;
    }
  }
}

async function editOf(
  inspector: Inspector,
  { request, changes, secret }: Extract<InspectCommand['action'], { name: 'edit' }>,
  reveal: boolean,
): Promise<RequestEdit | undefined> {
  const detail = await inspector.call('log:detail', { id: request, reveal });
  if (changes === undefined)
    return editedByHand(detail, (text) => editText(text, process.env), secret !== undefined);
  return changed(detail, changes, () => readAll('-', process.stdin, RECORDED_BODY_MAX_BYTES));
}

async function show(
  inspector: Inspector,
  { publicUrl }: FoundTunnel,
  { request, asCurl }: { readonly request: number; readonly asCurl: boolean },
  { filter, reveal, json }: InspectCommand,
  output: Output,
): Promise<void> {
  const detail = await inspector.call('log:detail', { id: request, reveal });
  if (asCurl) {
    const text = curlCommand(detail, publicUrl, shellOf(process.platform));
    output.out(`${text}\n`);
    if (text.includes(REDACTED)) output.err(redactedWarning(request));
    return;
  }
  const messages = detail.messages ? await inspector.call('log:messages', { id: request }) : undefined;
  const found = messages && { ...messages, messages: matchingMessages(messages.messages, filter) };
  output.out(
    json
      ? jsonLine({ ...detailJson(detail), ...(found === undefined ? {} : messagesJson(detail, found)) })
      : `${detailText(detail)}${found === undefined ? '' : messagesText(detail, found, filter !== '')}`,
  );
}

/** The requests that match, newest first. */
async function listed(
  inspector: Inspector,
  { filter, search, reveal }: InspectCommand,
  output: Output,
): Promise<readonly RequestSummary[]> {
  const found = search === undefined ? undefined : await inspector.call('log:search', { words: search });
  if (found?.isPartial === true)
    output.err('culvert: Some compressed bodies were not searched, because there are too many.\n');
  const all = matching(await inspector.call('log:list', { reveal }), filter);
  const ids = new Set(found?.ids);
  return found === undefined ? all : all.filter(({ id }) => ids.has(id));
}

function redactedWarning(request: number): string {
  return (
    `culvert: Secrets are shown as ${REDACTED}, so this command does not repeat the request. ` +
    `To include them, run "culvert inspect show ${request} --curl --reveal".\n`
  );
}

function printList(
  newestFirst: readonly RequestSummary[],
  { json, filter, search }: InspectCommand,
  output: Output,
): void {
  if (json) output.out(jsonLine({ requests: newestFirst.map(summaryJson) }));
  else if (newestFirst.length === 0) output.out(noneText(filter, search));
  else output.out(summaryTable(newestFirst.toReversed()));
}

function noneText(filter: string, search: string | undefined): string {
  if (search !== undefined) return 'No requests match this search.\n';
  return filter === '' ? 'No requests yet.\n' : 'No requests match this filter.\n';
}

/** @param others processes whose tunnels are unknown: one of them may serve the wanted one */
export function choose(
  tunnels: readonly FoundTunnel[],
  wanted: string | undefined,
  [other]: readonly OtherVersion[],
): FoundTunnel {
  const slugs = tunnels.map(({ slug }) => slug).join(', ');
  if (tunnels.length === 0 && other !== undefined) throw other;
  if (tunnels.length === 0)
    throw new NothingToInspect(
      'You have no tunnels running on this machine. Start one with "culvert http PORT"',
    );
  if (wanted === undefined) {
    const [only, ...more] = tunnels;
    if (only !== undefined && more.length === 0) return only;
    throw new NothingToInspect(`Several tunnels are running: ${slugs}. Choose one with --tunnel`);
  }
  const name = wanted.toLowerCase();
  const named = tunnels.filter(({ slug }) => slug === name);
  const chosen = tunnels.find(({ id }) => id === name) ?? named[0];
  // At several relays, or of several accounts.
  if (chosen?.id !== name && named.length > 1)
    throw new NothingToInspect(
      `Several tunnels are called "${wanted}". Choose one with --tunnel ID: ${named.map(({ id, publicUrl }) => `${id} (${publicUrl})`).join(', ')}`,
    );
  if (chosen === undefined && other !== undefined) throw other;
  if (chosen === undefined)
    throw new NothingToInspect(`You have no tunnel "${wanted}" running on this machine. Running: ${slugs}`);
  return chosen;
}

/** An input that could not be read; the message gives the reason. */
export class InputError extends Error {}

/**
 * Reads a file, or standard input to its end.
 *
 * @param path `undefined` or `-` for standard input
 * @param maxBytes that it may have
 * @throws InputError
 */
export async function readAll(path: string | undefined, input: Readable, maxBytes: number): Promise<Buffer> {
  const isInput = path === undefined || path === '-';
  const name = isInput ? 'Standard input' : `"${path}"`;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of isInput ? input : createReadStream(path)) {
      const bytes = Buffer.from(chunk as Uint8Array);
      size += bytes.length;
      if (size > maxBytes) throw new InputError(`${name} is longer than the limit of ${maxBytes / 1024} KiB`);
      chunks.push(bytes);
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return Buffer.concat(chunks);
}

/* `culvert inspect export` and `import`: requests to and from other programs. */

type Asked = Pick<Inspector, 'call'>;

/** What of a log is exported. */
interface Exported {
  /** their numbers; none: all that match */
  readonly requests: readonly number[];
  readonly filter: string;
  readonly reveal: boolean;
}

/**
 * The requests as a HAR: those with these numbers, or all that match, oldest first.
 *
 * @param origin of the tunnel
 * @throws CallRefused for an unknown number, or too many requests
 */
export async function exported(
  inspector: Asked,
  { requests, filter, reveal }: Exported,
  origin: string,
): Promise<Har> {
  const read = (id: number): Promise<RequestDetail> => inspector.call('log:detail', { id, reveal });
  if (requests.length > 0) return exportHar(requests, read, origin);
  const all = matching(await inspector.call('log:list', { reveal }), filter).map(({ id }) => id);
  return exportHar(all.toReversed(), (id) => ifAvailable(read(id)), origin);
}

/** Summary of an import. */
interface Imports {
  /** in order */
  readonly added: readonly RequestSummary[];
  readonly warnings: readonly string[];
}

/**
 * Adds what a HAR or a `curl` command has to the log, and sends nothing.
 *
 * @throws ImportRefused
 */
export async function importRequests(inspector: Asked, text: string, filter: string): Promise<Imports> {
  const { requests: all, leftOut } = await importText(text);
  const requests = all.filter(({ method, target, response }) =>
    matches(
      { method, target, status: response?.status, isBroken: false, visitor: undefined, webhook: undefined },
      filter,
    ),
  );
  if (requests.length > IMPORTED_REQUESTS_MAX)
    throw new ImportRefused(
      `There are ${requests.length} requests, but only ${IMPORTED_REQUESTS_MAX} can be imported at a time. Choose some with --filter.`,
    );
  const ids = new Set<number>();
  for (const request of requests) ids.add(await inspector.call('log:import', { request }));
  const added = (await inspector.call('log:list', { reveal: false }))
    .filter(({ id }) => ids.has(id))
    .toReversed();
  const hasRedacted = JSON.stringify(requests.map(({ target, fields }) => [target, fields])).includes(
    REDACTED,
  );
  const warning = `Some requests contain ${REDACTED} instead of a secret. You can fill in the secret with "culvert inspect edit".`;
  return { added, warnings: [...leftOut.map(textOf), ...(hasRedacted ? [warning] : [])] };
}
