/** A request as it is edited, and files with requests. */
import { readFile, stat } from 'node:fs/promises';
import { editable, editableText, ImportRefused } from '../../client/inspector/edit.ts';
import { IMPORT_MAX_BYTES } from '../../client/inspector/import-text.ts';
import { utf8Text } from '../../client/inspector/readable.ts';
import { type RequestDetail, RECORDED_BODY_MAX_BYTES } from '../../client/inspector/records.ts';
import type { EditView, SignatureCheck } from '../ipc/request-views.ts';
import { t, type TextKey } from '../messages/translate.ts';

/**
 * A request as text that can be edited, without its secrets and the fields that Culvert writes.
 *
 * @param check of its signature
 */
export function editView(detail: RequestDetail, check: SignatureCheck | undefined): EditView {
  const { method, target, fields } = editable(detail);
  const { body, isTruncated } = detail.request;
  const isLarge = body.length > RECORDED_BODY_MAX_BYTES;
  return {
    method,
    target,
    fields: fields.map(([name, value]) => [name, utf8Text(value)]),
    body: isTruncated || isLarge ? undefined : editableText(body),
    bodySize: body.length,
    isLarge,
    isCut: isTruncated,
    signer: check === undefined || check.secrets.length === 0 ? undefined : check.name,
  };
}

const MIB = 1024 * 1024;

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
