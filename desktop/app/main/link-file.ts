/** A page on disk that opens the window in a browser. */
import { join } from 'node:path';
import { DurableFile } from '../../client/config/durable-file.ts';

const NAME = 'open-window.html';

/**
 * Writes a file that only this user can read: other users can see the arguments of the program that opens it, and must
 * not see the link.
 *
 * @param directory of the app's files
 * @returns its path
 */
export async function writeLinkFile(directory: string, link: string): Promise<string> {
  const file = new DurableFile(join(directory, NAME));
  await file.write(
    `<!doctype html><meta charset="utf-8"><title>Culvert</title><meta http-equiv="refresh" content="0; url=${link}">\n`,
  );
  return file.path;
}

export async function removeLinkFile(directory: string): Promise<void> {
  await new DurableFile(join(directory, NAME)).remove();
}
