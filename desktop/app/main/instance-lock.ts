/**
 * Makes one program the owner of the app's files: the app, or `culvert ui`. Two that write would lose each other's
 * changes. The lock is a socket in their folder, so that it ends with its owner, however that ends.
 */
import { once } from 'node:events';
import { chmodSync, linkSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { socketPath } from '../../client/owner-questions.ts';

/** How long a program that holds the lock on the data has to say what it is. */
const LOCK_ANSWER_TIMEOUT_MS = 2000;
/** Maximum size of that answer. */
const LOCK_ANSWER_MAX_BYTES = 4096;

/** The program that has the lock, as it says itself. */
export interface Owner {
  readonly program: 'app' | 'culvert ui' | 'unknown';
  /** `undefined` if it does not answer, for example because it was stopped with Ctrl-Z */
  readonly pid?: number | undefined;
  /** a link that opens its window, for the user who asks */
  readonly link?: string | undefined;
}

/** Thrown if another program has the lock. */
export class AlreadyRunning extends Error {
  readonly owner: Owner;

  constructor(owner: Owner) {
    super(`${owner.program} uses the files`);
    this.owner = owner;
  }
}

/**
 * @param directory of the app's files; created if it is missing
 * @param describe called when another program asks for the lock
 * @throws AlreadyRunning; Error if it cannot be locked
 */
export async function lockInstance(directory: string, describe: () => Owner) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const isPipe = process.platform === 'win32';
  const path = socketPath(directory, 'instance');
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.setTimeout(LOCK_ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.end(`${JSON.stringify(describe())}\n`);
  });
  server.maxConnections = 8;
  // The lock must not keep its program alive.
  server.unref();
  if (isPipe) await listenOnPipe(server, path);
  else await listenOnSocket(server, path);
  server.on('error', () => undefined);
  return {
    /** Call it before the program ends. */
    release(): void {
      server.close();
      if (!isPipe) rmSync(path, { force: true });
    },
  };
}

/** Windows has no stale pipes: a pipe ends with its process. */
async function listenOnPipe(server: Server, path: string): Promise<void> {
  try {
    await listen(server, path);
  } catch (error) {
    const owner = await ask(path);
    throw owner === undefined ? error : new AlreadyRunning(owner);
  }
}

/** Listens under a name of its own first: a socket that has the common name is one that answers. */
async function listenOnSocket(server: Server, path: string): Promise<void> {
  const own = `${path}.${process.pid}`;
  rmSync(own, { force: true });
  await listen(server, own);
  chmodSync(own, 0o600);
  try {
    for (let tries = 0; ; tries += 1) {
      try {
        linkSync(own, path);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries > 2) throw error;
      }
      const owner = await ask(path);
      if (owner !== undefined) throw new AlreadyRunning(owner);
      await removeStale(path);
    }
  } catch (error) {
    server.close();
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

/** Another program may have replaced it since it did not answer: that one gets its name back. */
async function removeStale(path: string): Promise<void> {
  const aside = `${path}.stale-${process.pid}`;
  renameSync(path, aside);
  if ((await ask(aside)) !== undefined) linkSync(aside, path);
  rmSync(aside, { force: true });
}

async function listen(server: Server, path: string): Promise<void> {
  server.listen(path);
  await once(server, 'listening');
}

/**
 * A program that was stopped accepts connections, and does not answer: it continues one day, so it has the lock.
 *
 * @returns `undefined` if nothing listens there
 * @throws the system's error if that cannot be found out
 */
function ask(path: string): Promise<Owner | undefined> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(path);
    const end = (): void => {
      socket.destroy();
      resolve(readOwner(text));
    };
    socket.setTimeout(LOCK_ANSWER_TIMEOUT_MS, end);
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.length > LOCK_ANSWER_MAX_BYTES) end();
    });
    socket.on('end', end);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(undefined);
      else if (error.code === 'ECONNRESET') end();
      else reject(error);
    });
  });
}

function readOwner(text: string): Owner {
  try {
    const { program, pid, link } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if ((program === 'app' || program === 'culvert ui') && typeof pid === 'number')
      return { program, pid, link: typeof link === 'string' ? link : undefined };
  } catch {
    // It was cut off.
  }
  return { program: 'unknown' };
}
