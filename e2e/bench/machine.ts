/** The machine that the figures were measured on, without its name or paths, and the programs that it needs. */
import { execFileSync } from 'node:child_process';
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';

const SETUP = fileURLToPath(new URL('../support/setup.sh', import.meta.url));

export type Machine = ReturnType<typeof describeMachine>;

/** Installs missing packages of Debian. */
export function install(...packages: readonly string[]): void {
  execFileSync('sh', [SETUP, ...packages], { stdio: ['ignore', 'inherit', 'inherit'], timeout: 600_000 });
}

/** @param programs commands that print the versions of the programs involved */
export function describeMachine(programs: readonly string[] = ['nginx -v', 'ssh -V', 'wrk -v']) {
  const processors = cpus();
  return {
    cores: processors.length,
    processor: processors[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    // Only the version: the rest names a vendor's build.
    kernel: `${type()} ${release().replace(/-.*/, '')} ${arch()}`,
    node: process.version,
    programs: programs.map(version),
    /** the measured commit, with `+` if files have changed since */
    commit: commit(),
    /** load of the last minute before the run */
    load: loadavg()[0] ?? 0,
  };
}

/** The first line that a program prints about itself; some end with an error code or use standard error for it. */
function version(command: string): string {
  const text = execFileSync('sh', ['-c', `${command} 2>&1 || true`], { encoding: 'utf8' });
  return (text.split('\n')[0] ?? '').replace(/\s*(Copyright|\[).*/, '');
}

function commit(): string {
  const changed = git('status', '--porcelain', '--', 'server', 'shared', 'desktop', 'e2e') !== '';
  return git('rev-parse', '--short', 'HEAD') + (changed ? '+' : '');
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}
