/** `culvert inspect`: shows the requests of a `culvert` that is running on this machine. */
import { REDACTED } from '../../../shared/redacted.ts';
import { curlCommand, shellOf } from '../../engine/inspector/curl.ts';
import { matches, matching } from '../../engine/inspector/filter.ts';
import type { RequestEdit } from '../../engine/inspector/editing/request-edit.ts';
import { RECORDED_BODY_MAX_BYTES } from '../../engine/limits.ts';
import type { RequestSummary } from '../../engine/inspector/records.ts';
import { findTunnels, type FoundTunnel, Inspector } from '../../engine/inspector/socket/inspector-client.ts';
import type { RuntimeFolder } from '../../engine/inspector/socket/runtime-folder.ts';
import type { InspectCommand } from '../arguments/inspect-arguments.ts';
import { detailJson, detailText, summaryJson, summaryLine, summaryTable } from '../inspect-format.ts';
import { changed, editedByHand } from '../inspect/edit.ts';
import { editText } from '../inspect/editor.ts';
import { readAll } from '../inspect/read-all.ts';
import { exportHar, importRequests } from '../inspect/transfer.ts';
import { jsonLine } from '../json-line.ts';
import { IMPORT_MAX_BYTES } from '../../engine/limits.ts';
import type { Output } from '../reporter.ts';

/** No tunnel can be inspected, or not the requested one. */
export class NothingToInspect extends Error {}

/**
 * @param interrupted aborted by Ctrl-C, which ends a watch
 * @throws NothingToInspect, InspectRefused
 */
export async function runInspect(
  command: InspectCommand,
  folder: RuntimeFolder,
  output: Output,
  interrupted: AbortSignal,
): Promise<void> {
  const tunnel = choose(await findTunnels(folder), command.tunnel);
  const inspector = new Inspector(tunnel);
  const { action, reveal, json } = command;
  switch (action.name) {
    case 'list':
      printList(matching(await inspector.list(reveal), command.filter), command, output);
      return;
    case 'watch':
      await inspector.watch(
        reveal,
        (summary) => {
          if (matches(summary, command.filter)) printWatched(summary, json, output);
        },
        interrupted,
      );
      return;
    case 'show':
      await show(inspector, tunnel, action, command, output);
      return;
    case 'replay': {
      const request = await inspector.replay(action.request);
      await show(inspector, tunnel, { request, asCurl: false }, command, output);
      return;
    }
    case 'edit': {
      const edit = await editOf(inspector, action, reveal);
      if (edit === undefined) return output.err('Nothing was changed, so nothing was sent.\n');
      const request = await inspector.replayEdited(action.request, edit);
      await show(inspector, tunnel, { request, asCurl: false }, command, output);
      return;
    }
    case 'export': {
      const { requests } = action;
      const har = await exportHar(inspector, { requests, filter: command.filter, reveal }, tunnel.publicUrl);
      output.out(jsonLine(har));
      if (har.log.comment !== undefined)
        output.err(`${har.log.comment} --reveal writes them as they were.\n`);
      return;
    }
    case 'import': {
      const text = (await readAll(action.file, process.stdin, IMPORT_MAX_BYTES)).toString();
      const { added, warnings } = await importRequests(inspector, text, command.filter);
      output.out(json ? jsonLine({ requests: added.map(summaryJson) }) : summaryTable(added));
      for (const warning of warnings) output.err(`${warning}\n`);
      return;
    }
  }
}

async function editOf(
  inspector: Inspector,
  { request, changes }: Extract<InspectCommand['action'], { name: 'edit' }>,
  reveal: boolean,
): Promise<RequestEdit | undefined> {
  const detail = await inspector.show(request, reveal);
  if (changes === undefined) return editedByHand(detail, (text) => editText(text, process.env));
  return changed(detail, changes, () => readAll('-', process.stdin, RECORDED_BODY_MAX_BYTES));
}

async function show(
  inspector: Inspector,
  { publicUrl }: FoundTunnel,
  { request, asCurl }: { readonly request: number; readonly asCurl: boolean },
  { reveal, json }: InspectCommand,
  output: Output,
): Promise<void> {
  const detail = await inspector.show(request, reveal);
  if (asCurl) {
    const text = curlCommand(detail, publicUrl, shellOf(process.platform));
    output.out(`${text}\n`);
    if (text.includes(REDACTED)) output.err(redactedWarning(request));
  } else output.out(json ? jsonLine(detailJson(detail)) : detailText(detail));
}

function redactedWarning(request: number): string {
  return (
    `Secrets are written as ${REDACTED}, so this command will not do what the request did: ` +
    `"culvert inspect show ${request} --curl --reveal" writes them as they were.\n`
  );
}

function printList(
  newestFirst: readonly RequestSummary[],
  { json, filter }: InspectCommand,
  output: Output,
): void {
  if (json) output.out(jsonLine({ requests: newestFirst.map(summaryJson) }));
  else if (newestFirst.length === 0)
    output.out(filter === '' ? 'No requests yet.\n' : 'No request has all of these words.\n');
  else output.out(summaryTable(newestFirst.toReversed()));
}

/** A request is shown to people once, when it is over. */
function printWatched(summary: RequestSummary, json: boolean, output: Output): void {
  if (json) output.out(jsonLine(summaryJson(summary)));
  else if (summary.durationMs !== undefined || summary.status === 101) output.out(summaryLine(summary));
}

function choose(tunnels: readonly FoundTunnel[], wanted: string | undefined): FoundTunnel {
  const slugs = tunnels.map(({ slug }) => slug).join(', ');
  if (tunnels.length === 0)
    throw new NothingToInspect(
      'No culvert of yours serves a tunnel on this machine. Start one with "culvert http PORT"',
    );
  if (wanted === undefined) {
    const [only, ...more] = tunnels;
    if (only !== undefined && more.length === 0) return only;
    throw new NothingToInspect(`There are several tunnels: ${slugs}. Choose one with --tunnel`);
  }
  const name = wanted.toLowerCase();
  const chosen = tunnels.find(({ id }) => id === name) ?? tunnels.find(({ slug }) => slug === name);
  if (chosen === undefined)
    throw new NothingToInspect(`No culvert of yours serves "${wanted}" on this machine; there are ${slugs}`);
  return chosen;
}
