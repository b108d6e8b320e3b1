/** Even if somebody took over the page, it could do nothing: no permissions, no other pages, no further windows. */
import type { App, Session } from 'electron';
import { PAGE_URL } from './page-scheme.ts';

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
