/** Ports of this machine on which programs listen. */
import { execFile } from 'node:child_process';
import { createReadStream, readlinkSync } from 'node:fs';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { PortView } from '../ipc/snapshot.ts';

/**
 * Maximum number of open ports reported to the window, as suggestions and to name the programs on them; a busy
 * computer has fewer.
 */
export const PORTS_MAX = 200;
/** How long the system program that lists open ports may take: it takes well under a second. */
const PORT_PROGRAM_TIMEOUT_MS = 5000;
/**
 * Maximum amount of output that is read from the system program that lists open ports: a line of about 100 bytes
 * for each port and process.
 */
export const PORT_PROGRAM_MAX_BYTES = 4 * 1024 * 1024;
/**
 * Maximum number of processes that are examined to find the program that is using a port; a busy desktop has
 * about 500.
 */
export const PROCESSES_MAX = 3000;
/**
 * Maximum number of open files per process that are examined to find the program that is using a port: a server
 * with many clients would otherwise make each look take seconds.
 */
export const PROCESS_FILES_MAX = 1000;
/** Maximum size of a `package.json` that is read to guess the framework. */
export const MANIFEST_MAX_BYTES = 256 * 1024;

export interface PortScan {
  /** every port that has a listener */
  readonly listening: ReadonlySet<number>;
  /** whether all other ports are free; false if the system hides other users' programs */
  readonly isComplete: boolean;
  /** ports to offer, likeliest first */
  readonly ports: readonly PortView[];
}

/** Lower ports are system services, which nobody exposes by accident. */
const FIRST_USUAL_PORT = 1024;

/**
 * @param own process ids of Culvert itself
 */
export function portScan(
  listeners: readonly Listener[],
  isComplete: boolean,
  own: ReadonlySet<number>,
  guess: (listener: Listener) => string | undefined,
): PortScan {
  const offered = new Map<number, PortView>();
  for (const listener of listeners) {
    const { port, pid, process } = listener;
    if (port < FIRST_USUAL_PORT && process === undefined) continue;
    if (pid !== undefined && own.has(pid)) continue;
    const known = offered.get(port);
    if (known?.process !== undefined) continue;
    offered.set(port, { port, process, framework: guess(listener) });
  }
  const ports = [...offered.values()].sort((a, b) => likelihood(b) - likelihood(a) || a.port - b.port);
  return {
    listening: new Set(listeners.map(({ port }) => port)),
    isComplete,
    ports: ports.slice(0, PORTS_MAX),
  };
}

function likelihood({ framework, process, port }: PortView): number {
  return (
    (framework === undefined ? 0 : 4) + (process === undefined ? 0 : 2) + (port < FIRST_USUAL_PORT ? 0 : 1)
  );
}

/** Lists the listeners of one system. */
interface Lister {
  readonly list: () => Promise<readonly Listener[]>;
  /** see {@link PortScan.isComplete} */
  readonly isComplete: boolean;
}

/**
 * @param own process ids of Culvert itself, asked for each time
 * @returns a function that scans the ports; its result is `undefined` if the system does not allow that
 */
export function createPortScan(
  platform: NodeJS.Platform,
  own: () => ReadonlySet<number>,
): () => Promise<PortScan | undefined> {
  const lister = listerOf(platform);
  return async () => {
    try {
      return lister && portScan(await lister.list(), lister.isComplete, own(), guessFramework);
    } catch {
      return undefined;
    }
  };
}

function listerOf(platform: NodeJS.Platform): Lister | undefined {
  if (platform === 'linux') {
    const owners = new SocketOwners('/proc');
    return { list: () => listListeners('/proc', owners), isComplete: true };
  }
  if (platform === 'darwin') return { list: () => listWithLsof(), isComplete: false };
  if (platform === 'win32') return { list: () => listWithNetstat(), isComplete: true };
  return undefined;
}

/* Guesses which development server it is from how it was started. A wrong guess costs nothing: it is only shown. */

/** The first match wins, so a framework comes before what it is built on. */
const COMMANDS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bnext(?:-server|-router-worker)?\b|next dev/, 'Next.js'],
  [/\bnuxi?t?\b/, 'Nuxt'],
  [/\bastro\b/, 'Astro'],
  [/\bremix\b/, 'Remix'],
  [/\bstorybook\b/, 'Storybook'],
  [/\bgatsby\b/, 'Gatsby'],
  [/\bng serve\b|@angular\/cli/, 'Angular'],
  [/react-scripts/, 'Create React App'],
  [/\bvite\b/, 'Vite'],
  [/\bwebpack\b/, 'webpack'],
  [/\bparcel\b/, 'Parcel'],
  [/\bnest(?:js)?\b/, 'NestJS'],
  [/manage\.py\b.{0,200}\brunserver\b/, 'Django'],
  [/\bflask\b/, 'Flask'],
  [/\buvicorn\b|\bfastapi\b/, 'FastAPI'],
  [/\bgunicorn\b/, 'Gunicorn'],
  [/\bhttp\.server\b/, 'Python'],
  [/\bpuma\b|\brails\b/, 'Rails'],
  [/\bjekyll\b/, 'Jekyll'],
  [/\bhugo\b/, 'Hugo'],
  [/\bartisan\b/, 'Laravel'],
  [/\bphp\b.{0,200}\s-S\b/, 'PHP'],
  [/spring-?boot/, 'Spring Boot'],
  [/\bdocker-proxy\b|com\.docker/, 'Docker'],
  [/\bcaddy\b/, 'Caddy'],
  [/\bnginx\b/, 'nginx'],
];

