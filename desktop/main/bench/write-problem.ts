/** Why a file cannot be written, by Node's code of the error, as the end of a sentence. */
import { t, type TextKey } from '../../i18n/translate.ts';
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

/** @returns words for people; for an error that is not a known one, what the system says */
export function writeProblem(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  const known = WORDS[code];
  if (known !== undefined) return t(known);
  return error instanceof Error ? error.message : String(error);
}
