/** What the figures were measured on, without names or paths of the machine. */
import { execFileSync } from 'node:child_process';
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

export function describeMachine(): Machine {
  const processors = cpus();
  return {
    cores: processors.length,
    processor: processors[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    // The version only: what follows it names a vendor's build.
    kernel: `${type()} ${release().replace(/-.*/, '')} ${arch()}`,
    node: process.version,
    programs: [version('nginx', ['-v']), version('ssh', ['-V']), version('wrk', ['-v'])],
    commit: commit(),
    load: loadavg()[0] ?? 0,
  };
}

/** The first line that a program prints about itself; some end with an error code or use standard error for it. */
function version(command: string, args: readonly string[]): string {
  const text = execFileSync('sh', ['-c', `${command} ${args.join(' ')} 2>&1 || true`], { encoding: 'utf8' });
  return (text.split('\n')[0] ?? '').replace(/\s*(Copyright|\[).*/, '');
}

function commit(): string {
  const changed = git('status', '--porcelain', '--', 'server', 'shared', 'desktop') !== '';
  return git('rev-parse', '--short', 'HEAD') + (changed ? '+' : '');
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}