/** No libraries such as Express or Koa: a package that has one also starts servers without it. */
const DEPENDENCIES: readonly (readonly [name: string, framework: string])[] = [
  ['next', 'Next.js'],
  ['nuxt', 'Nuxt'],
  ['astro', 'Astro'],
  ['@remix-run/dev', 'Remix'],
  ['@sveltejs/kit', 'SvelteKit'],
  ['@angular/core', 'Angular'],
  ['react-scripts', 'Create React App'],
  ['vite', 'Vite'],
  ['@nestjs/core', 'NestJS'],
];

const JAVASCRIPT = new Set(['node', 'bun', 'deno', 'MainThread']);
const RUNTIMES: Readonly<Record<string, string>> = { node: 'Node', bun: 'Bun', deno: 'Deno' };

export function guessFramework({ command, process, manifest }: Listener): string | undefined {
  const byCommand = COMMANDS.find(([pattern]) => pattern.test(command))?.[1];
  if (byCommand !== undefined || process === undefined || !JAVASCRIPT.has(process)) return byCommand;
  return byManifest(manifest) ?? RUNTIMES[process];
}

function byManifest(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { dependencies, devDependencies } = JSON.parse(text) as Record<string, object | undefined>;
    const all = { ...dependencies, ...devDependencies };
    return DEPENDENCIES.find(([name]) => Object.hasOwn(all, name))?.[1];
  } catch {
    return undefined;
  }
}

/** A listening port and its program. */
export interface Listener {
  readonly port: number;
  readonly pid: number | undefined;
  /** name of the program */
  readonly process: string | undefined;
  /** how it was started */
  readonly command: string;
  /** text of the package.json of the directory it runs in */
  readonly manifest: string | undefined;
}

/** State column of a socket that listens. */
const LISTEN = '0A';

/** Listening ports, with the inode of each socket, from the text of `/proc/net/tcp` or `tcp6`. */
export function readTcpTable(text: string): { port: number; inode: string }[] {
  const sockets: { port: number; inode: string }[] = [];
  for (const line of text.split('\n').slice(1)) {
    const columns = line.trim().split(/\s+/);
    const [, local = '', , state] = columns;
    const inode = columns[9];
    if (state !== LISTEN || inode === undefined) continue;
    sockets.push({ port: Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16), inode });
  }
  return sockets;
}

/**
 * @param root `/proc`, or another directory in tests
 * @param socketOwners which process has which socket, as far as that is known from the last time
 */
export async function listListeners(
  root = '/proc',
  socketOwners = new SocketOwners(root),
): Promise<Listener[]> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readListening(join(root, 'net', name))));
  const sockets = tables.flatMap(readTcpTable);
  const owners = await socketOwners.find(new Set(sockets.map(({ inode }) => inode)));
  const programs = new Map<number, Omit<Listener, 'port'>>();
  for (const { inode } of sockets) {
    const pid = owners.get(inode);
    if (pid !== undefined && !programs.has(pid)) programs.set(pid, await readProgram(root, pid));
  }
  return sockets.map(({ port, inode }) => {
    const pid = owners.get(inode);
    const known = pid === undefined ? undefined : programs.get(pid);
    return { port, ...(known ?? { pid: undefined, process: undefined, command: '', manifest: undefined }) };
  });
}

/** Bytes of a table without a socket that listens, after which none is expected: Linux lists those first. */
const CONNECTIONS_BYTES = 65_536;

/** The part of a table that has the sockets that listen, but not all of the thousands of connections after them. */
export async function readListening(path: string): Promise<string> {
  let text = '';
  let since = 0;
  try {
    for await (const part of createReadStream(path, { encoding: 'latin1' }) as AsyncIterable<string>) {
      text += part;
      since = part.includes(` ${LISTEN} `) ? 0 : since + part.length;
      if (since >= CONNECTIONS_BYTES) break;
    }
  } catch {
    // A machine without IPv6 has no table for it.
  }
  return text;
}

