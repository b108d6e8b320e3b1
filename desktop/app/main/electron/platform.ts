/** The system around the app's core, as Electron gives it. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type * as Electron from 'electron';
import type { App, Dialog, SafeStorage } from 'electron';
import { systemClock } from '../../../client/clock.ts';
import { DurableFile } from '../../../client/config/durable-file.ts';
import { Network } from '../../../client/network/network.ts';
import { readNetworkSettings } from '../../../client/network/proxy-dial.ts';
import type { AskOwner } from '../../../client/owner-questions.ts';
import type { About } from '../../ipc/ipc.ts';
import { translateMessage } from '../../messages/message-text.ts';
import { t } from '../../messages/translate.ts';
import type { ProjectLinks } from '../deep-link.ts';
import { GlobalShortcutKey } from '../global-shortcut.ts';
import { nodePlatform } from '../node-platform.ts';
import type { Autostart, Platform } from '../platform.ts';
import { createPortScan } from '../ports.ts';
import { readToImport } from '../requests.ts';
import { showsTrayIcons } from './tray-host.ts';

interface ElectronPlatformOptions {
  readonly electron: Pick<
    typeof Electron,
    'app' | 'clipboard' | 'dialog' | 'globalShortcut' | 'nativeTheme' | 'net' | 'safeStorage' | 'shell'
  >;
  readonly process: Pick<NodeJS.Process, 'platform' | 'env' | 'execPath' | 'stderr' | 'getuid'>;
  readonly about: About;
  readonly links: ProjectLinks;
}

/** @throws NetworkSettingError if the environment describes a way to relays that cannot be used */
export function electronPlatform(options: ElectronPlatformOptions): Platform {
  const { electron, process, about, links } = options;
  const { app, clipboard, dialog, nativeTheme, net, safeStorage, shell } = electron;
  const { env, platform } = process;
  const network = new Network(readNetworkSettings(env));
  const report = (what: string, error: unknown): void => {
    process.stderr.write(
      `culvert: ${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
  };
  return {
    ...nodePlatform(process, () => network, report),
    clock: systemClock,
    dataDirectory: app.getPath('userData'),
    encryption: systemEncryption(safeStorage, platform),
    autostart:
      platform === 'linux'
        ? xdgAutostart(
            env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'),
            env['APPIMAGE'] ?? process.execPath,
          )
        : loginItem(app),
    about,
    links,
    scanPorts: createPortScan(platform, () => ownProcesses(app)),
    hasNetwork: () => net.isOnline(),
    preferredLanguages: () => app.getPreferredSystemLanguages(),
    copy: (text) => clipboard.writeText(text),
    async chooseFileToWrite(name) {
      const { canceled, filePath } = await dialog.showSaveDialog({
        defaultPath: join(app.getPath('downloads'), name),
        properties: ['createDirectory', 'showOverwriteConfirmation'],
      });
      if (canceled) return undefined;
      return { path: filePath, write: (text) => new DurableFile(filePath).write(text) };
    },
    async chooseFolder() {
      const { canceled, filePaths } = await dialog.showOpenDialog({ properties: ['openDirectory'] });
      return canceled ? undefined : filePaths[0];
    },
    async chooseHarToRead() {
      const { canceled, filePaths } = await dialog.showOpenDialog({
        defaultPath: app.getPath('downloads'),
        filters: [{ name: 'HAR', extensions: ['har', 'json'] }],
        properties: ['openFile'],
      });
      const [path] = filePaths;
      return canceled || path === undefined ? undefined : readToImport(path);
    },
    open: (url) => shell.openExternal(url),
    tell({ text }) {
      dialog
        .showMessageBox({ type: 'warning', message: 'Culvert', detail: text, buttons: ['OK'] })
        .catch((error: unknown) => report('showing a message', error));
    },
    showsTrayIcons: platform === 'linux' ? () => showsTrayIcons(env, process.getuid?.() ?? 0) : undefined,
    summonKey: new GlobalShortcutKey(electron.globalShortcut),
    setTheme(theme) {
      nativeTheme.themeSource = theme;
    },
  };
}

function ownProcesses(app: Pick<Electron.App, 'getAppMetrics'>): ReadonlySet<number> {
  return new Set(app.getAppMetrics().map(({ pid }) => pid));
}

/**
 * The key store of the operating system. On Linux without one, Electron encrypts with a key that everybody knows
 * (`basic_text`), which does not count as encryption.
 */
export function systemEncryption(
  safeStorage: Pick<
    SafeStorage,
    'isAsyncEncryptionAvailable' | 'encryptStringAsync' | 'decryptStringAsync' | 'getSelectedStorageBackend'
  >,
  platform: NodeJS.Platform,
): Platform['encryption'] {
  return {
    async isReal() {
      if (!(await safeStorage.isAsyncEncryptionAvailable())) return false;
      if (platform !== 'linux') return true;
      const backend = safeStorage.getSelectedStorageBackend();
      return backend !== 'basic_text' && backend !== 'unknown';
    },
    encrypt: (text) => safeStorage.encryptStringAsync(text),
    async decrypt(bytes) {
      return (await safeStorage.decryptStringAsync(bytes)).result;
    },
  };
}

/** The argument with which the app starts without showing its window. */
const HIDDEN_ARGUMENT = '--hidden';

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

/** Asks in a dialog, which needs no window. Closing it refuses. */
export function askInDialog(dialog: Pick<Dialog, 'showMessageBox'>): AskOwner {
  return async (question, signal) => {
    const { response } = await dialog.showMessageBox({
      type: 'question',
      message: t('agent.asks'),
      detail: translateMessage(question),
      buttons: [t('agent.refuse'), t('agent.allow')],
      defaultId: 0,
      cancelId: 0,
      noLink: true,
      signal,
    });
    return response === 1 && !signal.aborted;
  };
}
