import type { Menu, MenuItemConstructorOptions, NativeImage, Tray } from 'electron';
import type { TrayAction, TrayEntry, TrayIcon, TrayModel } from '../tray/tray-model.ts';

export interface TrayIconOptions {
  readonly tray: Pick<Tray, 'setImage' | 'setToolTip' | 'setContextMenu' | 'on' | 'popUpContextMenu'>;
  readonly platform: NodeJS.Platform;
  readonly image: (icon: TrayIcon) => NativeImage;
  readonly buildMenu: (template: MenuItemConstructorOptions[]) => Menu;
  readonly act: (action: TrayAction) => void;
  /** A click on the icon itself. */
  readonly onClick: () => void;
  /** Files or folders were dropped on it, which only macOS tells. */
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
    // An open menu closes when it is replaced, so it is replaced only if it would say something else.
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
