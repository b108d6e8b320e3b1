/**
 * The last resort: what this process has started and created is gone after it, however it ends, even by SIGKILL. Another
 * process waits for that (reaper-program.ts); it notices by the end of its input.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('reaper-program.ts', import.meta.url));

let reaper: Socket | undefined;

/** The program and those that it starts do not outlive this process. */
export function reapProcess(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  tell(`run ${pid}`);
  child.once('exit', () => tell(`end ${pid}`));
}

/** The directory does not outlive this process. */
export function reapDirectory(path: string): void {
  tell(`directory ${path}`);
}

function tell(line: string): void {
  reaper ??= start();
  reaper.write(`${line}\n`);
}

function start(): Socket {
  // In its own session, so that a Ctrl-C for all programs of a terminal does not end it first.
  const child = spawn(process.execPath, [PROGRAM], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const { stdin } = child;
  if (!(stdin instanceof Socket)) throw new TypeError('a pipe is no socket');
  stdin.on('error', () => {});
  child.on('error', () => {});
  // The reaper waits for this process, not the other way round.
  child.unref();
  stdin.unref();
  return stdin;
}
