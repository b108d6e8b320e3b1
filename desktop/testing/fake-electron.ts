/** The part of the `electron` module that the main process uses; it records its calls for tests. */
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { compileFunction } from 'node:vm';
import type * as Electron from 'electron';
import type { IpcMain, IpcMainInvokeEvent, IpcRenderer, WebFrameMain } from 'electron';

interface FakeElectron {
  /** the result of `require('electron')` */
  readonly module: object;
  readonly ipc: FakeIpc;
  readonly windows: Electron.BrowserWindowConstructorOptions[];
  readonly schemes: string[];
  readonly urls: string[];
  /** tooltips of the tray, in order */
  readonly tooltips: string[];
  /** that work while other programs are in front, in order */
  readonly shortcuts: string[];
  /** messages that end the app */
  readonly errors: string[];
  /** resolves when a window is shown */
  readonly shown: Promise<void>;
}

/** @param directory of the app's own files */
export function fakeElectron(directory: string): FakeElectron {
  const ipc = new FakeIpc();
  const windows: Electron.BrowserWindowConstructorOptions[] = [];
  const schemes: string[] = [];
  const urls: string[] = [];
  const tooltips: string[] = [];
  const errors: string[] = [];
  const shortcuts: string[] = [];
  const { promise: shown, resolve: show } = Promise.withResolvers<void>();
  const window = {
    webContents: { mainFrame: {}, send() {} },
    loadURL: (url: string) => Promise.resolve(void urls.push(url)),
    isVisible: () => true,
    isMinimized: () => false,
    isDestroyed: () => false,
    show,
    focus() {},
  } satisfies Partial<Record<keyof Electron.BrowserWindow, unknown>>;
  const tray = {
    setImage() {},
    setContextMenu() {},
    setToolTip: (text: string) => void tooltips.push(text),
  } satisfies Partial<Record<keyof Electron.Tray, unknown>>;
  const session = {
    setPermissionRequestHandler() {},
    setPermissionCheckHandler() {},
    setDevicePermissionHandler() {},
  } satisfies Partial<Record<keyof Electron.Session, unknown>>;
  const app = {
    isPackaged: false,
    whenReady: () => Promise.resolve(),
    requestSingleInstanceLock: () => true,
    setAsDefaultProtocolClient: () => true,
    getPath: () => directory,
    getLoginItemSettings: () => ({ openAtLogin: false, wasOpenedAtLogin: false }),
    getPreferredSystemLanguages: () => ['en'],
    getAppMetrics: () => [],
    quit() {},
    exit() {},
  } satisfies Partial<Record<keyof Electron.App, unknown>>;
  const safeStorage = {
    isAsyncEncryptionAvailable: () => Promise.resolve(true),
    getSelectedStorageBackend: () => 'basic_text',
  } satisfies Partial<Record<keyof Electron.SafeStorage, unknown>>;
  const module = {
    app: fakeEmitter(app),
    // Classes, because they are constructed.
    BrowserWindow: function BrowserWindow(options: Electron.BrowserWindowConstructorOptions) {
      windows.push(options);
      return fakeEmitter(window);
    },
    Tray: function Tray() {
      return fakeEmitter(tray);
    },
    Notification: { isSupported: () => false },
    Menu: { buildFromTemplate: () => ({}), setApplicationMenu() {} },
    clipboard: {},
    dialog: { showErrorBox: (_title: string, text: string) => void errors.push(text) },
    globalShortcut: {
      register: (accelerator: string) => shortcuts.push(accelerator) > 0,
      unregister() {},
    },
    ipcMain: ipc.main,
    nativeImage: { createFromPath: () => ({ setTemplateImage() {} }) },
    nativeTheme: fakeEmitter({ shouldUseDarkColors: false, themeSource: 'system' }),
    net: { isOnline: () => true },
    powerMonitor: fakeEmitter({}),
    protocol: {
      registerSchemesAsPrivileged() {},
      handle: (scheme: string) => void schemes.push(scheme),
    },
    safeStorage,
    screen: { getAllDisplays: () => [] },
    session: { defaultSession: session },
    shell: {},
  } satisfies Partial<Record<keyof typeof Electron, unknown>>;
  return { shortcuts, module, ipc, windows, schemes, urls, tooltips, errors, shown };
}

/* The two ends of Electron's IPC, joined: what the preload invokes reaches what main has registered. */

type Listener = Parameters<IpcMain['handle']>[1];
type Receiver = Parameters<IpcRenderer['on']>[1];

export class FakeIpc {
  readonly handlers = new Map<string, Listener>();
  readonly #receivers = new Map<string, Set<Receiver>>();
  /** the frame that seems to send */
  frame: WebFrameMain | null = null;

  readonly main = {
    handle: (channel: string, listener: Listener) => {
      if (this.handlers.has(channel)) throw new Error(`second handler of ${channel}`);
      this.handlers.set(channel, listener);
    },
  } satisfies Pick<IpcMain, 'handle'>;

  readonly renderer: Pick<IpcRenderer, 'invoke' | 'on' | 'off'> = {
    invoke: (channel: string, payload?: unknown): Promise<unknown> => this.invoke(channel, payload),
    on: (channel: string, receiver: Receiver) => {
      const receivers = this.#receivers.get(channel) ?? new Set();
      this.#receivers.set(channel, receivers.add(receiver));
      return this.renderer as unknown as IpcRenderer;
    },
    off: (channel: string, receiver: Receiver) => {
      this.#receivers.get(channel)?.delete(receiver);
      return this.renderer as unknown as IpcRenderer;
    },
  };

  /** As from {@link FakeIpc.frame}. @throws Error for a channel without a handler */
  async invoke(channel: string, payload?: unknown): Promise<unknown> {
    const listener = this.handlers.get(channel);
    if (listener === undefined) throw new Error(`no handler of ${channel}`);
    return listener({ senderFrame: this.frame } as IpcMainInvokeEvent, payload);
  }

  /** Main sends something to the page. */
  send(channel: string, value: unknown): void {
    const event = { sender: 'not for the page' } as unknown as Parameters<Receiver>[0];
    for (const receiver of this.#receivers.get(channel) ?? []) receiver(event, value);
  }
}

/** An Electron object that emits events; `members` adds whatever else a test needs. */
export function fakeEmitter<T extends object>(members: T): EventEmitter & T {
  return Object.assign(new EventEmitter(), members);
}

/** An event that can be prevented. */
interface FakeEvent {
  isPrevented: boolean;
  preventDefault(): void;
}

export function fakeEvent<T extends object>(members: T): FakeEvent & T {
  const event = {
    ...members,
    isPrevented: false,
    preventDefault: () => void (event.isPrevented = true),
  };
  return event;
}

/** A frame that shows an address. */
export function fakeFrame(url: string): WebFrameMain {
  return { url } satisfies Pick<WebFrameMain, 'url'> as WebFrameMain;
}

/** Runs a bundle as Electron would, with another `electron` module. */
export function loadBundle(file: string, electron: object): void {
  const require = createRequire(file);
  const load = (name: string): unknown => (name === 'electron' ? electron : require(name));
  const names = ['require', 'module', 'exports', '__dirname', '__filename'];
  const run = compileFunction(readFileSync(file, 'utf8'), names, { filename: file });
  const module = { exports: {} };
  run(load, module, module.exports, dirname(file), file);
}
