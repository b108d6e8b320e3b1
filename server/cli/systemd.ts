/**
 * What systemd, or another service manager that speaks like it, gives the program and is told by it (sd_listen_fds(3),
 * sd_notify(3)).
 */
import { execFile } from 'node:child_process';
import { NOTIFY_TIMEOUT_MS } from '../limits.ts';
import type { ListenerName } from '../listeners.ts';

/** The first that is passed on; 0 to 2 are the standard streams. */
const FIRST_DESCRIPTOR = 3;
const NAMES: readonly ListenerName[] = ['visitors', 'http', 'metrics'];

/**
 * Listeners that were opened before the program was started. Those without a name of ours (`FileDescriptorName=`) are, in
 * their order, those that have none.
 *
 * @param pid of this process: what is meant for another one is left alone
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
 * Says that this process serves, and is the main one of its service. Node has no datagram sockets of this kind, so
 * `systemd-notify` says it; its answer comes when the service manager has read it.
 *
 * @throws Error when it cannot be said
 */
export async function tellServiceManager(env: NodeJS.ProcessEnv, pid: number): Promise<void> {
  if (env['NOTIFY_SOCKET'] === undefined) return;
  await new Promise<void>((resolve, reject) => {
    const told = (error: Error | null): void => (error === null ? resolve() : reject(error));
    execFile('systemd-notify', ['--ready', `--pid=${pid}`], { env, timeout: NOTIFY_TIMEOUT_MS }, told);
  });
}
