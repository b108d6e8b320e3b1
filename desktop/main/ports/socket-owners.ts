/** Which process has a listening socket, on Linux. */
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { PROCESS_FILES_MAX, PROCESSES_MAX } from '../limits.ts';

/**
 * Remembers which process has a socket. Finding out means a look at every open file of this user, so that is done only when a
 * socket is new or its process is gone.
 */
export class SocketOwners {
  readonly #root: string;
  /** inode to process; `undefined` if this user may not see it */
  #known = new Map<string, number | undefined>();

  /** @param root `/proc`, or another directory in tests */
  constructor(root: string) {
    this.#root = root;
  }

  /** The process of each socket, as far as this user may see it. */
  async find(inodes: ReadonlySet<string>): Promise<ReadonlyMap<string, number | undefined>> {
    const entries = await names(this.#root);
    const running = new Set(entries);
    const isKnown = (inode: string): boolean => {
      const pid = this.#known.get(inode);
      return pid === undefined ? this.#known.has(inode) : running.has(String(pid));
    };
    if (![...inodes].every(isKnown)) this.#known = await this.#look(inodes, latestProcesses(entries));
    return this.#known;
  }

  async #look(
    inodes: ReadonlySet<string>,
    processes: readonly number[],
  ): Promise<Map<string, number | undefined>> {
    const owners = new Map<string, number | undefined>([...inodes].map((inode) => [inode, undefined]));
    let left = inodes.size;
    for (const pid of processes) {
      if (left === 0) break;
      const directory = join(this.#root, String(pid), 'fd');
      for (const fd of firstFiles(await names(directory))) {
        const inode = /^socket:\[(\d+)\]$/.exec(await link(join(directory, fd)))?.[1];
        if (inode === undefined || !inodes.has(inode)) continue;
        if (owners.get(inode) === undefined) left -= 1;
        owners.set(inode, pid);
      }
    }
    return owners;
  }
}

/**
 * The processes among the names in `/proc`, or only the latest if they are too many: a server under development is not among
 * those started first.
 */
export function latestProcesses(entries: readonly string[]): number[] {
  const pids = entries.filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.sort((a, b) => a - b).slice(-PROCESSES_MAX);
}

/** The open files that are examined of a process, by their numbers: a server opens its socket before those of its clients. */
export function firstFiles(files: readonly string[]): string[] {
  return files.toSorted((a, b) => Number(a) - Number(b)).slice(0, PROCESS_FILES_MAX);
}

// Processes come and go while they are examined, and those of others must not be examined.

async function names(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch {
    return [];
  }
}

/** @returns empty if there is none, or none that may be read */
export async function link(path: string): Promise<string> {
  try {
    return await readlink(path);
  } catch {
    return '';
  }
}
