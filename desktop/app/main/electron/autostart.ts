/** Start at login: a setting of the system on macOS and Windows, a file on Linux. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { App } from 'electron';
import type { Autostart } from '../platform.ts';

/** The argument with which the app starts without showing its window. */
export const HIDDEN_ARGUMENT = '--hidden';

/** Desktops disable an entry with such a line, and leave the file. */
const OFF = /^(?:Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m;

/**
 * @param configDirectory `$XDG_CONFIG_HOME`, or `~/.config`
 * @param program path of the app, or of its AppImage
 */
export function xdgAutostart(configDirectory: string, program: string): Autostart {
  const path = join(configDirectory, 'autostart', 'culvert.desktop');
  return {
    async isOn() {
      try {
        return !OFF.test(await readFile(path, 'utf8'));
      } catch {
        return false;
      }
    },
    async set(isOn) {
      if (!isOn) {
        await rm(path, { force: true });
        return;
      }
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, desktopEntry(program));
    },
  };
}

function desktopEntry(program: string): string {
  return `[Desktop Entry]
Type=Application
Name=Culvert
Comment=Tunnels to ports of this computer
Exec=${quote(program)} ${HIDDEN_ARGUMENT}
Terminal=false
X-GNOME-Autostart-enabled=true
`;
}

/** Desktop Entry Specification, "The Exec key": quoted, and its backslashes escaped once more, because it is a string. */
function quote(program: string): string {
  const quoted = program.replace(/["`$\\]/g, '\\$&').replaceAll('%', '%%');
  return `"${quoted.replaceAll('\\', '\\\\')}"`;
}

/** Start at login on macOS and Windows. */
export function loginItem(app: Pick<App, 'getLoginItemSettings' | 'setLoginItemSettings'>): Autostart {
  const args = [HIDDEN_ARGUMENT];
  return {
    isOn() {
      const { openAtLogin, executableWillLaunchAtLogin } = app.getLoginItemSettings({ args });
      // The Task Manager of Windows can disable it separately; macOS does not have this property.
      return Promise.resolve(openAtLogin && (executableWillLaunchAtLogin as boolean | undefined) !== false);
    },
    set(isOn) {
      app.setLoginItemSettings({ openAtLogin: isOn, args });
      return Promise.resolve();
    },
  };
}

/** Whether the system has started the app, which then shows no window. macOS passes no arguments. */
export function isStartedAtLogin(
  app: Pick<App, 'getLoginItemSettings'>,
  platform: NodeJS.Platform,
  argv: readonly string[],
): boolean {
  return (
    argv.includes(HIDDEN_ARGUMENT) || (platform === 'darwin' && app.getLoginItemSettings().wasOpenedAtLogin)
  );
}
