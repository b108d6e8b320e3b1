/** Requests of a tunnel's log as a HAR, in a file that the user names. */
import { setImmediate as otherWork } from 'node:timers/promises';
import { t } from '../../i18n/translate.ts';
import { DurableFile } from '../../config/durable-file.ts';
import { harEntry, harOfEntries } from '../../engine/inspector/transfer/har-export.ts';
import type { Har, HarEntry } from '../../engine/inspector/transfer/har.ts';
import type { WrittenHar } from '../../shared/transfer.ts';
import { CallFailure } from '../failure.ts';
import { HAR_MAX_BYTES } from '../limits.ts';
import type { Platform } from '../platform.ts';
import type { DeskTunnel } from '../tunnels/desk-tunnel.ts';
import { writeProblem } from './write-problem.ts';

type Exported = { readonly log: Pick<DeskTunnel['log'], 'detail'> } & {
  readonly tunnel: Pick<DeskTunnel['tunnel'], 'slug' | 'public_url'>;
};

/**
 * Writes requests, oldest first, to a file that only its owner can read.
 *
 * @param reveal whether the values of secrets are in it
 * @returns `undefined` if the user does not want a file
 * @throws CallFailure
 */
export async function exportHar(
  tunnel: Exported,
  ids: readonly number[],
  reveal: boolean,
  { chooseFileToWrite }: Pick<Platform, 'chooseFileToWrite'>,
): Promise<WrittenHar | undefined> {
  const har = await harOfRequests(tunnel, ids, reveal);
  const { entries, comment } = har.log;
  // A slug comes from the relay, and must not name another folder.
  const path = await chooseFileToWrite(`${tunnel.tunnel.slug.replaceAll(/[^a-z0-9-]/g, '')}.har`);
  if (path === undefined) return undefined;
  try {
    await new DurableFile(path).write(JSON.stringify(har));
  } catch (error) {
    throw new CallFailure({
      code: 'not-written',
      text: t('problem.fileNotWritten', { path, why: writeProblem(error) }),
    });
  }
  return {
    path,
    count: entries.length,
    missing: ids.length - entries.length,
    hidesSecrets: comment !== undefined,
  };
}

async function harOfRequests(
  { log, tunnel }: Exported,
  ids: readonly number[],
  reveal: boolean,
): Promise<Har> {
  const entries: HarEntry[] = [];
  let size = 0;
  for (const id of ids.toSorted((one, other) => one - other)) {
    const detail = log.detail(id, reveal);
    if (detail === undefined) continue;
    const entry = harEntry(detail, tunnel.public_url);
    size += Buffer.byteLength(JSON.stringify(entry));
    if (size > HAR_MAX_BYTES) throw tooLarge(entries.length);
    entries.push(entry);
    // Visitors are served meanwhile.
    await otherWork();
  }
  if (entries.length > 0) return harOfEntries(entries);
  throw new CallFailure({
    code: 'no-such-request',
    text: t('problem.requestsGone'),
  });
}

function tooLarge(count: number): CallFailure {
  const text = t('problem.harTooLarge', { max: HAR_MAX_BYTES / 1024 / 1024, count });
  return new CallFailure({ code: 'too-large', text });
}
