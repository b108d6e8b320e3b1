/** Who gives a command, for the list of who did what. */
import { userInfo } from 'node:os';

/** @returns the name of the user, of the one who has called `sudo` if there is one */
export function userName(env: NodeJS.ProcessEnv): string {
  const caller = env['SUDO_USER'];
  if (caller !== undefined && /^[\w.@-]{1,64}$/.test(caller)) return caller;
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}
