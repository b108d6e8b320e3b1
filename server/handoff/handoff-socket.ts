/**
 * The socket in the data folder where a relay is contacted by the one that replaces it, for the relay's own user only.
 * A socket left by a killed relay accepts no connections. Listeners move over it from one process to another that is not
 * its child (docs/decisions/0020-replacing-a-relay.md).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { partCommand } from '../own-program.ts';
import { LISTEN_BACKLOG } from '../listeners.ts';
import { HANDOFF_LINE_MAX_BYTES, HANDOFF_STEP_MS, type Hello, readHello } from './conversation.ts';

/** How long the first line from the other relay may take to arrive during a handoff. */
export const HANDOFF_HELLO_MS = 5000;

const LINE_FEED = 10;
/**
 * Bytes of a socket's path that every system supports: the least of those that Node runs on (macOS), without its final
 * zero.
 */
const PATH_MAX_BYTES = 103;

/** @returns the path of the socket of the relay on a port */
export function handoffSocketPath(dataDir: string, port: number): string {
  return join(dataDir, `relay-${port}.sock`);
}

/** Handles a connection whose first line has arrived; the socket is paused, with the following bytes unread. */
type Welcome = (hello: Hello, socket: Socket) => void;

export class HandoffSocket {
  readonly #server: Server;
  readonly #path: string;
  #isClosed = false;

  private constructor(server: Server, path: string) {
    this.#server = server;
    this.#path = path;
  }

  /**
   * Opens it, replacing an existing one.
   *
   * @throws Error with a text for the operator, or the system's
   */
  static async open(path: string, welcome: Welcome): Promise<HandoffSocket> {
    const folder = mkdtempSync(`${path}.`);
    try {
      const made = join(folder, 's');
      if (Buffer.byteLength(made) > PATH_MAX_BYTES)
        throw new Error(`the path of the data folder is too long for a socket in it: ${made}`);
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) =>
        greet(socket, welcome),
      );
      server.listen({ path: made, backlog: LISTEN_BACKLOG });
      await once(server, 'listening');
      server.on('error', () => {});
      // It was not reachable for other users before that, because only its owner can access the folder.
      chmodSync(made, 0o600);
      renameSync(made, path);
      return new HandoffSocket(server, path);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** @param isTaken whether another relay has already replaced it */
  close(isTaken: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#server.close();
    if (!isTaken) rmSync(this.#path, { force: true });
  }
}

/**
 * Connects to a relay's handoff socket.
 *
 * @returns paused; `undefined` if there is no relay
 * @throws the system's error
 */
export async function meet(path: string, hello: Hello): Promise<Socket | undefined> {
  const socket = connect({ path, allowHalfOpen: true }).pause();
  try {
    await once(socket, 'connect');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return undefined;
    throw error;
  }
  socket.on('error', () => socket.destroy());
  socket.write(`${JSON.stringify(hello)}\n`);
  return socket;
}

/** Reads the first line of a connection. */
function greet(socket: Socket, welcome: Welcome): void {
  let held = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), HANDOFF_HELLO_MS);
  const read = (bytes: Buffer): void => {
    held = Buffer.concat([held, bytes]);
    const end = held.indexOf(LINE_FEED);
    if (end === -1 && held.length <= HANDOFF_LINE_MAX_BYTES) return;
    clearTimeout(timer);
    socket.off('data', read);
    socket.pause();
    const hello = end === -1 ? undefined : readLine(held.toString('utf8', 0, end));
    if (hello === undefined) {
      socket.destroy();
      return;
    }
    if (held.length > end + 1) socket.unshift(held.subarray(end + 1));
    welcome(hello, socket);
  };
  socket.on('error', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
  socket.on('data', read).resume();
}

function readLine(line: string): Hello | undefined {
  try {
    return readHello(JSON.parse(line));
  } catch {
    return undefined;
  }
}

/** A listener from another process, for `server.listen`. */
export type Handle = object;

/** @returns the words that start one of the small programs beside this file */
function command(name: string): [string, ...string[]] {
  return partCommand(name, import.meta.url);
}

/**
 * Sends listeners over a connection, which belongs to this function from then on.
 *
 * @param listeners file descriptors by their names
 */
export function sendListeners(channel: Socket, listeners: ReadonlyMap<string, number>): void {
  const [program, ...args] = command('send-listeners');
  const child = spawn(program, [...args, ...listeners.keys()], {
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
  const [program, ...args] = command('pass-listeners');
  const child = spawn(program, [...args, ...command('send-listeners')], {
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
