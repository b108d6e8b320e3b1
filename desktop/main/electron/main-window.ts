/** The one window. It is hidden, not closed, until the app quits. */
import type { BrowserWindow, BrowserWindowConstructorOptions, Rectangle, WebFrameMain } from 'electron';
import type { Pushes } from '../../shared/ipc.ts';
import { PAGE_URL } from './page-scheme.ts';
import { besideTray } from './place.ts';

export const WINDOW_SIZE = { width: 400, height: 640 };
const SMALLEST = { minWidth: 360, minHeight: 480 };

/** What the window may do: show a page that has no Node and no way out except the preload. */
export function windowOptions(preload: string, icon: string): BrowserWindowConstructorOptions {
  return {
    ...WINDOW_SIZE,
    ...SMALLEST,
    title: 'Culvert',
    icon,
    show: false,
    autoHideMenuBar: true,
    fullscreenable: false,
    maximizable: false,
    webPreferences: {
      preload,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webSecurity: true,
      webviewTag: false,
      spellcheck: false,
      navigateOnDragDrop: false,
      // Time left and counters are updated while the window is behind others.
      backgroundThrottling: true,
    },
  };
}

export interface MainWindowOptions {
  readonly window: BrowserWindow;
  /** Whether the app is ending: then the window closes for good. */
  readonly isQuitting: () => boolean;
  readonly onVisible: (isVisible: boolean) => void;
  /** The user has closed the window, and the app continues. */
  readonly onClosedToTray: () => void;
  /** bounds of the tray's icon, and of the screen it is on; `undefined` if the system does not say */
  readonly trayPlace: () => { tray: Rectangle; area: Rectangle } | undefined;
}

export class MainWindow {
  readonly #options: MainWindowOptions;
  readonly #window: BrowserWindow;
  readonly #loaded: Promise<void>;

  constructor(options: MainWindowOptions) {
    this.#options = options;
    this.#window = options.window;
    const { onVisible, isQuitting, onClosedToTray } = options;
    this.#window.on('close', (event) => {
      if (isQuitting()) return;
      event.preventDefault();
      this.#window.hide();
      onClosedToTray();
    });
    const tell = (): void => onVisible(this.isVisible);
    this.#window.on('show', tell);
    this.#window.on('hide', tell);
    this.#window.on('minimize', tell);
    this.#window.on('restore', tell);
    this.#loaded = this.#window.loadURL(PAGE_URL);
  }

  get isVisible(): boolean {
    return this.#window.isVisible() && !this.#window.isMinimized();
  }

  get frame(): WebFrameMain | undefined {
    return this.#window.isDestroyed() ? undefined : this.#window.webContents.mainFrame;
  }

  /** Rejects when the page could not be loaded. */
  get loaded(): Promise<void> {
    return this.#loaded;
  }

  show(): void {
    if (this.#window.isMinimized()) this.#window.restore();
    this.#window.show();
    this.#window.focus();
  }

  /** A click on the tray: shows the window beside its icon, if the system says where that is; a second click hides it. */
  toggle(): void {
    if (this.isVisible && this.#window.isFocused()) {
      this.#window.hide();
      return;
    }
    const place = this.#options.trayPlace();
    if (place !== undefined) {
      const { x, y } = besideTray(place.tray, place.area, this.#window.getBounds());
      this.#window.setPosition(x, y);
    }
    this.show();
  }

  /** Sends something to the page, once the page has loaded. */
  async push<P extends keyof Pushes>(push: P, value: Pushes[P]): Promise<void> {
    await this.#loaded;
    if (!this.#window.isDestroyed()) this.#window.webContents.send(push, value);
  }
}
