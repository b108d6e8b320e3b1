/** The app without its window: its real core and handlers, on a fake of the Electron parts that are missing here. */
import type { EventEmitter } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type * as Electron from 'electron';
import type { About } from '../../../desktop/app/ipc/ipc.ts';
import type { TunnelView } from '../../../desktop/app/ipc/snapshot.ts';
import { type Core, createCore } from '../../../desktop/app/main/core.ts';
import { projectLinks, readDeepLink } from '../../../desktop/app/main/deep-link.ts';
import { collectLinks, listenToSystem } from '../../../desktop/app/main/electron/events.ts';
import { registerChannels } from '../../../desktop/app/main/electron/ipc.ts';
import { PAGE_URL } from '../../../desktop/app/main/electron/page-scheme.ts';
import {
  electronPlatform,
  type ElectronPlatformOptions,
} from '../../../desktop/app/main/electron/platform.ts';
import { systemClock, type Timer } from '../../../desktop/client/clock.ts';
import { fakeEmitter } from '../../../desktop/testing/electron/emitter.ts';
import { VERSION } from '../../../shared/version.ts';
import type { Scope } from '../../support/scope.ts';
import type { MainSide } from './app-window.ts';
import { newest, type RunningApp } from './running-app.ts';
import { FAKE_KEY_STORE } from './electron-outside.ts';

const ABOUT: About = {
  version: VERSION,
  versions: [{ name: 'Node', version: process.versions.node }],
  licences: [{ name: 'Culvert', licence: 'MIT' }],
};

type Listener = (event: Electron.IpcMainInvokeEvent, payload: unknown) => unknown;

/** Effects that the user would see outside the window. */
export interface Outside {
  readonly copied: string[];
  readonly opened: string[];
  readonly notices: string[];
  readonly reports: string[];
  theme: string;
  hasNetwork: boolean;
  /** the folder that the user chooses next */
  folder: string | undefined;
}

export class DesktopApp implements MainSide, RunningApp {
  readonly core: Core;
  readonly outside: Outside;
  readonly #system: EventEmitter;
  readonly #power: EventEmitter;
  readonly #listeners: ReadonlyMap<string, Listener>;
  readonly #frame: Electron.WebFrameMain;

  private constructor(
    core: Core,
    outside: Outside,
    { system, power }: SystemEvents,
    listeners: ReadonlyMap<string, Listener>,
    frame: Electron.WebFrameMain,
  ) {
    this.core = core;
    this.outside = outside;
    this.#system = system;
    this.#power = power;
    this.#listeners = listeners;
    this.#frame = frame;
  }

  /**
   * Starts the app as its composition root does; ends with the scope, without calls to the relay.
   *
   * @param directory of the app's own files; starting with the same directory restarts the same app
   */
  static async start(scope: Scope, directory: string): Promise<DesktopApp> {
    mkdirSync(directory, { recursive: true });
    const outside: Outside = {
      copied: [],
      opened: [],
      notices: [],
      reports: [],
      theme: 'system',
      hasNetwork: true,
      folder: undefined,
    };
    const report = (what: string, error: unknown): void => {
      outside.reports.push(`${what}: ${String(error)}`);
    };
    const timers = new Set<Timer>();
    let isOver = false;
    const platform = {
      ...electronPlatform({
        electron: fakeElectron(directory, outside),
        process: {
          platform: process.platform,
          env: { XDG_CONFIG_HOME: join(directory, 'config') },
          execPath: '/opt/Culvert/culvert',
          stderr: process.stderr,
        },
        about: ABOUT,
        links: projectLinks('https://home.test', VERSION),
      }),
      clock: {
        ...systemClock,
        setTimeout(callback: () => void, ms: number): Timer {
          // Otherwise, work in progress at the end would continue forever.
          if (isOver) return { cancel: () => undefined };
          const timer = systemClock.setTimeout(() => {
            timers.delete(timer);
            callback();
          }, ms);
          timers.add(timer);
          return timer;
        },
      },
      report,
    };
    const core = await createCore(platform);
    core.notices.listen(({ title }) => outside.notices.push(title));
    scope.defer(() => {
      // Not by stopping them: a status check in progress would close them at the relay.
      for (const tunnel of core.tunnelList.tunnels) tunnel.end('signed-out', () => 'The test is over.');
      isOver = true;
      for (const timer of timers) timer.cancel();
      // After a restart the app finds its stored state.
      return core.store.change({});
    });
    const listeners = new Map<string, Listener>();
    const frame = { url: PAGE_URL } as Electron.WebFrameMain;
    registerChannels({
      ipc: { handle: (channel: string, listener: Listener) => void listeners.set(channel, listener) },
      core,
      mainFrame: () => frame,
      reportBug: report,
    });
    const { system, power } = systemEvents(core);
    await core.start();
    core.setVisible(true);
    return new DesktopApp(core, outside, { system, power }, listeners, frame);
  }

