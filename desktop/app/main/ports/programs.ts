/** Listening ports on macOS and Windows, from programs that come with the system. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PORT_PROGRAM_MAX_BYTES, PORT_PROGRAM_TIMEOUT_MS } from '../limits.ts';
import type { Listener } from './port-scan.ts';

/** Returns what a program prints. @throws if it fails, is missing or takes too long */
export type Run = (program: string, args: readonly string[]) => Promise<string>;

const execute = promisify(execFile);

/** Runs programs, and ends them if they take too long or print too much. */
export function programRunner({ timeoutMs, maxBytes }: { timeoutMs: number; maxBytes: number }): Run {
  const options = { timeout: timeoutMs, maxBuffer: maxBytes, windowsHide: true };
  return async (program, args) => (await execute(program, args, options)).stdout;
}

export const run = programRunner({ timeoutMs: PORT_PROGRAM_TIMEOUT_MS, maxBytes: PORT_PROGRAM_MAX_BYTES });

/** macOS: the programs of this user only. */
export async function listWithLsof(exec: Run = run): Promise<Listener[]> {
  const listeners = readLsof(await exec('/usr/sbin/lsof', ['-nP', '-iTCP', '-sTCP:LISTEN', '-Fpcn']));
  const pids = [...new Set(listeners.flatMap(({ pid }) => pid ?? []))];
  if (pids.length === 0) return listeners;
  const commands = readPs(await exec('/bin/ps', ['-ww', '-o', 'pid=,command=', '-p', pids.join(',')]));
  return listeners.map((listener) => ({
    ...listener,
    command: (listener.pid === undefined ? undefined : commands.get(listener.pid)) ?? listener.command,
  }));
}

/** Windows: every program by name. */
export async function listWithNetstat(exec: Run = run): Promise<Listener[]> {
  const [sockets, tasks] = await Promise.all([
    // With `-p TCP` it would leave out those of IPv6.
    exec('netstat', ['-ano']),
    exec('tasklist', ['/FO', 'CSV', '/NH']),
  ]);
  const names = readTasklist(tasks);
  return readNetstat(sockets).map(({ port, pid }) => {
    const process = names.get(pid);
    return { port, pid, process, command: process ?? '', manifest: undefined };
  });
}

/** `-F` prints one field per line: p(id) and c(ommand) of a process, then n(ame) of each of its sockets. */
export function readLsof(text: string): Listener[] {
  const listeners: Listener[] = [];
  let pid: number | undefined;
  let process: string | undefined;
  for (const line of text.split('\n')) {
    const value = line.slice(1);
    switch (line.charAt(0)) {
      case 'p':
        pid = Number(value);
        break;
      case 'c':
        process = value;
        break;
      case 'n': {
        const port = Number(value.slice(value.lastIndexOf(':') + 1));
        if (Number.isInteger(port))
          listeners.push({ port, pid, process, command: process ?? '', manifest: undefined });
        break;
      }
    }
  }
  return listeners;
}

export function readPs(text: string): Map<number, string> {
  const commands = new Map<number, string>();
  for (const [, pid, command = ''] of text.matchAll(/^ *(\d+) +(.+)$/gm)) commands.set(Number(pid), command);
  return commands;
}

/** The word for the state is in the language of the system; a listening socket is the one without a peer. */
export function readNetstat(text: string): { port: number; pid: number }[] {
  const lines = text.matchAll(/^ *TCP +\S+:(\d+) +(?:0\.0\.0\.0|\[::\]):0 +\S+ +(\d+)\s*?$/gm);
  return [...lines].map(([, port, pid]) => ({ port: Number(port), pid: Number(pid) }));
}

export function readTasklist(text: string): Map<number, string> {
  const names = new Map<number, string>();
  for (const [, name = '', pid] of text.matchAll(/^"([^"]*)","(\d+)"/gm)) {
    names.set(Number(pid), name.replace(/\.exe$/i, ''));
  }
  return names;
}
