/** `culvert inspect export` and `import`: requests to and from other programs. */
import { REDACTED } from '../../../shared/redacted.ts';
import { matches, matching } from '../../engine/inspector/filter.ts';
import { IMPORTED_REQUESTS_MAX } from '../../engine/limits.ts';
import type { RequestDetail, RequestSummary } from '../../engine/inspector/records.ts';
import { type Inspector, InspectRefused } from '../../engine/inspector/socket/inspector-client.ts';
import { harOf } from '../../engine/inspector/transfer/har-export.ts';
import type { Har } from '../../engine/inspector/transfer/har.ts';
import { importText } from '../../engine/inspector/transfer/import-text.ts';
import { ImportRefused } from '../../engine/inspector/transfer/imported.ts';
import { textOf } from '../../engine/said/said.ts';

/** What of a log is exported. */
export interface Exported {
  /** their numbers; none: all that match */
  readonly requests: readonly number[];
  readonly filter: string;
  readonly reveal: boolean;
}

/**
 * The requests as a HAR, oldest first.
 *
 * @param origin of the tunnel
 * @throws InspectRefused for a number that is not there
 */
export async function exportHar(
  inspector: Pick<Inspector, 'list' | 'show'>,
  { requests, filter, reveal }: Exported,
  origin: string,
): Promise<Har> {
  const details: RequestDetail[] = [];
  if (requests.length > 0) for (const id of requests) details.push(await inspector.show(id, reveal));
  else
    for (const { id } of matching(await inspector.list(reveal), filter).toReversed()) {
      const detail = await ifThere(inspector.show(id, reveal));
      if (detail !== undefined) details.push(detail);
    }
  return harOf(details, origin);
}

/** Meanwhile the log may have dropped a request, or not have all of its head yet. */
async function ifThere(shown: Promise<RequestDetail>): Promise<RequestDetail | undefined> {
  try {
    return await shown;
  } catch (error) {
    if (error instanceof InspectRefused && error.code === 'unknown-request') return undefined;
    throw error;
  }
}

/** What was imported, and what to say about it. */
export interface Imports {
  /** in order */
  readonly added: readonly RequestSummary[];
  readonly warnings: readonly string[];
}

/**
 * Adds what a HAR or a `curl` command has to the log, and sends nothing.
 *
 * @throws ImportRefused
 */
export async function importRequests(
  inspector: Pick<Inspector, 'list' | 'add'>,
  text: string,
  filter: string,
): Promise<Imports> {
  const { requests: all, leftOut } = await importText(text);
  const requests = all.filter(({ method, target, response }) =>
    matches(
      { method, target, status: response?.status, isBroken: false, visitor: undefined, webhook: undefined },
      filter,
    ),
  );
  if (requests.length > IMPORTED_REQUESTS_MAX)
    throw new ImportRefused(
      `There are ${requests.length} requests, and ${IMPORTED_REQUESTS_MAX} are taken at a time: choose with --filter.`,
    );
  const ids = new Set<number>();
  for (const request of requests) ids.add(await inspector.add(request));
  const added = (await inspector.list(false)).filter(({ id }) => ids.has(id)).toReversed();
  const hasRedacted = JSON.stringify(requests.map(({ target, fields }) => [target, fields])).includes(
    REDACTED,
  );
  const warning = `Some have ${REDACTED} in place of secrets: "culvert inspect edit" writes them.`;
  return { added, warnings: [...leftOut.map(textOf), ...(hasRedacted ? [warning] : [])] };
}
