/** Listening ports on Linux, from /proc: all of them, and the programs of this user. */
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MANIFEST_MAX_BYTES, PROCESSES_MAX } from '../limits.ts';
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

/** @param root `/proc`, or another directory in tests */
export async function listListeners(root = '/proc'): Promise<Listener[]> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => read(join(root, 'net', name))));
  const sockets = tables.flatMap(readTcpTable);
  const owners = await findOwners(root, new Set(sockets.map(({ inode }) => inode)));
  const programs = new Map<number, Omit<Listener, 'port'>>();
  for (const pid of new Set(owners.values())) programs.set(pid, await program(root, pid));
  return sockets.map(({ port, inode }) => {
    const pid = owners.get(inode);
    const known = pid === undefined ? undefined : programs.get(pid);
    return { port, ...(known ?? { pid: undefined, process: undefined, command: '', manifest: undefined }) };
  });
}

/**
 * The processes among the names in `/proc`, or the latest where they are too many: a server that is worked on was not
 * started first.
 */
export function latestProcesses(entries: readonly string[]): number[] {
  const pids = entries.filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.sort((a, b) => a - b).slice(-PROCESSES_MAX);
}

/** The process of each socket, as far as this user may see it. */
async function findOwners(root: string, inodes: ReadonlySet<string>): Promise<Map<string, number>> {
  const owners = new Map<string, number>();
  for (const pid of latestProcesses(await names(root))) {
    if (owners.size === inodes.size) break;
    const directory = join(root, String(pid), 'fd');
    for (const fd of await names(directory)) {
      const target = await link(join(directory, fd));
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined && inodes.has(inode)) owners.set(inode, pid);
    }
  }
  return owners;
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

/** The package.json of a directory; `undefined` when there is none, or none of a usual size. */
async function readManifest(directory: string): Promise<string | undefined> {
  const path = join(directory, 'package.json');
  try {
    const { size } = await stat(path);
    return size > MANIFEST_MAX_BYTES ? undefined : await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
}

// Processes come and go while they are looked at, and those of others may not be looked at.

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return '';
  }
}

async function link(path: string): Promise<string> {
  try {
    return await readlink(path);
  } catch {
    return '';
  }
}

async function names(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch {
    return [];
  }
}
