/**
 * The one window, which is hidden, not closed, until the app quits; the scheme that serves its page; and the channels from
 * the page.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  App,
  BrowserWindow,
  BrowserWindowConstructorOptions,
  IpcMain,
  IpcMainInvokeEvent,
  Protocol,
  Rectangle,
  Session,
  WebFrameMain,
} from 'electron';
import { type ErrorWords, refuse } from '../../../client/methods/method.ts';
import type { Pushes } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import { answerPage, CHANNEL_NAMES } from '../handlers/channels.ts';
import { CONTENT_SECURITY_POLICY, readPageFile } from '../page-files.ts';
import type { WindowPlace } from '../settings/app-store.ts';

const PAGE_SCHEME = 'culvert-app';
const PAGE_ORIGIN = `${PAGE_SCHEME}://app`;
export const PAGE_URL = `${PAGE_ORIGIN}/index.html`;
const WINDOW_SIZE = { width: 400, height: 640 };
/** A click on the tray takes the focus from the window before the app hears of it. */
const CLICK_MS = 500;
const SMALLEST = { minWidth: 360, minHeight: 480 };

/** What the window may do: show a page that has no Node and no way out except the preload. */
export function windowOptions(
  preload: string,
  icon: string,
  kept: Partial<Rectangle>,
): BrowserWindowConstructorOptions {
  return {
    ...WINDOW_SIZE,
    ...kept,
    ...SMALLEST,
    title: 'Culvert',
    icon,
    show: false,
    autoHideMenuBar: true,
    fullscreenable: false,
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

interface MainWindowOptions {
  readonly window: BrowserWindow;
  /** Whether the app is ending: then the window closes for good. */
  readonly isQuitting: () => boolean;
  /** ms, from any point in time */
  readonly now: () => number;
  readonly onVisible: (isVisible: boolean) => void;
  /** Whether the user has the window in front of them. */
  readonly onFront: (isInFront: boolean) => void;
  /** The user closes the window. @returns whether the app continues, and the window is only hidden */
  readonly onClose: () => boolean;
  /** whether the user has moved it, after which it stays there */
  readonly hasOwnPlace: boolean;
  /** The window goes out of sight. */
  readonly onPlace: (place: WindowPlace) => void;
  /** bounds of the tray's icon, and of the screen it is on; `undefined` if the system does not report them */
  readonly trayPlace: () => { tray: Rectangle; area: Rectangle } | undefined;
}

export class MainWindow {
  readonly #options: MainWindowOptions;
  readonly #window: BrowserWindow;
  readonly #loaded: Promise<void>;
  #hasOwnPlace: boolean;
  /** when it was left for something else; ms of {@link MainWindowOptions.now} */
  #leftAt = -Infinity;

  constructor(options: MainWindowOptions) {
    this.#options = options;
    this.#window = options.window;
    this.#hasOwnPlace = options.hasOwnPlace;
    const { onVisible, onFront, isQuitting, onClose } = options;
    this.#window.on('close', (event) => {
      if (isQuitting()) {
        this.#keepPlace();
        return;
      }
      event.preventDefault();
      if (onClose()) this.#window.hide();
    });
    const tell = (): void => onVisible(this.isVisible);
    this.#window.on('show', tell);
    this.#window.on('hide', tell);
    this.#window.on('minimize', tell);
    this.#window.on('restore', tell);
    this.#window.on('focus', () => onFront(true));
    this.#window.on('blur', () => {
      this.#leftAt = options.now();
      onFront(false);
    });
    // A window can be hidden without having lost the focus before.
    this.#window.on('hide', () => {
      onFront(false);
      this.#keepPlace();
    });
    this.#window.on('will-move', () => (this.#hasOwnPlace = true));
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

  /**
   * A click on the tray shows the window beside its icon, if the system reports where that is; a second click hides it.
   */
  toggle(): void {
    const wasInFront = this.#window.isFocused() || this.#options.now() - this.#leftAt < CLICK_MS;
    if (this.isVisible && wasInFront) {
      this.#window.hide();
      return;
    }
    const place = this.#options.trayPlace();
    if (place !== undefined && !this.#hasOwnPlace) {
      const { x, y } = besideTray(place.tray, place.area, this.#window.getBounds());
      this.#window.setPosition(x, y);
    }
    this.show();
  }

  #keepPlace(): void {
    const { x, y, width, height } = this.#window.getNormalBounds();
    // Without a tray icon to be beside, the position is the user's.
    const isOwn = this.#hasOwnPlace || this.#options.trayPlace() === undefined;
    this.#options.onPlace(isOwn ? { x, y, width, height } : { width, height });
  }

  /** Sends something to the page, once the page has loaded. */
  async push<P extends keyof Pushes>(push: P, value: Pushes[P]): Promise<void> {
    await this.#loaded;
    if (!this.#window.isDestroyed()) this.#window.webContents.send(push, value);
  }
}

type Size = Pick<Rectangle, 'width' | 'height'>;

