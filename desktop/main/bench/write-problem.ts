/** Why a file cannot be written, by Node's code of the error, as the end of a sentence. */
const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  EROFS: 'nothing can be written there',
  ENOSPC: 'there is no room left',
  EDQUOT: 'there is no room left',
  EISDIR: 'a folder has this name',
  ENOTEMPTY: 'a folder has this name',
  EEXIST: 'a folder has this name',
  ENAMETOOLONG: 'the name is too long',
};

/** @returns words for people; for an error that is not a known one, what the system says */
export function writeProblem(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  return WORDS[code] ?? (error instanceof Error ? error.message : String(error));
}
