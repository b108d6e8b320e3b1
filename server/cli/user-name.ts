/** Who gives a command, for the list of who did what. */
import { userInfo } from 'node:os';

/**
 * Names the user that the system knows the process to have. `SUDO_USER` is only a variable, which anybody can set, so it is
 * added as such: where commands run as a user that several people share, it is the only hint at who it was.
 *
 * @param name of the user as whom the process runs
 */
export function userName(env: NodeJS.ProcessEnv, name = systemName()): string {
  const caller = env['SUDO_USER'];
  const isHint = caller !== undefined && caller !== name && /^[\w.@-]{1,64}$/.test(caller);
  return isHint ? `${name} (SUDO_USER=${caller})` : name;
}

function systemName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}
