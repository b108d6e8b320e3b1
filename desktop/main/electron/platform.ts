/** The system around the app's core, as Electron gives it. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type * as Electron from 'electron';
import { inventPassword } from '../../engine/access/invent-password.ts';
import { systemClock } from '../../engine/clock.ts';
import { findTunnels } from '../../engine/inspector/socket/inspector-client.ts';
import { runtimeFolder } from '../../engine/inspector/socket/runtime-folder.ts';
import { Network } from '../../engine/network/network.ts';
import { readNetworkSettings } from '../../engine/network/settings.ts';
import { ApiClient } from '../../engine/relay/api-client.ts';
import { lookAtInvitation, takeInvitation } from '../../engine/relay/invitation.ts';
import type { About } from '../../shared/ipc.ts';
import type { Platform } from '../platform.ts';
import { createPortScan } from '../ports/scan.ts';
import { xdgAutostart } from '../system/autostart.ts';
import { examineWithDoctor } from '../system/examine.ts';
import type { ProjectLinks } from '../system/links.ts';
import { createEngineLog } from '../tunnels/engine-log.ts';
import { serveWithEngine } from '../tunnels/serve.ts';
import { systemEncryption } from './encryption.ts';
import { loginItem } from './login-item.ts';
import { SummonKey } from '../system/summon-key.ts';

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
    examine: examineWithDoctor(network),
    serve: serveWithEngine(network),
    createLog: createEngineLog,
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
      return canceled ? undefined : filePath;
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
      return canceled ? undefined : filePaths[0];
    },
    open: (url) => shell.openExternal(url),
    tell({ text }) {
      dialog
        .showMessageBox({ type: 'warning', message: 'Culvert', detail: text, buttons: ['OK'] })
        .catch((error: unknown) => report('showing a message', error));
    },
    summonKey: new SummonKey(electron.globalShortcut),
    setTheme(theme) {
      nativeTheme.themeSource = theme;
    },
    report,
  };
}

function ownProcesses(app: Pick<Electron.App, 'getAppMetrics'>): ReadonlySet<number> {
  return new Set(app.getAppMetrics().map(({ pid }) => pid));
}
