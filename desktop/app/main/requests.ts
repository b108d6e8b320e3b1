/** Requests of a log: edited and sent again, written to a HAR, and imported. */
import { readFile, stat } from 'node:fs/promises';
import { setImmediate as otherWork } from 'node:timers/promises';
import { REDACTED } from '../../../shared/version.ts';
import {
  editable,
  editableText,
  EditRefused,
  ImportRefused,
  type RequestEdit,
  shownValue,
  writtenValue,
} from '../../client/inspector/edit.ts';
import { type Har, harEntry, type HarEntry, harOfEntries } from '../../client/inspector/har.ts';
import { importText, IMPORT_MAX_BYTES, IMPORTED_REQUESTS_MAX } from '../../client/inspector/import-text.ts';
import { type RequestDetail, RECORDED_BODY_MAX_BYTES } from '../../client/inspector/records.ts';
import type {
  EditForm,
  EditView,
  Imported,
  SendResult,
  SignatureCheck,
  WrittenHar,
} from '../ipc/request-views.ts';
import { translateMessage } from '../messages/message-text.ts';
import { t, type TextKey } from '../messages/translate.ts';
import { CallFailure } from './failure.ts';
import type { Platform } from './platform.ts';
import type { Signatures, SignedTunnel } from './signing.ts';
import type { TunnelItem } from './tunnels/tunnel-item.ts';

/** Maximum size of an exported HAR file: what `culvert inspect import` takes. */
export const HAR_MAX_BYTES = 32 * 1024 * 1024;

/**
 * @param detail without its secrets
 * @param check of its signature
 */
export function editView(detail: RequestDetail, check: SignatureCheck | undefined): EditView {
  const { method, target, fields } = editable(detail);
  const { body, isTruncated } = detail.request;
  const isLarge = body.length > RECORDED_BODY_MAX_BYTES;
  return {
    method,
    target,
    fields: fields.map(([name, value]) => [name, shownValue(value)]),
    body: isTruncated || isLarge ? undefined : editableText(body),
    bodySize: body.length,
    isLarge,
    isCut: isTruncated,
    signer: check === undefined || check.secrets.length === 0 ? undefined : check.name,
  };
}

/**
 * Sends an edited request to the local service. Problems of its parts are a result, which the window shows beside each part.
 *
 * @throws ReplayRefused, CallFailure
 */
export function sendEdited(
  tunnel: SignedTunnel,
  id: number,
  form: EditForm,
  signatures: Pick<Signatures, 'replayEdited'>,
): Promise<SendResult> {
  if (!form.signs) return sendUnsigned(tunnel, id, form);
  return withProblems(signatures.replayEdited(tunnel, id, editOf(form)));
}

/** The same without a new signature. */
export function sendUnsigned(
  { replayer }: { readonly replayer: Pick<SignedTunnel['replayer'], 'replayEdited'> },
  id: number,
  form: EditForm,
): Promise<SendResult> {
  return withProblems(replayer.replayEdited(id, editOf(form)));
}

function editOf({ method, target, fields, body }: EditForm): RequestEdit {
  return {
    method,
    target,
    fields: fields.map(([name, value]) => [name, writtenValue(value)] as const),
    body: body === null ? undefined : new TextEncoder().encode(body),
  };
}

async function withProblems(sending: Promise<number>): Promise<SendResult> {
  try {
    return { sent: await sending };
  } catch (error) {
    if (error instanceof EditRefused)
      return { problems: error.problems.map(({ part, said }) => ({ part, text: translateMessage(said) })) };
    throw error;
  }
}

/* Export to a HAR, in a file that the user names. */

type Exported = {
  readonly log: {
    detail(id: number, reveal: boolean): RequestDetail | undefined | Promise<RequestDetail>;
  };
} & {
  readonly tunnel: Pick<TunnelItem['tunnel'], 'slug' | 'public_url'>;
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
  // The relay chooses the slug, and must not be able to name another folder.
  const file = await chooseFileToWrite(`${tunnel.tunnel.slug.replaceAll(/[^a-z0-9-]/g, '')}.har`);
  if (file === undefined) return undefined;
  const { path } = file;
  try {
    await file.write(JSON.stringify(har));
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
    const detail = await log.detail(id, reveal);
    if (detail === undefined) continue;
    const entry = harEntry(detail, tunnel.public_url);
    size += Buffer.byteLength(JSON.stringify(entry));
    if (size > HAR_MAX_BYTES) throw tooLarge(entries.length);
    entries.push(entry);
    // In between, visitors are served.
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

/* Import into the log of a tunnel, which sends nothing. */

type Importing = {
  readonly log: Pick<TunnelItem['log'], 'add'>;
  readonly served: Pick<TunnelItem['served'], 'settings' | 'localHost'>;
};

const MIB = 1024 * 1024;

/**
 * Adds the requests of a HAR or a `curl` command that can be sent, or none if that fails.
 *
 * @throws ImportRefused
 */
export async function importInto({ log, served }: Importing, text: string): Promise<Imported> {
  if ('folder' in served.settings.target) throw new ImportRefused(t('problem.importFolder'));
  const { requests, leftOut } = await importText(text, IMPORTED_REQUESTS_MAX);
  const ids = requests.map((request) => log.add(request, served.localHost));
  const written = JSON.stringify(requests.map(({ target, fields }) => [target, fields]));
  return { ids, leftOut: leftOut.map(translateMessage), hasRedacted: written.includes(REDACTED) };
}

/**
 * The same with a HAR that the user chooses.
 *
 * @returns `undefined` if the user chooses no file
 * @throws ImportRefused
 */
export async function importFile(
  tunnel: Importing,
  { chooseHarToRead }: Pick<Platform, 'chooseHarToRead'>,
): Promise<Imported | undefined> {
  const text = await chooseHarToRead();
  return text === undefined ? undefined : importInto(tunnel, text);
}

/** Reads a file to import. @throws ImportRefused */
export async function readToImport(path: string): Promise<string> {
  try {
    const found = await stat(path);
    // A pipe may never end.
    if (!found.isFile()) throw new ImportRefused(t('problem.importNoFile', { path }));
    if (found.size > IMPORT_MAX_BYTES) throw importTooLarge(path, found.size);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof ImportRefused) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ImportRefused(t('problem.importNotRead', { path, why }));
  }
}

/** @param size in bytes */
export function importTooLarge(path: string, size: number): ImportRefused {
  const values = { path, size: Math.ceil(size / MIB), max: IMPORT_MAX_BYTES / MIB };
  return new ImportRefused(t('problem.importTooLarge', values));
}

/* Why a file cannot be written, by Node's error code, as the end of a sentence. */

const WORDS: Readonly<Record<string, TextKey>> = {
  EACCES: 'writing.mayNot',
  EPERM: 'writing.mayNot',
  EROFS: 'writing.readOnly',
  ENOSPC: 'writing.noRoom',
  EDQUOT: 'writing.noRoom',
  EISDIR: 'writing.isFolder',
  ENOTEMPTY: 'writing.isFolder',
  EEXIST: 'writing.isFolder',
  ENAMETOOLONG: 'writing.longName',
};

/** @returns words for people; the system's own for an unknown error */
export function writeProblem(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  const known = WORDS[code];
  if (known !== undefined) return t(known);
  return error instanceof Error ? error.message : String(error);
}
