/** Where processes of `culvert` can be found by `culvert inspect`: one socket each, for this user alone. */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** Windows has no sockets in folders that Node listens on; its named pipes are for the user that made them. */
const PIPES = '\\\\.\\pipe\\';
const NAME = /^(\d+)\.sock$/;

export interface RuntimeFolder {
  /** Where the process of that number listens. @throws Error when no socket can be created there for this user alone */
  pathOf(pid: number): string;
  /** where processes listen, or did before they were killed */
  paths(): string[];
  /** whether a path is a file, which a killed process leaves behind */
  readonly hasFiles: boolean;
}

/**
 * The folder of this user. A process that was started without a login session has no XDG_RUNTIME_DIR, so sockets are
 * looked for in both places, and made in the first that can be used.
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
 * @throws Error when it cannot be created, or somebody else could have created it
 */
function firstUsable(folders: readonly string[]): string {
  const problems: string[] = [];
  for (const folder of folders) {
    try {
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      if (!isOwn(folder)) throw new Error(`${folder} is not a folder of this user; remove it`);
      chmodSync(folder, 0o700);
      return folder;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(problems.join('; '));
}

/** In a folder that everybody may write to, another user may have been first, or have put a link there. */
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
