/** Requests that were written down elsewhere, brought into the log of a tunnel. Nothing is sent. */
import { readFile, stat } from 'node:fs/promises';
import { told } from '../../i18n/told.ts';
import { t } from '../../i18n/translate.ts';
import { REDACTED } from '../../../shared/redacted.ts';
import { importText } from '../../engine/inspector/transfer/import-text.ts';
import { ImportRefused } from '../../engine/inspector/transfer/imported.ts';
import { IMPORT_MAX_BYTES, IMPORTED_REQUESTS_MAX } from '../../engine/limits.ts';
import { replacementHost } from '../../engine/local/host-header.ts';
import type { Imported } from '../../shared/transfer.ts';
import type { Platform } from '../platform.ts';
import type { DeskTunnel } from '../tunnels/desk-tunnel.ts';
import { localTarget } from '../tunnels/serve.ts';

type Importing = Pick<DeskTunnel, 'form'> & {
  readonly log: Pick<DeskTunnel['log'], 'add'>;
  readonly tunnel: Pick<DeskTunnel['tunnel'], 'public_url'>;
};

const MIB = 1024 * 1024;

/**
 * Adds what a HAR or a `curl` command has: all of it that can be sent, or nothing.
 *
 * @throws ImportRefused
 */
export async function importInto(tunnel: Importing, text: string): Promise<Imported> {
  const { log, form } = tunnel;
  if (form.folder !== undefined) throw new ImportRefused(t('problem.importFolder'));
  const { requests, leftOut } = await importText(text, IMPORTED_REQUESTS_MAX);
  const host = localHost(tunnel);
  const ids = requests.map((request) => log.add(request, host));
  const written = JSON.stringify(requests.map(({ target, fields }) => [target, fields]));
  return { ids, leftOut: leftOut.map(told), hasRedacted: written.includes(REDACTED) };
}

/** The Host that the local service of a tunnel gets. */
export function localHost({ form, tunnel }: Pick<Importing, 'form' | 'tunnel'>): string {
  return replacementHost(form.hostHeader, localTarget(form)) ?? new URL(tunnel.public_url).host;
}

/**
 * The same with a HAR that the user chooses.
 *
 * @returns `undefined` if the user chooses none
 * @throws ImportRefused
 */
export async function importFile(
  tunnel: Importing,
  { chooseHarToRead }: Pick<Platform, 'chooseHarToRead'>,
): Promise<Imported | undefined> {
  const path = await chooseHarToRead();
  return path === undefined ? undefined : importInto(tunnel, await read(path));
}

async function read(path: string): Promise<string> {
  try {
    const found = await stat(path);
    // Others, such as pipes, may never end.
    if (!found.isFile()) throw new ImportRefused(t('problem.importNoFile', { path }));
    if (found.size > IMPORT_MAX_BYTES) throw tooLarge(path, found.size);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof ImportRefused) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ImportRefused(t('problem.importNotRead', { path, why }));
  }
}

function tooLarge(path: string, size: number): ImportRefused {
  const values = { path, size: Math.ceil(size / MIB), max: IMPORT_MAX_BYTES / MIB };
  return new ImportRefused(t('problem.importTooLarge', values));
}
