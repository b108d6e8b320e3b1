/** The menu bar, and the context menu of the window. */
import type { App, ContextMenuParams, Menu, MenuItemConstructorOptions } from 'electron';
import { t } from '../../messages/translate.ts';
import type { TrayAction } from '../tray.ts';

/** The channel that gets the folder that the user chooses. */
export type FolderChoice = Extract<TrayAction, { do: 'choose' }>['channel'];

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
 * @param choose asks the user for a folder, to share it or to open the project in it
 */
export function applicationMenu(
  platform: NodeJS.Platform,
  choose: (channel: FolderChoice) => void,
): MenuItemConstructorOptions[] {
  const isMac = platform === 'darwin';
  const folders: MenuItemConstructorOptions[] = [
    {
      label: t('project.openFolder'),
      accelerator: 'CommandOrControl+Shift+O',
      click: () => choose('folder:choose'),
    },
    { label: t('project.open'), accelerator: 'CommandOrControl+O', click: () => choose('project:choose') },
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
