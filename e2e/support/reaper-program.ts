/**
 * Waits until its input ends, and with it the process that wrote it. Then ends and removes what that process left
 * behind.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const pids = new Set<number>();
const directories = new Set<string>();

for await (const line of createInterface({ input: process.stdin })) {
  const [, what, value = ''] = /^(\w+) (.+)$/.exec(line) ?? [];
  if (what === 'run') pids.add(Number(value));
  if (what === 'end') pids.delete(Number(value));
  if (what === 'directory') directories.add(value);
}

const parents = readParents();
for (const pid of withDescendants([...pids])) kill(pid);
for (const directory of directories) {
  // A killed program may take a moment to release it.
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/** Collected before any is killed: once their parent is gone, they cannot be found any longer. */
function withDescendants(roots: readonly number[]): number[] {
  const children = [...parents].filter(([, parent]) => roots.includes(parent)).map(([pid]) => pid);
  return children.length === 0 ? [...roots] : [...roots, ...withDescendants(children)];
}

/** The parent of every process (proc(5), /proc/pid/stat). */
function readParents(): Map<number, number> {
  const found = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const [, parent = ''] = /\) \w (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      found.set(Number(name), Number(parent));
    } catch {
      // The process has ended in the meantime.
    }
  }
  return found;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended in the meantime.
  }
}
