/**
 * Where a relay is met by the one that replaces it: a socket in the data folder, for the relay's own user only. One that a
 * killed relay has left leads to nobody.
 */
import { once } from 'node:events';
import { chmodSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { LISTEN_BACKLOG, HANDOFF_HELLO_MS, HANDOFF_LINE_MAX_BYTES } from '../limits.ts';
import { type Hello, readHello } from './conversation.ts';

const LINE_FEED = 10;
/** Bytes of a socket's path that the system takes: the least of those that Node runs on (macOS), less its final zero. */
const PATH_MAX_BYTES = 103;

/** @returns the path of the socket of the relay on a port */
export function handoffSocketPath(dataDir: string, port: number): string {
  return join(dataDir, `relay-${port}.sock`);
}

/** Takes a connection whose first line has come; the socket is paused, and what follows is still to be read from it. */
export type Welcome = (hello: Hello, socket: Socket) => void;

export class HandoffSocket {
  readonly #server: Server;
  readonly #path: string;
  #isClosed = false;

  private constructor(server: Server, path: string) {
    this.#server = server;
    this.#path = path;
  }

  /**
   * Opens it in place of the one that is there.
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
      // Nobody else could reach it before, because the folder is for its owner only.
      chmodSync(made, 0o600);
      renameSync(made, path);
      return new HandoffSocket(server, path);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** @param isTaken whether another relay has opened its own in place of it */
  close(isTaken: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#server.close();
    if (!isTaken) rmSync(this.#path, { force: true });
  }
}

/**
 * Connects to a relay's meeting point.
 *
 * @returns paused; `undefined` where no relay is
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
