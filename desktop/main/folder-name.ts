import { basename } from 'node:path';

/** As people call it. The root of a disk has no other name than its path. */
export function folderName(path: string): string {
  return basename(path) || path;
}
