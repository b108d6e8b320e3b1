/** Which file or folder below a shared folder a request names, if it may be seen. */
import type { Stats } from 'node:fs';
import { constants, type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';

/** A folder that is shared. */
export interface SharedRoot {
  /** where it really is, see `realpath` */
  readonly path: string;
  /** where files and folders of Culvert's own really are, which hold passwords and keys: not shared, whatever they are called */
  readonly own?: readonly string[];
}

/** What is there. */
export interface SharedEntry {
  /** where it really is, with links followed */
  readonly path: string;
  readonly isFolder: boolean;
}

/**
 * The names in a request target, decoded.
 *
 * @param target of the request (RFC 9112 section 3.2.1)
 * @returns `undefined` for one that is not a path, or not well encoded
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
 * Names that begin with a dot are private (`.env`, `.git`) or lead upwards, and `culvert.yml` may have passwords, as may the
 * copies that editors keep of it (`culvert.yml~`, `#culvert.yml#`, `culvert.yml.bak`). A backslash separates names on some
 * systems, and no system has a NUL in a name.
 */
export function isPublicName(name: string, platform: NodeJS.Platform = process.platform): boolean {
  if (/^\.|[\\/\0]|culvert\.ya?ml/i.test(name)) return false;
  return platform !== 'win32' || !NO_FILE_ON_WINDOWS.test(name);
}

/** Devices, whatever their extension; other streams of a file (`a.txt:b`); and what Windows drops at the end of a name. */
const NO_FILE_ON_WINDOWS =
  /[:*?"<>|]|[ .]$|^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³]) *(?:\.|$)/i;

/**
 * Finds what is shared under these names. Links are followed each time, so that one that is made later leads out no more
 * than one that was there; one that leads to another public place within the folder counts.
 *
 * @returns `undefined` for what is not there, may not be seen, or is neither a file nor a folder
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
    // Reading a pipe waits for who writes it, and a device may have no end.
    if (!found.isFile() && !found.isDirectory()) return undefined;
    return { path, isFolder: found.isDirectory() };
  } catch {
    // Not there, too long, a circle of links, or not for this user: to a visitor all of these are the same.
    return undefined;
  }
}

/** A file that is open. */
export interface OpenFile {
  readonly file: FileHandle;
  readonly stats: Stats;
}

/**
 * Opens a file that was found, and waits for nobody.
 *
 * @returns `undefined` if something else has taken its place: a link, or a folder on the way that is one by now, or a pipe
 */
export async function openShared({ path }: SharedEntry): Promise<OpenFile | undefined> {
  const file = await open(path, OPEN_FLAGS).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    const isSame = stats.isFile() && (await realpath(path)) === path && isSameFile(stats, await lstat(path));
    if (isSame) return { file, stats };
  } catch {
    // It is gone.
  }
  await file.close();
  return undefined;
}

/** Windows knows neither of the last two. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export function isSameFile(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

/** Whether a path is that of a folder, or below it by names that all pass. */
function isBelow(folder: string, path: string, passes: (name: string) => boolean = () => true): boolean {
  const below = relative(folder, path);
  // Absolute: on another drive.
  if (below === '' || isAbsolute(below)) return below === '';
  return below.split(sep).every((name) => name !== '..' && passes(name));
}
