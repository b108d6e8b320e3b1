/** The menu bar, the context menu of the window, and the icon in the tray with its menu. */
import { join } from 'node:path';
import type {
  App,
  ContextMenuParams,
  Menu,
  MenuItemConstructorOptions,
  NativeImage,
  NativeTheme,
  Tray,
} from 'electron';
import { t } from '../../messages/translate.ts';
import type { TrayAction, TrayEntry, TrayIcon, TrayModel } from '../tray.ts';

type BuildMenu = (template: MenuItemConstructorOptions[]) => Pick<Menu, 'popup'>;

const SEPARATOR: MenuItemConstructorOptions = { type: 'separator' };

/** Electron knows what a role does on each system, but labels it in English. */
function labelled(role: LabelledRole): MenuItemConstructorOptions {
  return { role, label: t(`menu.${role}`) };
}

type LabelledRole =
  | 'about'
  | 'services'
  | 'hide'
  | 'hideOthers'
  | 'unhide'
  | 'quit'
  | 'undo'
  | 'redo'
  | 'cut'
  | 'copy'
  | 'paste'
  | 'selectAll'
  | 'resetZoom'
  | 'zoomIn'
  | 'zoomOut'
  | 'minimize'
  | 'zoom'
  | 'front';

/** Electron's default menu with translated labels; macOS labels it with the name of the program. */
function macAppMenu(): MenuItemConstructorOptions {
  return {
    role: 'appMenu',
    submenu: [
      labelled('about'),
      SEPARATOR,
      labelled('services'),
      SEPARATOR,
      labelled('hide'),
      labelled('hideOthers'),
      labelled('unhide'),
      SEPARATOR,
      { role: 'quit', label: t('menu.quitCulvert') },
    ],
  };
}

function macWindowMenu(): MenuItemConstructorOptions {
  return {
    role: 'windowMenu',
    label: t('menu.window'),
    submenu: [labelled('minimize'), labelled('zoom'), SEPARATOR, labelled('front')],
  };
}

/**
 * Without the reload and developer tools of Electron's own menu. Its shortcuts work on all systems, even if it is
 * hidden.
 *
 * @param act asks what the same entries of the tray ask
 */
export function applicationMenu(
  platform: NodeJS.Platform,
  act: (action: TrayAction) => void,
): MenuItemConstructorOptions[] {
  const isMac = platform === 'darwin';
  const folders: MenuItemConstructorOptions[] = [
    {
      label: t('project.openFolder'),
      accelerator: 'CommandOrControl+Shift+O',
      click: () => act({ channel: 'folder:choose', payload: undefined }),
    },
    {
      label: t('project.open'),
      accelerator: 'CommandOrControl+O',
      click: () => act({ channel: 'project:choose', payload: undefined }),
    },
  ];
  return [
    ...(isMac ? [macAppMenu()] : []),
    {
      label: t('menu.file'),
      submenu: isMac ? folders : [...folders, SEPARATOR, labelled('quit')],
    },
    {
      role: 'editMenu',
      label: t('menu.edit'),
      submenu: [
        labelled('undo'),
        labelled('redo'),
        SEPARATOR,
        labelled('cut'),
        labelled('copy'),
        labelled('paste'),
        labelled('selectAll'),
      ],
    },
    {
      label: t('menu.view'),
      submenu: [labelled('resetZoom'), labelled('zoomIn'), labelled('zoomOut')],
    },
    ...(isMac ? [macWindowMenu()] : []),
  ];
}

/** Actions for the text under the pointer; empty if there are no actions. */
export function contextMenu({
  isEditable,
  selectionText,
  editFlags,
}: Pick<ContextMenuParams, 'isEditable' | 'selectionText' | 'editFlags'>): MenuItemConstructorOptions[] {
  const { canCut, canCopy, canPaste, canSelectAll } = editFlags;
  if (isEditable) {
    return [
      { ...labelled('cut'), enabled: canCut },
      { ...labelled('copy'), enabled: canCopy },
      { ...labelled('paste'), enabled: canPaste },
      SEPARATOR,
      { ...labelled('selectAll'), enabled: canSelectAll },
    ];
  }
  return selectionText.trim() === '' ? [] : [{ ...labelled('copy'), enabled: canCopy }];
}

/** Gives every page of the app its context menu. */
export function offerContextMenu(app: Pick<App, 'on'>, build: BuildMenu): void {
  app.on('web-contents-created', (_created, contents) => {
    contents.on('context-menu', (_event, params) => {
      const template = contextMenu(params);
      if (template.length > 0) build(template).popup({});
    });
  });
}

interface TrayIconOptions {
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
