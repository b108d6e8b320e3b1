/** `culvert inspect`: shows the requests of a `culvert` that is running on this machine. */
import { curlCommand } from '../engine/inspector/curl.ts';
import type { RequestSummary } from '../engine/inspector/records.ts';
import { findTunnels, type FoundTunnel, Inspector } from '../engine/inspector/socket/inspector-client.ts';
import type { RuntimeFolder } from '../engine/inspector/socket/runtime-folder.ts';
import type { InspectCommand } from './inspect-arguments.ts';
import { detailJson, detailText, summaryJson, summaryLine, summaryTable } from './inspect-format.ts';
import { jsonLine } from './json-line.ts';
import type { Output } from './reporter.ts';

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
      printList(await inspector.list(reveal), json, output);
      return;
    case 'watch':
      await inspector.watch(reveal, (summary) => printWatched(summary, json, output), interrupted);
      return;
    case 'show':
      await show(inspector, tunnel, action, command, output);
      return;
    case 'replay': {
      const request = await inspector.replay(action.request);
      await show(inspector, tunnel, { request, asCurl: false }, command, output);
      return;
    }
  }
}

async function show(
  inspector: Inspector,
  { publicUrl }: FoundTunnel,
  { request, asCurl }: { readonly request: number; readonly asCurl: boolean },
  { reveal, json }: InspectCommand,
  output: Output,
): Promise<void> {
  const detail = await inspector.show(request, reveal);
  if (asCurl) output.out(`${curlCommand(detail, publicUrl)}\n`);
  else output.out(json ? jsonLine(detailJson(detail)) : detailText(detail));
}

function printList(newestFirst: readonly RequestSummary[], json: boolean, output: Output): void {
  if (json) output.out(jsonLine({ requests: newestFirst.map(summaryJson) }));
  else if (newestFirst.length === 0) output.out('No requests yet.\n');
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
