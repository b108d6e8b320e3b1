/**
 * The last resort: removes everything that this process started and created once it is gone, even after SIGKILL. A
 * separate process, this file run as a program, waits for that: it notices the end of its input.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { familyOf } from './processes.ts';

let reaper: Socket | undefined;

/** Makes sure that the program and its descendants do not outlive this process. */
export function reapProcess(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  tell(`run ${pid}`);
  child.once('exit', () => tell(`end ${pid}`));
}

/** Makes sure that the directory does not outlive this process. */
export function reapDirectory(path: string): void {
  tell(`directory ${path}`);
}

function tell(line: string): void {
  reaper ??= start();
  reaper.write(`${line}\n`);
}

function start(): Socket {
  // In its own session, so that a Ctrl-C for all programs of a terminal does not end it first.
  const child = spawn(process.execPath, [import.meta.filename], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const { stdin } = child;
  if (!(stdin instanceof Socket)) throw new TypeError('a pipe is no socket');
  stdin.on('error', () => {});
  child.on('error', () => {});
  // This process must not wait for the reaper.
  child.unref();
  stdin.unref();
  return stdin;
}

/** Waits until its input ends, and with it the process that wrote it. Then ends and removes what that left behind. */
async function reap(): Promise<void> {
  const pids = new Set<number>();
  const directories = new Set<string>();

  for await (const line of createInterface({ input: process.stdin })) {
    const [, what, value = ''] = /^(\w+) (.+)$/.exec(line) ?? [];
    if (what === 'run') pids.add(Number(value));
    if (what === 'end') pids.delete(Number(value));
    if (what === 'directory') directories.add(value);
  }

  // Collected before any is killed: once their parent is gone, they cannot be found any longer.
  for (const pid of familyOf(...pids)) kill(pid);
  for (const directory of directories) {
    // A killed program may take a moment to release it.
    rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended in the meantime.
  }
}

if (import.meta.main) await reap();
