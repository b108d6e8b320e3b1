/** Where programs of this user find each other's tunnels: one socket for each process, private to this user. */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** On Windows Node cannot listen on sockets in folders; named pipes are private to the user who created them. */
const PIPES = '\\\\.\\pipe\\';
const NAME = /^(\d+)\.sock$/;

export interface RuntimeFolder {
  /** Where the process with that id listens. @throws Error if no private socket can be created there */
  pathOf(pid: number): string;
  /** where processes listen, or listened before they were killed */
  paths(): string[];
  /** whether paths are files, which a killed process leaves behind */
  readonly hasFiles: boolean;
}

/**
 * The folder of this user. A process started without a login session has no XDG_RUNTIME_DIR, so sockets are found in
 * both places, and created in the first usable one.
 */
export function runtimeFolder(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): RuntimeFolder {
  if (platform === 'win32') return namedPipes(`culvert-${userInfo().username}-`);
  const base = env['XDG_RUNTIME_DIR'];
  const hasBase = base !== undefined && base.startsWith('/');
  const folders = [
    ...(hasBase ? [join(base, 'culvert')] : []),
    join(env['TMPDIR'] ?? tmpdir(), `culvert-${userInfo().uid}`),
  ];
  return {
    hasFiles: true,
    pathOf: (pid) => join(firstUsable(folders), `${pid}.sock`),
    paths: () => folders.filter(isOwn).flatMap(socketsIn),
  };
}

/**
 * Creates the folder with mode 0700 if it is missing.
 *
 * @throws Error if it cannot be created, or another user may have created it
 */
function firstUsable(folders: readonly string[]): string {
  const problems: string[] = [];
  for (const folder of folders) {
    try {
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      if (!isOwn(folder)) throw new Error(`${folder} does not belong to this user; remove it`);
      chmodSync(folder, 0o700);
      return folder;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(problems.join('; '));
}

/** In a world-writable folder, another user may have been first, or have placed a link. */
function isOwn(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat !== undefined && stat.isDirectory() && stat.uid === userInfo().uid;
}

function socketsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .map((name) => join(folder, name));
}

function namedPipes(prefix: string): RuntimeFolder {
  return {
    hasFiles: false,
    pathOf: (pid) => `${PIPES}${prefix}${pid}`,
    paths: () =>
      readdirSync(PIPES)
        .filter((name) => name.startsWith(prefix))
        .map((name) => PIPES + name),
  };
}
