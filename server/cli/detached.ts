/** `culvert-relay serve --detach`: starts the relay as a process of its own, and ends when that serves. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { DETACHED_START_MS } from '../limits.ts';
import { ExitCode } from './command.ts';

/** Started behind a shell that ends at once, the relay is nobody's child but the system's: a service manager can wait for it. */
const BEHIND_SHELL = ['-c', '"$@" &', 'sh'];

/**
 * Starts a relay with the environment, the standard error and the folder of this process.
 *
 * @param command of the relay, with its arguments
 * @param out told the line with which it says that it serves
 * @returns the exit code: whether it serves. Where it does not, its log says why
 */
export async function startDetached(
  command: readonly string[],
  out: (line: string) => void,
): Promise<number> {
  const shell = spawn('/bin/sh', [...BEHIND_SHELL, ...command], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(shell.stdout);
  const timer = setTimeout(() => lines.close(), DETACHED_START_MS);
  let code: number = ExitCode.failed;
  shell.once('error', () => lines.close());
  for await (const line of lines) {
    if (!line.startsWith('listening on ')) continue;
    out(line);
    code = ExitCode.ok;
    break;
  }
  clearTimeout(timer);
  shell.stdout.destroy();
  shell.unref();
  return code;
}
