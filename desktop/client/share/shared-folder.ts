/** Serves a folder of this machine from a web server in this process. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, constants, realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { homedir } from 'node:os';
import { resolve as resolvePath } from 'node:path';
import { configFolder } from '../config/stored-login.ts';
import { type Message, MessageError, toMessage } from '../messages.ts';
import { FOLDER_LOOKS, folderHandler, type FolderLooks, FolderSilent } from './folder-handler.ts';

/** The path is not a folder, or this user may not list it. The message says which. */
export class FolderUnreadable extends MessageError {
  constructor(said: Message) {
    super(said, { code: 'no-folder' });
    this.name = 'FolderUnreadable';
  }
}

export type SharedFolder = Awaited<ReturnType<typeof shareFolder>>;

/** A `Host` that cannot be guessed. */
function secretHost(): string {
  return `${randomBytes(16).toString('hex')}.invalid`;
}

interface ShareOptions {
  /** the `Host` that requests need */
  readonly host?: string;
  /** paths of Culvert's own files and folders that are not shared, in addition to {@link configFolder} */
  readonly own?: readonly string[];
}

/**
 * Serves a folder on a free port of loopback, read-only.
 *
 * @throws FolderUnreadable if it is not a folder, or this user may not list it
 */
export async function shareFolder(folder: string, { host = secretHost(), own = [] }: ShareOptions = {}) {
  const path = await locateFolder(folder);
  const settings = configFolder({ platform: process.platform, env: process.env, home: homedir() });
  const server = createServer(
    folderHandler({ path, own: await Promise.all([settings, ...own].map(locate)) }, host),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // For example too few file descriptors: connected visitors are still served, and the next accept may work.
  server.on('error', () => {});
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return {
    /** on 127.0.0.1 */
    port: address.port,
    /** the `Host` that requests need, known only to the tunnel */
    host,
    /** real path of the folder */
    path,
    /** Closes the server and its connections. */
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** @returns the real path of a file or folder, even before it exists */
async function locate(path: string): Promise<string> {
  const whole = resolvePath(path);
  return realpath(whole).catch(() => whole);
}

/**
 * @returns the real path of the folder
 * @throws FolderUnreadable if it is not a folder, does not answer, or this user may not list it
 */
export async function locateFolder(
  folder: string,
  looks: Pick<FolderLooks, 'take'> = FOLDER_LOOKS,
): Promise<string> {
  try {
    return await looks.take(async () => {
      const path = await realpath(folder);
      if (!(await stat(path)).isDirectory()) throw new FolderUnreadable(toMessage('folder.none', { folder }));
      await access(path, constants.R_OK | constants.X_OK);
      return path;
    });
  } catch (error) {
    if (error instanceof FolderUnreadable) throw error;
    if (error instanceof FolderSilent) throw new FolderUnreadable(toMessage('folder.silent', { folder }));
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new FolderUnreadable(toMessage('folder.unreadable', { folder, code }));
  }
}
