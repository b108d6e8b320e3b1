/** In which folder the program runs that listens on a port. */
import { readlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { listListeners } from '../ports/linux.ts';
import type { Listener } from '../ports/port-scan.ts';
import { listWithLsof, type Run, run } from '../ports/programs.ts';

/** Finds the folder of a server; `undefined` if that cannot be found out, or says nothing about its files. */
export type FindServerFolder = (port: number) => Promise<string | undefined>;

/**
 * Windows tells nobody in which folder another program runs.
 *
 * @param own process ids of Culvert itself, asked for each time
 */
export function createServerFolder(
  platform: NodeJS.Platform,
  own: () => ReadonlySet<number>,
): FindServerFolder {
  if (platform === 'linux') return (port) => folderOf(port, own(), listListeners, (pid) => linuxFolder(pid));
  if (platform === 'darwin') return (port) => folderOf(port, own(), listWithLsof, (pid) => lsofFolder(pid));
  return () => Promise.resolve(undefined);
}

/** @param read the folder of a process; rejects if it cannot be read */
export async function folderOf(
  port: number,
  own: ReadonlySet<number>,
  list: () => Promise<readonly Listener[]>,
  read: (pid: number) => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    const listeners = (await list()).filter((listener) => listener.port === port);
    const pid = listeners.find((listener) => listener.pid !== undefined && !own.has(listener.pid))?.pid;
    const folder = pid === undefined ? undefined : await read(pid);
    return folder !== undefined && isOfOneProject(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** @param root `/proc`, or another directory in tests */
export function linuxFolder(pid: number, root = '/proc'): Promise<string> {
  return readlink(join(root, String(pid), 'cwd'));
}

/** macOS: `-d cwd` has lsof show that folder only. */
export async function lsofFolder(pid: number, exec: Run = run): Promise<string | undefined> {
  const text = await exec('/usr/sbin/lsof', ['-a', '-p', String(pid), '-d', 'cwd', '-Fn']);
  return /^n(\/.*)$/m.exec(text)?.[1];
}

/** Whether a folder can be a project: services of the system run in `/`, and what is started by hand at times in the home folder. */
export function isOfOneProject(folder: string, home = homedir()): boolean {
  for (let path = home; ; path = dirname(path)) {
    if (path === folder) return false;
    if (path === dirname(path)) return true;
  }
}
