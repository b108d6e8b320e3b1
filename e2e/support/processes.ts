/** What Linux tells about processes (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';

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
