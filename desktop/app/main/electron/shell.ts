/** The visible part of the app: window, tray and notifications, fed by the core. */
import { join } from 'node:path';
import type * as Electron from 'electron';
import type { Pushes, TunnelForm } from '../../ipc/ipc.ts';
import { t } from '../../messages/translate.ts';
import type { Core } from '../core.ts';
import { findDeepLink, readDeepLink } from '../deep-link.ts';
import { toCallError } from '../failure.ts';
import { GlobalShortcut } from '../global-shortcut.ts';
import { runAsked } from '../handlers/channels.ts';
import { type Notice, trayHint } from '../notices.ts';
import type { Platform } from '../platform.ts';
import { type TrayAction, trayFeed } from '../tray.ts';
import { keptPlace, MainWindow, windowOptions } from './main-window.ts';
import { barColour, TrayIconView, trayImages } from './menus.ts';
import { Notifier } from './notifier.ts';

/** Time that a desktop may take at login until it shows tray icons. */
const TRAY_AT_LOGIN_MS = 30_000;

interface ShellOptions {
  readonly electron: Pick<
    typeof Electron,
    'app' | 'BrowserWindow' | 'Menu' | 'nativeImage' | 'nativeTheme' | 'Notification' | 'screen' | 'Tray'
  >;
  readonly core: Core;
  readonly platform: Pick<Platform, 'clock' | 'tell' | 'report' | 'setTheme' | 'summonKey'>;
  readonly system: NodeJS.Platform;
  /** `$XDG_CURRENT_DESKTOP` */
  readonly desktops: string;
  /** directory of preload and images */
  readonly files: string;
  readonly isQuitting: () => boolean;
}

export class Shell {
  readonly #options: ShellOptions;
  readonly #window: MainWindow;
  readonly #tray: Electron.Tray;
  readonly #notifier: Notifier;
  #endFeed: (() => void) | undefined;

