import { join } from 'node:path';
import type { Menu, MenuItemConstructorOptions, NativeImage, NativeTheme, Tray } from 'electron';
import type { TrayAction, TrayEntry, TrayIcon, TrayModel } from '../tray.ts';

export interface TrayIconOptions {
  readonly tray: Pick<Tray, 'setImage' | 'setToolTip' | 'setContextMenu' | 'on' | 'popUpContextMenu'>;
  readonly platform: NodeJS.Platform;
  readonly image: (icon: TrayIcon) => NativeImage;
  readonly buildMenu: (template: MenuItemConstructorOptions[]) => Menu;
  readonly act: (action: TrayAction) => void;
  /** A click on the icon itself. */
  readonly onClick: () => void;
  /** Files or folders were dropped on it; only macOS reports this. */
  readonly onDrop: (paths: readonly string[]) => void;
}

/** The icon in the tray and its menu. On Linux a menu cannot be changed, so each change sets a new one. */
export class TrayIconView {
  readonly #options: TrayIconOptions;
  #shown = '';
  #menu: Menu | undefined;
  #icon: TrayIcon = 'idle';

  constructor(options: TrayIconOptions) {
    this.#options = options;
    const { tray, platform, onClick, onDrop } = options;
    tray.on('click', onClick);
    tray.on('drop-files', (_event, paths) => onDrop(paths));
    // Elsewhere the system opens the menu itself, if it is set for that; here it would swallow the click.
    if (platform !== 'linux') tray.on('right-click', () => tray.popUpContextMenu(this.#menu));
  }

  show(model: TrayModel): void {
    // An open menu closes when it is replaced, so it is replaced only if its contents differ.
    const now = JSON.stringify(model);
    if (now === this.#shown) return;
    this.#shown = now;
    const { tray, platform, image, buildMenu } = this.#options;
    this.#icon = model.icon;
    tray.setImage(image(model.icon));
    tray.setToolTip(model.tooltip);
    this.#menu = buildMenu(model.entries.map((entry) => this.#item(entry)));
    if (platform === 'linux') tray.setContextMenu(this.#menu);
  }

  /** The desktop theme has become light or dark. */
  repaint(): void {
    const { tray, image } = this.#options;
    tray.setImage(image(this.#icon));
  }

  #item(entry: TrayEntry): MenuItemConstructorOptions {
    switch (entry.kind) {
      case 'separator':
        return { type: 'separator' };
      case 'text':
        return { label: label(entry.label), enabled: false };
      case 'action':
        return { label: label(entry.label), click: () => this.#options.act(entry.action) };
      case 'menu':
        return { label: label(entry.label), submenu: entry.entries.map((inner) => this.#item(inner)) };
    }
  }
}

/** A single `&` would underline the letter after it. */
function label(text: string): string {
  return text.replaceAll('&', '&&');
}

/**
 * macOS colours a template image itself; elsewhere there is one for light bars and one for dark bars.
 *
 * @param directory of the images; Electron finds the `@2x` beside each by itself
 */
export function trayImages(
  directory: string,
  platform: NodeJS.Platform,
  isDark: () => boolean,
  load: (path: string) => NativeImage,
): (icon: TrayIcon) => NativeImage {
  return (icon) => {
    if (platform !== 'darwin')
      return load(join(directory, `tray-${icon}-${isDark() ? 'dark' : 'light'}.png`));
    const image = load(join(directory, `tray-${icon}-light.png`));
    image.setTemplateImage(true);
    return image;
  };
}

type Theme = Pick<
  NativeTheme,
  'shouldUseDarkColors' | 'shouldUseDarkColorsForSystemIntegratedUI' | 'themeSource'
>;

/** Desktops on Linux whose bar has the colour of their windows; the bars of the others are dark. */
const BAR_LIKE_WINDOWS: ReadonlySet<string> = new Set(['KDE', 'LXQt']);

/**
 * Whether the bar with the tray is dark. The theme that was chosen for the app's own window says nothing about that.
 *
 * @param desktops `$XDG_CURRENT_DESKTOP`: names with colons between them
 */
export function barColour(theme: Theme, platform: NodeJS.Platform, desktops: string): () => boolean {
  if (platform !== 'linux') return () => theme.shouldUseDarkColorsForSystemIntegratedUI;
  if (!desktops.split(':').some((desktop) => BAR_LIKE_WINDOWS.has(desktop))) return () => true;
  // While the app has its own theme, Electron does not report the desktop's.
  let isDark = theme.shouldUseDarkColors;
  return () => {
    if (theme.themeSource === 'system') isDark = theme.shouldUseDarkColors;
    return isDark;
  };
}
