/** Where processes of `culvert` can be found by `culvert inspect`: one socket each, for this user alone. */
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** Windows has no sockets in folders that Node listens on; its named pipes are for the user that made them. */
const PIPES = '\\\\.\\pipe\\';
const NAME = /^(\d+)\.sock$/;

export interface RuntimeFolder {
  /** where the process of that number listens */
  pathOf(pid: number): string;
  /** where processes listen, or did before they ended without notice */
  paths(): string[];
  /** whether a path is a file, which is left behind by a process that is killed */
  readonly hasFiles: boolean;
}

/**
 * The folder of this user, made where it is missing, with mode 0700.
 *
 * @throws Error when somebody else could have made it or can reach into it
 */
export function runtimeFolder(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): RuntimeFolder {
  if (platform === 'win32') return namedPipes(`culvert-${userInfo().username}-`);
  const base = env['XDG_RUNTIME_DIR'];
  const hasBase = base !== undefined && base.startsWith('/');
  const folder = hasBase ? join(base, 'culvert') : join(tmpdir(), `culvert-${userInfo().uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  claim(folder);
  return {
    hasFiles: true,
    pathOf: (pid) => join(folder, `${pid}.sock`),
    paths: () =>
      readdirSync(folder)
        .filter((name) => NAME.test(name))
        .map((name) => join(folder, name)),
  };
}

/** In a folder that everybody may write to, another user can have been first, or have put a link there. */
function claim(folder: string): void {
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== userInfo().uid)
    throw new Error(`${folder} is not a folder of this user; remove it`);
  if ((stat.mode & 0o077) !== 0) chmodSync(folder, 0o700);
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
