/**
 * The last resort: removes everything that this process started and created once it is gone, even after SIGKILL. A
 * separate process waits for that (reaper-program.ts) and notices the end of its input.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('reaper-program.ts', import.meta.url));

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
  const child = spawn(process.execPath, [PROGRAM], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const { stdin } = child;
  if (!(stdin instanceof Socket)) throw new TypeError('a pipe is no socket');
  stdin.on('error', () => {});
  child.on('error', () => {});
  // This process must not wait for the reaper.
  child.unref();
  stdin.unref();
  return stdin;
}
