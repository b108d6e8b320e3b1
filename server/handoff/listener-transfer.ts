/** Moves listeners from one process to another that is not its child (docs/decisions/0020-replacing-a-relay.md). */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { HANDOFF_STEP_MS } from '../limits.ts';

/** A listener from another process, for `server.listen`. */
export type Handle = object;

/** These programs are separate files. */
function program(name: string): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'cjs';
  return fileURLToPath(new URL(`./${name}.${extension}`, import.meta.url));
}

/**
 * Sends listeners over a connection, which belongs to this function from then on.
 *
 * @param listeners file descriptors by their names
 */
export function sendListeners(channel: Socket, listeners: ReadonlyMap<string, number>): void {
  const child = spawn(process.execPath, [program('send-listeners'), ...listeners.keys()], {
    stdio: ['ignore', 'ignore', 'inherit', channel, ...listeners.values()],
    env: environment('3'),
  });
  channel.destroy();
  limit(child);
}

/**
 * Receives listeners from a connection, which belongs to this function from then on.
 *
 * @param names of all expected listeners
 * @throws Error if not all have arrived within {@link HANDOFF_STEP_MS}
 */
export async function takeListeners(channel: Socket, names: readonly string[]): Promise<Map<string, Handle>> {
  const child = spawn(process.execPath, [program('pass-listeners'), program('send-listeners')], {
    // Node makes descriptor 3 the channel to this process and sets the environment accordingly; the value given here
    // wins.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', channel],
    env: environment('4'),
  });
  channel.destroy();
  limit(child);
  const taken = new Map<string, Handle>();
  await new Promise<void>((resolve, reject) => {
    child.on('message', ({ name }: { name: string }, listener) => {
      if (listener !== undefined) taken.set(name, listener);
      if (names.every((expected) => taken.has(expected))) resolve();
    });
    child.once('error', reject);
    // Runs after the last message, regardless of which of the two programs has ended.
    child.once('disconnect', () => reject(new Error('its listening sockets did not arrive')));
  });
  if (child.connected) child.disconnect();
  return taken;
}

/** Settings for the relay's own Node, a debugger for example, do not apply to these. */
function environment(channel: string): NodeJS.ProcessEnv {
  return { ...process.env, NODE_OPTIONS: '', NODE_CHANNEL_FD: channel };
}

function limit(child: ChildProcess): void {
  child.on('error', () => {});
  const timer = setTimeout(() => child.kill('SIGKILL'), HANDOFF_STEP_MS);
  child.once('exit', () => clearTimeout(timer));
}
