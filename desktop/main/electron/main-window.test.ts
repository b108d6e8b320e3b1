import assert from 'node:assert/strict';
import type { BrowserWindow, Rectangle } from 'electron';
import { fakeEmitter, fakeEvent } from '../../testing/electron/emitter.ts';
import { MainWindow, windowOptions } from './main-window.ts';
import { PAGE_URL } from './page-scheme.ts';

const TRAY = {
  tray: { x: 900, y: 0, width: 20, height: 20 },
  area: { x: 0, y: 25, width: 1000, height: 775 },
};

function setUp(place: { at: typeof TRAY | undefined } = { at: TRAY }) {
  const state = { visible: false, focused: false, quitting: false };
  const seen = {
    urls: [] as string[],
    visible: [] as boolean[],
    sent: [] as unknown[],
    toTray: 0,
    at: [0, 0],
  };
  const members = {
    loadURL: (url: string) => Promise.resolve(void seen.urls.push(url)),
    isVisible: () => state.visible,
    isFocused: () => state.focused,
    isMinimized: () => false,
    isDestroyed: () => false,
    getBounds: (): Rectangle => ({ x: 0, y: 0, width: 400, height: 640 }),
    setPosition: (x: number, y: number) => void (seen.at = [x, y]),
    restore() {},
    focus: () => void (state.focused = true),
    show() {
      state.visible = true;
      window.emit('show');
    },
    hide() {
      state.visible = false;
      window.emit('hide');
    },
  } satisfies Partial<Pick<BrowserWindow, keyof BrowserWindow>>;
  const window = fakeEmitter({
    ...members,
    webContents: { send: (...sent: unknown[]) => void seen.sent.push(sent), mainFrame: {} },
  });
  const main = new MainWindow({
    window: window as unknown as BrowserWindow,
    isQuitting: () => state.quitting,
    onVisible: (isVisible) => void seen.visible.push(isVisible),
    onClosedToTray: () => void (seen.toTray += 1),
    trayPlace: () => place.at,
  });
  return { main, window, state, seen };
}

describe('MainWindow', () => {
  it('shows the page and nothing else, without Node', () => {
    assert.deepEqual(setUp().seen.urls, [PAGE_URL]);
    const { webPreferences, width, height } = windowOptions('preload.cjs', 'icon.png');
    assert.deepEqual([width, height], [400, 640]);
    assert.equal(webPreferences?.sandbox, true);
    assert.equal(webPreferences.contextIsolation, true);
    assert.equal(webPreferences.nodeIntegration, false);
    assert.equal(webPreferences.webSecurity, true);
    assert.equal(webPreferences.webviewTag, false);
  });

  it('hides instead of closing, until the app quits', () => {
    const { window, state, seen } = setUp();
    const close = fakeEvent({});
    window.emit('close', close);
    assert.deepEqual([close.isPrevented, seen.toTray], [true, 1]);
    state.quitting = true;
    const last = fakeEvent({});
    window.emit('close', last);
    assert.deepEqual([last.isPrevented, seen.toTray], [false, 1]);
  });

  it('reports when it can be seen', () => {
    const { main, window, seen } = setUp();
    main.show();
    window.hide();
    assert.deepEqual(seen.visible, [true, false]);
  });

  it('opens beside the icon of the tray, and hides at a second click', () => {
    const { main, state, seen } = setUp();
    main.toggle();
    assert.deepEqual(seen.at, [592, 33]);
    main.toggle();
    assert.equal(state.visible, false);
  });

  it('stays in its place if the system does not say where the icon is', () => {
    const { main, state, seen } = setUp({ at: undefined });
    main.toggle();
    assert.deepEqual([state.visible, seen.at], [true, [0, 0]]);
  });

  it('sends to the page once that is loaded', async () => {
    const { main, seen } = setUp();
    await main.push('form:open', { port: 3000 });
    assert.deepEqual(seen.sent, [['form:open', { port: 3000 }]]);
  });
});
