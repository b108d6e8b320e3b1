/** Start at login on Linux: a file as in the XDG Desktop Application Autostart Specification. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface Autostart {
  /** Whether the system will start the app, which its user can also change in the system's own settings. */
  isOn(): Promise<boolean>;
  /** @throws if it cannot be written */
  set(isOn: boolean): Promise<void>;
}

/** The argument with which the app starts without showing its window. */
export const HIDDEN_ARGUMENT = '--hidden';

/** Desktops switch an entry off by such a line, and leave the file. */
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