  tunnel(): Promise<TunnelView> {
    return Promise.resolve(newest(this.core.snapshots.make().tunnels));
  }

  copied(): Promise<readonly string[]> {
    return Promise.resolve(this.outside.copied);
  }

  opened(): Promise<readonly string[]> {
    return Promise.resolve(this.outside.opened);
  }

  theme(): Promise<string> {
    return Promise.resolve(this.outside.theme);
  }

  chooseNext(folder: string | undefined): Promise<void> {
    this.outside.folder = folder;
    return Promise.resolve();
  }

  openLink(link: string): Promise<void> {
    return Promise.resolve(void this.#system.emit('second-instance', {}, ['culvert', link]));
  }

  suspend(): Promise<void> {
    return Promise.resolve(void this.#power.emit('suspend'));
  }

  wake(): Promise<void> {
    return Promise.resolve(void this.#power.emit('resume'));
  }

  invoke(channel: string, payload: unknown): unknown {
    const listener = this.#listeners.get(channel);
    if (listener === undefined) throw new Error(`nothing is registered for ${channel}`);
    return listener({ senderFrame: this.#frame } as Electron.IpcMainInvokeEvent, payload);
  }

  connect(push: (name: string, value: unknown) => Promise<void>): void {
    this.core.snapshots.listen((snapshot) => {
      push('snapshot:changed', snapshot).catch((error: unknown) => {
        // The window closes while a push is in progress.
        if (!/closed|destroyed/i.test(String(error))) this.outside.reports.push(String(error));
      });
    });
  }
}

/** The event sources of the system. */
interface SystemEvents {
  readonly system: EventEmitter;
  readonly power: EventEmitter;
}

/** Connects the app to events of the system, as its composition root does. */
function systemEvents(core: Core): SystemEvents {
  const system = fakeEmitter({});
  const app = system as unknown as Electron.App;
  const power = fakeEmitter({});
  listenToSystem(app, power as unknown as Electron.PowerMonitor, collectLinks(app), {
    onShow: () => undefined,
    onLink(link) {
      const read = readDeepLink(link);
      if (read?.opens === 'invitation') core.openInvitation(read.address);
    },
    onSuspend: () => core.suspend(),
    onWake: () => core.wake(),
    onShutdown: () => undefined,
    onQuit: () => true,
  });
  return { system, power };
}

/** A system with a fake key store, clipboard, browser and network. */
function fakeElectron(directory: string, outside: Outside): ElectronPlatformOptions['electron'] {
  const electron = {
    app: {
      getPath: () => directory,
      getAppMetrics: () => [],
      getLoginItemSettings: () => ({ openAtLogin: false }),
      getPreferredSystemLanguages: () => ['en'],
    },
    clipboard: { writeText: (text: string) => Promise.resolve(void outside.copied.push(text)) },
    globalShortcut: {
      // Another program has registered one of them.
      register: (accelerator: string) => accelerator !== 'Alt+Shift+C',
      unregister: () => undefined,
    },
    dialog: {
      showMessageBox: () => Promise.resolve({ response: 0, checkboxChecked: false }),
      showSaveDialog: ({ defaultPath }: Electron.SaveDialogOptions) =>
        Promise.resolve({ canceled: false, filePath: defaultPath }),
      showOpenDialog({ defaultPath = '', properties = [] }: Electron.OpenDialogOptions) {
        const chosen = properties.includes('openDirectory')
          ? outside.folder
          : join(defaultPath, 'import.har');
        return Promise.resolve({
          canceled: chosen === undefined,
          filePaths: chosen === undefined ? [] : [chosen],
        });
      },
    },
    nativeTheme: {
      set themeSource(theme: string) {
        outside.theme = theme;
      },
    },
    net: { isOnline: () => outside.hasNetwork },
    safeStorage: FAKE_KEY_STORE,
    shell: { openExternal: (url: string) => Promise.resolve(void outside.opened.push(url)) },
  };
  // Only the parts of Electron that platform.ts uses. Its types are checked by the tests of desktop/main.
  return electron as unknown as ElectronPlatformOptions['electron'];
}
