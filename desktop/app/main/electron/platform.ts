/** The system around the app's core, as Electron gives it. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type * as Electron from 'electron';
import type { SafeStorage } from 'electron';
import { systemClock } from '../../../client/clock.ts';
import { DurableFile } from '../../../client/config/durable-file.ts';
import { findTunnels, runtimeFolder } from '../../../client/inspector/inspector-protocol.ts';
import { inventPassword } from '../../../client/invented-password.ts';
import { Network } from '../../../client/network/network.ts';
import { readNetworkSettings } from '../../../client/network/proxy-dial.ts';
import { ApiClient } from '../../../client/relay/api-client.ts';
import { lookAtInvitation, takeInvitation } from '../../../client/relay/invitation.ts';
import type { About } from '../../ipc/ipc.ts';
import type { ProjectLinks } from '../deep-link.ts';
import { runDiagnostics } from '../diagnostics.ts';
import { GlobalShortcutKey } from '../global-shortcut.ts';
import type { Platform } from '../platform.ts';
import { createPortScan } from '../ports/port-scan.ts';
import { readToImport } from '../requests.ts';
import { serveWithEngine } from '../tunnels/folder-service.ts';
import { createTunnelLog } from '../tunnels/tunnel-log.ts';
import { loginItem, xdgAutostart } from './autostart.ts';

export interface ElectronPlatformOptions {
  readonly electron: Pick<
    typeof Electron,
    'app' | 'clipboard' | 'dialog' | 'globalShortcut' | 'nativeTheme' | 'net' | 'safeStorage' | 'shell'
  >;
  readonly process: Pick<NodeJS.Process, 'platform' | 'env' | 'execPath' | 'stderr'>;
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
    connect: (relay, key) => new ApiClient(relay, key, network),
    lookAtInvitation: (invitation) => lookAtInvitation(invitation, network),
    takeInvitation: (invitation) => takeInvitation(invitation, network),
    examine: runDiagnostics(network),
    serve: serveWithEngine(network),
    createLog: createTunnelLog,
    servedHere: async () => new Set((await findTunnels(runtimeFolder(env, platform))).map(({ id }) => id)),
    scanPorts: createPortScan(platform, () => ownProcesses(app)),
    hasNetwork: () => net.isOnline(),
    preferredLanguages: () => app.getPreferredSystemLanguages(),
    inventPassword: () => inventPassword(),
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
    summonKey: new GlobalShortcutKey(electron.globalShortcut),
    setTheme(theme) {
      nativeTheme.themeSource = theme;
    },
    report,
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
