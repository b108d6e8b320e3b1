/** Listening ports on Linux, from /proc: all of them, and the programs of this user. */
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MANIFEST_MAX_BYTES, PROCESS_FILES_MAX, PROCESSES_MAX } from '../limits.ts';
import type { Listener } from './port-scan.ts';

/** State column of a socket that listens. */
const LISTEN = '0A';

/** Ports that listen, with the inode of each socket, from the text of `/proc/net/tcp` or `tcp6`. */
export function readTcpTable(text: string): { port: number; inode: string }[] {
  const sockets: { port: number; inode: string }[] = [];
  for (const line of text.split('\n').slice(1)) {
    const columns = line.trim().split(/\s+/);
    const [, local = '', , state] = columns;
    const inode = columns[9];
    if (state !== LISTEN || inode === undefined) continue;
    sockets.push({ port: Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16), inode });
  }
  return sockets;
}

/**
 * @param root `/proc`, or another directory in tests
 * @param socketOwners which process has which socket, as far as that is known from the last time
 */
export async function listListeners(
  root = '/proc',
  socketOwners = new SocketOwners(root),
): Promise<Listener[]> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => read(join(root, 'net', name))));
  const sockets = tables.flatMap(readTcpTable);
  const owners = await socketOwners.find(new Set(sockets.map(({ inode }) => inode)));
  const programs = new Map<number, Omit<Listener, 'port'>>();
  for (const { inode } of sockets) {
    const pid = owners.get(inode);
    if (pid !== undefined && !programs.has(pid)) programs.set(pid, await program(root, pid));
  }
  return sockets.map(({ port, inode }) => {
    const pid = owners.get(inode);
    const known = pid === undefined ? undefined : programs.get(pid);
    return { port, ...(known ?? { pid: undefined, process: undefined, command: '', manifest: undefined }) };
  });
}

async function program(root: string, pid: number): Promise<Omit<Listener, 'port'>> {
  const directory = join(root, String(pid));
  const [command, name, cwd] = await Promise.all([
    read(join(directory, 'cmdline')),
    read(join(directory, 'comm')),
    link(join(directory, 'cwd')),
  ]);
  const words = command.split('\0').filter(Boolean);
  // Node names its first thread; the file that runs says more.
  const process = words[0] === undefined ? name.trim() : basename(words[0]);
  const manifest = cwd === '' ? undefined : await readManifest(cwd);
  return { pid, process, command: words.join(' '), manifest };
}

/** The package.json of a directory; `undefined` if there is no such file of a usual size. */
async function readManifest(directory: string): Promise<string | undefined> {
  const path = join(directory, 'package.json');
  try {
    const found = await stat(path);
    // A pipe would never end, and no look at ports would come after this one.
    return found.isFile() && found.size <= MANIFEST_MAX_BYTES ? await readFile(path, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

/** @returns empty if there is none: processes come and go while they are examined */
async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return '';
  }
}

/* Which process has a listening socket, on Linux. */

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
