/** Where `culvert` keeps what belongs to the user. */
import { posix, win32 } from 'node:path';

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** the user's home folder */
  readonly home: string;
}

/** The folder for configuration: XDG's on Linux, Application Support on macOS, %APPDATA% on Windows. */
export function configFolder({ platform, env, home }: Machine): string {
  if (platform === 'win32') {
    return win32.join(env['APPDATA'] || win32.join(home, 'AppData', 'Roaming'), 'Culvert');
  }
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support', 'Culvert');
  // A relative path must be ignored (XDG Base Directory Specification).
  const base = env['XDG_CONFIG_HOME'] ?? '';
  return posix.join(posix.isAbsolute(base) ? base : posix.join(home, '.config'), 'culvert');
}