  constructor(options: ShellOptions) {
    this.#options = options;
    const { electron, core, system, files, isQuitting, platform } = options;
    const { BrowserWindow, Menu, nativeImage, nativeTheme, Notification, Tray } = electron;
    this.#notifier = new Notifier({
      create: (notification) => new Notification(notification),
      platform: system,
      isSupported: () => Notification.isSupported(),
      onShow: (key) => this.#showTunnel(key),
      ask: (asked) => this.act(asked),
    });
    const areas = electron.screen.getAllDisplays().map(({ workArea }) => workArea);
    const kept = keptPlace(core.store.data.window, areas);
    this.#window = new MainWindow({
      window: new BrowserWindow(windowOptions(join(files, 'preload.cjs'), join(files, 'icon.png'), kept)),
      hasOwnPlace: kept.x !== undefined,
      onPlace: (window) => this.#inBackground('saving the place', core.store.change({ window })),
      isQuitting,
      now: () => platform.clock.monotonic(),
      onVisible: (isVisible) => this.#onVisible(isVisible),
      onFront: (isInFront) => this.#onFront(isInFront),
      onClose: () => this.#onClose(),
      trayPlace: () => this.#trayPlace(),
    });
    this.#window.loaded.catch((error: unknown) => platform.report('loading the window', error));
    const image = trayImages(files, system, barColour(nativeTheme, system, options.desktops), (path) =>
      nativeImage.createFromPath(path),
    );
    const summon = new GlobalShortcut({
      newest: () => core.chosen.tunnelList.tunnels.find((tunnel) => !tunnel.isEnded)?.key,
      now: () => platform.clock.monotonic(),
      showWindow: () => this.showWindow(),
      showAddress: (address) => this.#showAddress(address),
    });
    platform.summonKey?.pressed.listen(() => summon.press());
    this.#tray = new Tray(image('idle'));
    const view = new TrayIconView({
      tray: this.#tray,
      platform: system,
      image,
      buildMenu: (template) => Menu.buildFromTemplate(template),
      act: (action) => this.act(action),
      onClick: () => this.#window.toggle(),
      onDrop: (paths) => {
        core.drop(paths);
        this.showWindow();
      },
    });
    const tray = trayFeed(core);
    view.show(tray.make());
    tray.listen((model) => view.show(model));
    nativeTheme.on('updated', () => view.repaint());
    platform.setTheme(core.store.data.settings.theme);
  }

  get isVisible(): boolean {
    return this.#window.isVisible;
  }

  /** see {@link MainWindow.frame} */
  get frame(): Electron.WebFrameMain | undefined {
    return this.#window.frame;
  }

  notify(notice: Notice): void {
    this.#notifier.notify(notice);
  }

  /**
   * @param argv what the app was started with: perhaps a link
   * @param isAtLogin whether the system has started it, which shows no window
   */
  begin(argv: readonly string[], isAtLogin: boolean): void {
    const link = findDeepLink(argv);
    if (link !== undefined) this.openLink(link);
    else if (!isAtLogin) this.showWindow();
    else this.#options.platform.clock.setTimeout(() => this.#showUnlessTray(), TRAY_AT_LOGIN_MS);
  }

  showWindow(): void {
    this.#window.show();
  }

  /** Shows what a link asks for, or only the window if it is invalid. */
  openLink(link: string): void {
    const read = readDeepLink(link);
    if (read?.opens === 'form') return this.#openForm(read.form);
    if (read?.opens === 'invitation') this.#options.core.openInvitation(read.address);
    this.showWindow();
  }

  /** Does what the tray, a menu or a notification says. */
  act(action: TrayAction): void {
    const { core, platform } = this.#options;
    if ('do' in action) {
      if (action.do === 'message') return this.#showMessage(action.key);
      return action.do === 'new' ? this.#openForm({}) : this.showWindow();
    }
    // The window shows what can be done with the folder.
    if (action.channel === 'folder:choose' || action.channel === 'project:choose') this.showWindow();
    runAsked(action, core).catch((error: unknown) => {
      const known = toCallError(error);
      platform.tell(known ?? { code: 'internal', text: t('problem.wrong') });
      if (known === undefined) platform.report(`tray: ${action.channel}`, error);
    });
  }

  #showAddress(address: Pushes['address:show']): void {
    this.showWindow();
    this.#inBackground('showing an address', this.#window.push('address:show', address));
  }

  #showTunnel(key: string | undefined): void {
    this.showWindow();
    if (key === undefined) return;
    this.#options.core.chooseFor(key);
    this.#inBackground('showing a tunnel', this.#window.push('tunnel:show', { key }));
  }

  #showMessage(key: string): void {
    this.showWindow();
    this.#options.core.chooseFor(key);
    this.#inBackground('showing a message', this.#window.push('message:show', { key }));
  }

  #openForm(form: Partial<TunnelForm>): void {
    this.showWindow();
    this.#inBackground('opening the form', this.#window.push('form:open', form));
  }

  /** Only a visible window gets every change; one that becomes visible gets the current state. */
  #onVisible(isVisible: boolean): void {
    const { core } = this.#options;
    core.setVisible(isVisible);
    this.#endFeed?.();
    this.#endFeed = undefined;
    if (!isVisible) return;
    this.#endFeed = core.snapshots.listen((snapshot) => this.#push(snapshot));
    this.#push(core.snapshots.make());
  }

  /** The window shows what the notices said. */
  #onFront(isInFront: boolean): void {
    this.#options.core.setInFront(isInFront);
    if (isInFront) this.#notifier.withdraw();
  }

  #push(snapshot: ReturnType<Core['snapshots']['make']>): void {
    this.#inBackground('telling the window', this.#window.push('snapshot:changed', snapshot));
  }

  /** Without a tray icon, a hidden window could not be found again. @returns whether it is hidden */
  #onClose(): boolean {
    const { store, tray, quitRequested } = this.#options.core;
    if (tray.isMissing) {
      quitRequested.emit();
      return false;
    }
    if (!store.data.hasSaidTray) {
      this.#notifier.notify(trayHint());
      this.#inBackground('saving settings', store.change({ hasSaidTray: true }));
    }
    return true;
  }

  #showUnlessTray(): void {
    if (this.#options.core.tray.isMissing) this.showWindow();
  }

  #trayPlace(): { tray: Electron.Rectangle; area: Electron.Rectangle } | undefined {
    const { system, electron } = this.#options;
    if (system === 'linux') return undefined;
    const tray = this.#tray.getBounds();
    return { tray, area: electron.screen.getDisplayMatching(tray).workArea };
  }

  #inBackground(what: string, work: Promise<void>): void {
    work.catch((error: unknown) => this.#options.platform.report(what, error));
  }
}
