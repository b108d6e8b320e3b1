/** The process of a command, as the system sees it: its user, its service manager, and a relay in the background. */
import { type ChildProcess, spawn } from 'node:child_process';
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import type { ListenerName } from '../listeners.ts';
import { ExitCode } from './command.ts';

/** Maximum time to notify the service manager that the relay has started. */
const NOTIFY_TIMEOUT_MS = 5000;
/** How long a relay started with `--detach` may take to start accepting requests. */
const DETACHED_START_MS = 120_000;

/**
 * Names the user of the process, for the list of who did what. `SUDO_USER` is only a variable that anybody can set, so
 * it is added as such: if several people share that user, it is the only hint at who gave the command.
 *
 * @param name of the user as whom the process runs
 */
export function userName(env: NodeJS.ProcessEnv, name = systemName()): string {
  const caller = env['SUDO_USER'];
  const isHint = caller !== undefined && caller !== name && /^[\w.@-]{1,64}$/.test(caller);
  return isHint ? `${name} (SUDO_USER=${caller})` : name;
}

function systemName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}

/* systemd, or another service manager that speaks like it (sd_listen_fds(3), sd_notify(3)). */

/** The first that is passed on; 0 to 2 are the standard streams. */
const FIRST_DESCRIPTOR = 3;
const NAMES: readonly ListenerName[] = ['visitors', 'http', 'metrics'];

/**
 * Listeners that were opened before the program was started. Those without a name of ours (`FileDescriptorName=`) are,
 * in their order, those that have none.
 *
 * @param pid of this process: listeners for another one are ignored
 * @returns for `server.listen`, by name
 */
export function givenListeners(env: NodeJS.ProcessEnv, pid: number): Map<string, { readonly fd: number }> {
  if (env['LISTEN_PID'] !== String(pid)) return new Map();
  const names = (env['LISTEN_FDNAMES'] ?? '').split(':');
  const given = new Map<string, { readonly fd: number }>();
  const nameless: { readonly fd: number }[] = [];
  for (let index = 0; index < Number(env['LISTEN_FDS']); index += 1) {
    const listener = { fd: FIRST_DESCRIPTOR + index };
    const name = NAMES.find((each) => each === names[index]);
    if (name === undefined) nameless.push(listener);
    else given.set(name, listener);
  }
  for (const name of NAMES) {
    const next = given.has(name) ? undefined : nameless.shift();
    if (next !== undefined) given.set(name, next);
  }
  return given;
}

/**
 * Reports that this process serves and is the main one of its service. Node has no datagram sockets of this kind, so
 * `systemd-notify` sends the message; it exits when the service manager has read it.
 *
 * @throws Error when the message cannot be sent
 */
export async function tellServiceManager(env: NodeJS.ProcessEnv, pid: number): Promise<void> {
  if (env['NOTIFY_SOCKET'] === undefined) return;
  // Imported at the top of the file, it would load its module at every start.
  const { execFile } = await import('node:child_process');
  await new Promise<void>((resolve, reject) => {
    const told = (error: Error | null): void => (error === null ? resolve() : reject(error));
    execFile('systemd-notify', ['--ready', `--pid=${pid}`], { env, timeout: NOTIFY_TIMEOUT_MS }, told);
  });
}

/* `culvert-relay serve --detach`: starts the relay as a process of its own, and ends when that accepts requests. */

/** The shell ends immediately, so the system adopts the relay, and a service manager can wait for it. */
const BEHIND_SHELL = ['-c', '"$@" &', 'sh'];

/**
 * Starts a relay with the environment, the standard error and the folder of this process.
 *
 * @param command of the relay, with its arguments
 * @param out gets the line that reports the start
 * @returns the exit code: 0 if it serves; otherwise its log has the reason
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

/* Processes of a relay that has several. */

/** The last argument of one that another process of the relay has started. */
export const WORKER = '--worker';

/**
 * Starts one that writes to the same standard streams. Its channel carries structured clones.
 *
 * @param command of this relay, with its arguments
 */
export function startWorker(command: readonly string[]): ChildProcess {
  const [program = '', ...args] = command;
  return spawn(program, [...args.filter((each) => each !== '--replace'), WORKER], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
}
