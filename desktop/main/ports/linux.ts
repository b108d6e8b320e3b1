/** Listening ports on Linux, from /proc: all of them, and the programs of this user. */
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MANIFEST_MAX_BYTES } from '../limits.ts';
import type { Listener } from './port-scan.ts';
import { link, SocketOwners } from './socket-owners.ts';

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
