/** The machine that the figures were measured on, without its name or paths. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os';

export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly programs: readonly string[];
  /** the measured commit, with `+` if files have changed since */
  readonly commit: string;
  /** load of the last minute before the run */
  readonly load: number;
}

/** @param programs commands that print the versions of the programs involved */
export function describeMachine(programs: readonly string[] = ['nginx -v', 'ssh -V', 'wrk -v']): Machine {
  const processors = cpus();
  return {
    cores: processors.length,
    processor: processors[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    // Only the version: the rest names a vendor's build.
    kernel: `${type()} ${release().replace(/-.*/, '')} ${arch()}`,
    node: process.version,
    programs: programs.map(version),
    commit: commit(),
    load: loadavg()[0] ?? 0,
  };
}

/** The first line that a program prints about itself; some end with an error code or use standard error for it. */
function version(command: string): string {
  const text = execFileSync('sh', ['-c', `${command} 2>&1 || true`], { encoding: 'utf8' });
  return (text.split('\n')[0] ?? '').replace(/\s*(Copyright|\[).*/, '');
}

function commit(): string {
  const changed = git('status', '--porcelain', '--', 'server', 'shared', 'desktop') !== '';
  return git('rev-parse', '--short', 'HEAD') + (changed ? '+' : '');
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

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

/** CPU seconds of the child processes that have exited so far. */
export function endedCpuSeconds(pid: number): number {
  const stat = statOf(pid);
  return stat === undefined ? 0 : (Number(stat[13]) + Number(stat[14])) / TICKS_PER_SECOND;
}

/** CPU seconds of a process and all its descendants so far, including those that have exited. */
export function familyCpuSeconds(pid: number): number {
  const family = familyOf(pid);
  return cpuSeconds(family) + family.reduce((sum, member) => sum + endedCpuSeconds(member), 0);
}

/** A process and all its descendants. */
export function familyOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const id = Number(name);
    const stat = Number.isInteger(id) ? statOf(id) : undefined;
    if (stat !== undefined) parents.set(id, Number(stat[1]));
  }
  const family = [pid];
  for (const member of family) {
    for (const [id, parent] of parents) if (parent === member) family.push(id);
  }
  return family;
}
