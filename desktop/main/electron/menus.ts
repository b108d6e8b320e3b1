/** The menus of the system: what the app has in the menu bar, and what a click with the other button offers. */
import type { App, ContextMenuParams, Menu, MenuItemConstructorOptions } from 'electron';

type BuildMenu = (template: MenuItemConstructorOptions[]) => Pick<Menu, 'popup'>;

/** Without reload and developer tools, which Electron's own menu has. Its keys work on all systems, also where it is hidden. */
export function applicationMenu(platform: NodeJS.Platform): MenuItemConstructorOptions[] {
  return [
    platform === 'darwin' ? { role: 'appMenu' } : { label: '&File', submenu: [{ role: 'quit' }] },
    { role: 'editMenu' },
    { label: '&View', submenu: [{ role: 'resetZoom' }, { role: 'zoomIn' }, { role: 'zoomOut' }] },
    ...(platform === 'darwin' ? [{ role: 'windowMenu' } as const] : []),
  ];
}

/** What can be done with the text under the pointer; nothing if there is none. */
export function contextMenu({
  isEditable,
  selectionText,
  editFlags,
}: Pick<ContextMenuParams, 'isEditable' | 'selectionText' | 'editFlags'>): MenuItemConstructorOptions[] {
  const { canCut, canCopy, canPaste, canSelectAll } = editFlags;
  if (isEditable) {
    return [
      { role: 'cut', enabled: canCut },
      { role: 'copy', enabled: canCopy },
      { role: 'paste', enabled: canPaste },
      { type: 'separator' },
      { role: 'selectAll', enabled: canSelectAll },
    ];
  }
  return selectionText.trim() === '' ? [] : [{ role: 'copy', enabled: canCopy }];
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