async function readProgram(root: string, pid: number): Promise<Omit<Listener, 'port'>> {
  const directory = join(root, String(pid));
  const [command, name, cwd] = await Promise.all([
    read(join(directory, 'cmdline')),
    read(join(directory, 'comm')),
    link(join(directory, 'cwd')),
  ]);
  const words = command.split('\0').filter(Boolean);
  // Node names its first thread; the executable is more informative.
  const process = words[0] === undefined ? name.trim() : basename(words[0]);
  const manifest = cwd === '' ? undefined : await readManifest(cwd);
  return { pid, process, command: words.join(' '), manifest };
}

/** The package.json of a directory; `undefined` if it is missing or too large. */
async function readManifest(directory: string): Promise<string | undefined> {
  const path = join(directory, 'package.json');
  try {
    const found = await stat(path);
    // A pipe might never end, and block all further scans.
    return found.isFile() && found.size <= MANIFEST_MAX_BYTES ? await readFile(path, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

/** @returns `''` if the file is missing, because processes come and go during the scan */
async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return '';
  }
}

/* The processes of listening sockets, on Linux. */

/**
 * Remembers the process of each socket. A search reads every open file of this user, so there is one only when a socket
 * is new or its process is gone.
 */
export class SocketOwners {
  readonly #root: string;
  /** inode to process; `undefined` if this user may not see it */
  #known = new Map<string, number | undefined>();

  /** @param root `/proc`, or another directory in tests */
  constructor(root: string) {
    this.#root = root;
  }

  /** The process of each socket, as far as this user may see it. */
  async find(inodes: ReadonlySet<string>): Promise<ReadonlyMap<string, number | undefined>> {
    const entries = await readNames(this.#root);
    const running = new Set(entries);
    const isKnown = (inode: string): boolean => {
      const pid = this.#known.get(inode);
      return pid === undefined ? this.#known.has(inode) : running.has(String(pid));
    };
    if (![...inodes].every(isKnown)) this.#known = await this.#look(inodes, latestProcesses(entries));
    return this.#known;
  }

  async #look(
    inodes: ReadonlySet<string>,
    processes: readonly number[],
  ): Promise<Map<string, number | undefined>> {
    const owners = new Map<string, number | undefined>([...inodes].map((inode) => [inode, undefined]));
    let left = inodes.size;
    for (const pid of processes) {
      if (left === 0) break;
      const directory = join(this.#root, String(pid), 'fd');
      for (const fd of firstFiles(await readNames(directory))) {
        const inode = /^socket:\[(\d+)\]$/.exec(linkNow(join(directory, fd)))?.[1];
        if (inode === undefined || !inodes.has(inode)) continue;
        if (owners.get(inode) === undefined) left -= 1;
        owners.set(inode, pid);
      }
    }
    return owners;
  }
}

/**
 * The processes among the names in `/proc`, or only the latest if there are too many: a server under development is not
 * one of the first.
 */
export function latestProcesses(entries: readonly string[]): number[] {
  const pids = entries.filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.sort((a, b) => a - b).slice(-PROCESSES_MAX);
}

/** The first open files of a process, by number: a server opens its listening socket before those of its clients. */
export function firstFiles(files: readonly string[]): string[] {
  return files.toSorted((a, b) => Number(a) - Number(b)).slice(0, PROCESS_FILES_MAX);
}

// Processes come and go during the scan, and those of other users are not readable.

async function readNames(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch {
    return [];
  }
}

/** @returns `''` if it is missing or not readable */
async function link(path: string): Promise<string> {
  try {
    return await readlink(path);
  } catch {
    return '';
  }
}

/** The same for the links in `/proc`, which are in memory: asynchronous reads take five times as long. */
function linkNow(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/* Listening ports on macOS and Windows, from programs that come with the system. */

/** Returns what a program prints. @throws if it fails, is missing or takes too long */
type Run = (program: string, args: readonly string[]) => Promise<string>;

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
    // `-p TCP` would leave out IPv6.
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
function readLsof(text: string): Listener[] {
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

function readPs(text: string): Map<number, string> {
  const commands = new Map<number, string>();
  for (const [, pid, command = ''] of text.matchAll(/^ *(\d+) +(.+)$/gm)) commands.set(Number(pid), command);
  return commands;
}

/** The state is in the language of the system, so a listening socket is one without a peer. */
function readNetstat(text: string): { port: number; pid: number }[] {
  const lines = text.matchAll(/^ *TCP +\S+:(\d+) +(?:0\.0\.0\.0|\[::\]):0 +\S+ +(\d+)\s*?$/gm);
  return [...lines].map(([, port, pid]) => ({ port: Number(port), pid: Number(pid) }));
}

function readTasklist(text: string): Map<number, string> {
  const names = new Map<number, string>();
  for (const [, name = '', pid] of text.matchAll(/^"([^"]*)","(\d+)"/gm)) {
    names.set(Number(pid), name.replace(/\.exe$/i, ''));
  }
  return names;
}