/** Between window and tray. */
const GAP = 8;

/**
 * Where a window is placed beside the tray's icon: centred on it, below a bar at the top and above one at the bottom,
 * and always within the screen.
 *
 * @param tray bounds of the icon
 * @param area of the screen without bars
 */
export function besideTray(
  tray: Rectangle,
  area: Rectangle,
  { width, height }: Size,
): { x: number; y: number } {
  const isAtTop = tray.y + tray.height / 2 < area.y + area.height / 2;
  const x = Math.round(tray.x + tray.width / 2 - width / 2);
  const y = isAtTop ? tray.y + tray.height + GAP : tray.y - height - GAP;
  return {
    x: clamp(x, area.x + GAP, area.x + area.width - width - GAP),
    y: clamp(y, area.y + GAP, area.y + area.height - height - GAP),
  };
}

/** What of a window must be on some screen, in px, so that it can be seen and moved. */
const SEEN = 80;

/**
 * The size of a window, and its position unless that is no longer on any screen.
 *
 * @param areas of the screens
 */
export function keptPlace(kept: WindowPlace | undefined, areas: readonly Rectangle[]): Partial<Rectangle> {
  if (kept === undefined) return {};
  const { x, y, width, height } = kept;
  if (x === undefined || y === undefined) return { width, height };
  const isSeen = areas.some(
    (area) =>
      Math.min(x + width, area.x + area.width) - Math.max(x, area.x) >= SEEN &&
      y >= area.y &&
      y <= area.y + area.height - SEEN,
  );
  return isSeen ? { x, y, width, height } : { width, height };
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(value, max));
}

/* Even if somebody took over the page, it could do nothing: no permissions, no other pages, no further windows. */

export type LockableSession = Pick<
  Session,
  'setPermissionRequestHandler' | 'setPermissionCheckHandler' | 'setDevicePermissionHandler'
>;

export function denyPermissions(session: LockableSession): void {
  session.setPermissionRequestHandler((_contents, _permission, answer) => answer(false));
  session.setPermissionCheckHandler(() => false);
  session.setDevicePermissionHandler(() => false);
}

/** For every page there ever is, before it loads anything. */
export function denyNavigation(app: Pick<App, 'on'>): void {
  app.on('web-contents-created', (_event, contents) => {
    contents.setWindowOpenHandler(() => ({ action: 'deny' }));
    contents.on('will-navigate', (event) => {
      if (event.url !== PAGE_URL) event.preventDefault();
    });
    contents.on('will-frame-navigate', (event) => {
      if (event.url !== PAGE_URL || !event.isMainFrame) event.preventDefault();
    });
    contents.on('will-redirect', (event) => event.preventDefault());
    contents.on('will-attach-webview', (event) => event.preventDefault());
  });
}

/** Before the app is ready: an origin like https, so that the policy's `'self'` means it. */
export function registerPageScheme(protocol: Pick<Protocol, 'registerSchemesAsPrivileged'>): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: PAGE_SCHEME, privileges: { standard: true, secure: true, codeCache: true } },
  ]);
}

/** @param directory of the built renderer */
export function servePage(protocol: Pick<Protocol, 'handle'>, directory: string): void {
  protocol.handle(PAGE_SCHEME, (request) => pageFile(request, directory));
}

async function pageFile({ url, method }: Request, directory: string): Promise<Response> {
  const { origin, protocol, host, pathname } = new URL(url);
  // Only Chromium treats the scheme as one with an origin.
  const from = origin === 'null' ? `${protocol}//${host}` : origin;
  const file =
    from === PAGE_ORIGIN && method === 'GET'
      ? await readPageFile((name) => readFile(join(directory, name)), pathname, CONTENT_SECURITY_POLICY)
      : undefined;
  if (file === undefined) return new Response(undefined, { status: 404 });
  return new Response(file.body, { headers: file.headers });
}

interface RegisterChannelsOptions {
  readonly ipc: Pick<IpcMain, 'handle'>;
  readonly core: Core;
  /** Returns the main frame of the app's own window, while there is one. */
  readonly mainFrame: () => WebFrameMain | undefined;
  readonly reportBug: ErrorWords['reportBug'];
}

export function registerChannels({ ipc, core, mainFrame, reportBug }: RegisterChannelsOptions): void {
  for (const channel of CHANNEL_NAMES)
    ipc.handle(channel, (event, sent: unknown) =>
      isFromPage(event, mainFrame())
        ? answerPage(core, channel, sent, reportBug)
        : refuse({ code: 'foreign-sender', text: t('problem.ownWindow') }),
    );
}

/** Exactly the frame of our window, showing our page: what follows the file's name does not matter. */
function isFromPage(
  { senderFrame }: Pick<IpcMainInvokeEvent, 'senderFrame'>,
  mainFrame: WebFrameMain | undefined,
): boolean {
  if (senderFrame === null || senderFrame !== mainFrame) return false;
  return senderFrame.url.split(/[?#]/, 1)[0] === PAGE_URL;
}
