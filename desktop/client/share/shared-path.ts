/** Finds the visible file or folder below a shared folder that a request names. */
import type { Stats } from 'node:fs';
import { constants, type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';

/** A shared folder. */
export interface SharedRoot {
  /** its real path, see `realpath` */
  readonly path: string;
  /** real paths of Culvert's own files and folders, which contain passwords and keys: never shared, under any name */
  readonly own?: readonly string[];
}

/** A file or folder that was found. */
export interface SharedEntry {
  /** its real path, with links followed */
  readonly path: string;
  readonly isFolder: boolean;
  /** in bytes */
  readonly size: number;
  /** when its content was last changed */
  readonly changed: Date;
}

/**
 * Decodes the names in a request target.
 *
 * @param target of the request (RFC 9112 section 3.2.1)
 * @returns `undefined` if it is not a path, or badly encoded
 */
export function readTarget(target: string): string[] | undefined {
  const [path = ''] = target.split('?', 1);
  if (!path.startsWith('/')) return undefined;
  try {
    return decodeURIComponent(path).split('/').filter(Boolean);
  } catch {
    return undefined;
  }
}

/**
 * Rejects names that begin with a dot, which are private (`.env`, `.git`) or lead upwards. Rejects `culvert.yml`, which
 * may contain passwords, and copies that editors make of it (`culvert.yml~`, `#culvert.yml#`, `culvert.yml.bak`). A
 * backslash separates names on some systems, and no system has a NUL in a name.
 */
export function isPublicName(name: string, platform: NodeJS.Platform = process.platform): boolean {
  if (/^\.|[\\/\0]|culvert\.ya?ml/i.test(name)) return false;
  return platform !== 'win32' || !NO_FILE_ON_WINDOWS.test(name);
}

/**
 * Devices, with any extension; alternate streams of a file (`a.txt:b`); and characters that Windows drops at the end of
 * a name.
 */
const NO_FILE_ON_WINDOWS =
  /[:*?"<>|]|[ .]$|^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³]) *(?:\.|$)/i;

/**
 * Finds what is shared under these names. Links are followed at each request, so that a link made later cannot point
 * outside either. A link to another public place within the folder is accepted.
 *
 * @returns `undefined` if it does not exist, is private, or is neither a file nor a folder
 */
export async function findShared(
  root: SharedRoot,
  names: readonly string[],
): Promise<SharedEntry | undefined> {
  if (!names.every((name) => isPublicName(name))) return undefined;
  try {
    const path = await realpath(join(root.path, ...names));
    if (!isBelow(root.path, path, isPublicName)) return undefined;
    if (root.own?.some((own) => isBelow(own, path)) === true) return undefined;
    const found = await stat(path);
    // Reading a pipe waits for its writer, and a device may have no end.
    if (!found.isFile() && !found.isDirectory()) return undefined;
    return { path, isFolder: found.isDirectory(), size: found.size, changed: found.mtime };
  } catch {
    // Missing, too long, a circle of links, or forbidden to this user: a visitor sees no difference.
    return undefined;
  }
}

/** An open file. */
interface OpenFile {
  readonly file: FileHandle;
  readonly stats: Stats;
}

/**
 * Opens a file that was found, without blocking.
 *
 * @returns `undefined` if something has replaced it: a link, a folder on the way that is now a link, or a pipe
 */
export async function openShared({ path }: SharedEntry): Promise<OpenFile | undefined> {
  const file = await open(path, OPEN_FLAGS).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    const isSame = stats.isFile() && (await realpath(path)) === path && isSameFile(stats, await lstat(path));
    if (isSame) return { file, stats };
  } catch {
    // The file is gone.
  }
  await file.close();
  return undefined;
}

/** Windows supports neither of the last two. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

function isSameFile(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

/** Whether a path is a folder itself, or below it through names that all pass. */
function isBelow(folder: string, path: string, passes: (name: string) => boolean = () => true): boolean {
  const below = relative(folder, path);
  // An absolute path means another drive.
  if (below === '' || isAbsolute(below)) return below === '';
  return below.split(sep).every((name) => name !== '..' && passes(name));
}
