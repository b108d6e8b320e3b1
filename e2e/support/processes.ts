/** What Linux tells about processes (proc(5)). */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The value of `getconf CLK_TCK` on every Linux today. */
const TICKS_PER_SECOND = 100;

/** The fields of `/proc/PID/stat` after the name, which may contain spaces; `undefined` once the process is gone. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** CPU seconds that the processes have used so far, user and kernel together. */
export function cpuSeconds(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const stat = statOf(pid);
    return stat === undefined ? 0 : Number(stat[11]) + Number(stat[12]);
  });
  return ticks.reduce((sum, value) => sum + value, 0) / TICKS_PER_SECOND;
}

/** System calls of living processes that have written something so far. */
export function writesOf(pids: readonly number[]): number {
  const counts = pids.map((pid) => /^syscw: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
  return counts.reduce((sum, count) => sum + Number(count), 0);
}

/** Processes and all their descendants. */
export function familyOf(...pids: readonly number[]): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const id = Number(name);
    const stat = Number.isInteger(id) ? statOf(id) : undefined;
    if (stat !== undefined) parents.set(id, Number(stat[1]));
  }
  const family = [...pids];
  for (const member of family) {
    for (const [id, parent] of parents) if (parent === member && !family.includes(id)) family.push(id);
  }
  return family;
}

/** Whether a process is one that the first process of a relay has started, and lives. */
export function isWorker(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes('--worker');
  } catch {
    return false;
  }
}

/** @param first the first process of a relay */
export function workersOf(first: number): number[] {
  return familyOf(first).filter((pid) => isWorker(pid));
}

// The columns of /proc/net/tcp: number, both addresses, state 1 for established, five others, inode.
const ESTABLISHED = /^ *\d+: [0-9A-F]{8}:([0-9A-F]{4}) [0-9A-F]{8}:([0-9A-F]{4}) 01(?: +\S+){5} +(\d+) /gm;

/** What the processes have open, a path or such as `socket:[1234]` for each descriptor. */
export function openFilesOf(...pids: readonly number[]): string[] {
  return pids.flatMap((pid) => {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).flatMap((name) => {
      // It may have been closed since.
      try {
        return [readlinkSync(`${folder}/${name}`)];
      } catch {
        return [];
      }
    });
  });
}

/** The established IPv4 connections of a process. */
export function connectionsOf(pid: number): { readonly port: number; readonly peerPort: number }[] {
  const files = new Set(openFilesOf(pid));
  return [...readFileSync('/proc/net/tcp', 'latin1').matchAll(ESTABLISHED)]
    .filter(([, , , inode]) => files.has(`socket:[${inode}]`))
    .map(([, port = '', peerPort = '']) => ({
      port: Number.parseInt(port, 16),
      peerPort: Number.parseInt(peerPort, 16),
    }));
}
