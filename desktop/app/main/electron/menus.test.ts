import assert from 'node:assert/strict';
import type { App, EditFlags, Menu, MenuItemConstructorOptions, NativeImage, Tray } from 'electron';
import { fakeEmitter } from '../../../testing/fake-electron.ts';
import type { TrayAction, TrayModel } from '../tray.ts';
import {
  applicationMenu,
  barColour,
  contextMenu,
  offerContextMenu,
  TrayIconView,
  trayImages,
} from './menus.ts';

const FLAGS: EditFlags = {
  canUndo: false,
  canRedo: false,
  canCut: false,
  canCopy: false,
  canPaste: true,
  canDelete: false,
  canSelectAll: true,
  canEditRichly: false,
};

function roles(template: readonly MenuItemConstructorOptions[]): string[] {
  return template.flatMap(({ role, submenu }) => [
    ...(role === undefined ? [] : [role]),
    ...(Array.isArray(submenu) ? roles(submenu) : []),
  ]);
}

describe('the application menu', () => {
  for (const platform of ['darwin', 'win32', 'linux'] as const) {
    it(`has editing, zoom, folders and projects, but no developer tools, on ${platform}`, () => {
      const asked: string[] = [];
      const menu = applicationMenu(
        platform,
        (action) => void asked.push('channel' in action ? action.channel : action.do),
      );
      const found = roles(menu);
      assert.ok(found.includes('editMenu') && found.includes('zoomIn'), String(found));
      for (const role of ['reload', 'forceReload', 'toggleDevTools', 'viewMenu', 'help'])
        assert.ok(!found.includes(role), role);
      const items = menu.find(({ label }) => label === '&File')?.submenu;
      assert.ok(Array.isArray(items));
      const files = items.slice(0, 2);
      assert.deepEqual(
        files.map(({ label, accelerator }) => [label, accelerator]),
        [
          ['Share a folder…', 'CommandOrControl+Shift+O'],
          ['Open a project…', 'CommandOrControl+O'],
        ],
      );
      for (const { click } of files) (click as (() => void) | undefined)?.();
      assert.deepEqual(asked, ['folder:choose', 'project:choose']);
    });
  }
});

describe('the context menu', () => {
  it('pastes into a field', () => {
    const items = contextMenu({ isEditable: true, selectionText: '', editFlags: FLAGS });
    assert.deepEqual(
      items.filter(({ enabled }) => enabled === true).map(({ role }) => role),
      ['paste', 'selectAll'],
    );
  });

  it('copies the selection outside of fields, and does not open without one', () => {
    const editFlags = { ...FLAGS, canCopy: true };
    assert.deepEqual(roles(contextMenu({ isEditable: false, selectionText: '/order', editFlags })), ['copy']);
    assert.deepEqual(contextMenu({ isEditable: false, selectionText: ' ', editFlags }), []);
  });

  it('opens in every page', () => {
    const app = fakeEmitter({});
    const contents = fakeEmitter({});
    const opened: number[] = [];
    offerContextMenu(app as unknown as App, (template) => ({
      popup: () => void opened.push(template.length),
    }));
    app.emit('web-contents-created', {}, contents);
    contents.emit('context-menu', {}, { isEditable: true, selectionText: '', editFlags: FLAGS });
    contents.emit('context-menu', {}, { isEditable: false, selectionText: '', editFlags: FLAGS });
    assert.deepEqual(opened, [5]);
  });
});

const STOP: TrayAction = { channel: 'tunnel:stop', payload: { key: 'k' } };
const MODEL: TrayModel = {
  icon: 'online',
  tooltip: 'Culvert: 1 tunnel online',
  entries: [
    {
      kind: 'menu',
      label: 'a & b',
      entries: [{ kind: 'action', label: 'Stop', action: STOP }],
    },
    { kind: 'separator' },
    { kind: 'text', label: 'why' },
  ],
};

function setUp(platform: NodeJS.Platform) {
  const seen = {
    images: [] as string[],
    menus: 0,
    acts: [] as TrayAction[],
    clicks: 0,
    popUps: 0,
    drops: [] as string[],
  };
  let template: MenuItemConstructorOptions[] = [];
  const members = {
    setImage: (image: NativeImage | string) => void seen.images.push(image as string),
    setToolTip() {},
    setContextMenu: () => void (seen.menus += 1),
    popUpContextMenu: () => void (seen.popUps += 1),
  } satisfies Partial<Pick<Tray, keyof Tray>>;
  const tray = fakeEmitter(members);
  const view = new TrayIconView({
    tray: tray as unknown as Tray,
    platform,
    image: (icon) => icon as unknown as NativeImage,
    buildMenu(items) {
      template = items;
      return {} as Menu;
    },
    act: (action) => void seen.acts.push(action),
    onClick: () => void (seen.clicks += 1),
    onDrop: (paths) => void seen.drops.push(...paths),
  });
  return { view, tray, seen, template: () => template };
}

describe('TrayIconView', () => {
  it('shows the model, and runs the chosen action', () => {
    const { view, seen, template } = setUp('linux');
    view.show(MODEL);
    const [first, second, third] = template();
    assert.deepEqual([first?.label, second?.type, third?.enabled], ['a && b', 'separator', false]);
    assert.ok(Array.isArray(first?.submenu));
    (first.submenu[0]?.click as (() => void) | undefined)?.();
    assert.deepEqual(seen.acts, [STOP]);
  });

  it('sets a new menu on Linux for each change only, and repaints the icon when the desktop becomes dark', () => {
    const { view, seen } = setUp('linux');
    view.show(MODEL);
    view.show({ ...MODEL });
    assert.equal(seen.menus, 1);
    view.show({ ...MODEL, tooltip: 'other' });
    assert.deepEqual([seen.menus, seen.images], [2, ['online', 'online']]);
    view.repaint();
    assert.deepEqual(seen.images, ['online', 'online', 'online']);
  });

  it('opens the window at a click elsewhere, the menu at a right click, and what is dropped', () => {
    const { view, tray, seen } = setUp('win32');
    view.show(MODEL);
    tray.emit('click');
    tray.emit('right-click');
    tray.emit('drop-files', {}, ['/home/ann/site']);
    assert.deepEqual([seen.clicks, seen.popUps, seen.menus, seen.drops], [1, 1, 0, ['/home/ann/site']]);
  });
});

describe('trayImages', () => {
  it('are for the colour of the bar, and a template on macOS', () => {
    const templates: boolean[] = [];
    const load = (path: string): NativeImage =>
      ({ path, setTemplateImage: (is: boolean) => void templates.push(is) }) as unknown as NativeImage;
    for (const [platform, isDark, icon, path] of [
      ['linux', true, 'idle', '/a/tray-idle-dark.png'],
      ['win32', false, 'online', '/a/tray-online-light.png'],
      ['darwin', true, 'offline', '/a/tray-offline-light.png'],
    ] as const) {
      const image = trayImages('/a', platform, () => isDark, load)(icon);
      assert.equal((image as unknown as { path: string }).path, path);
    }
    assert.deepEqual(templates, [true]);
  });
});

const theme = (app: boolean, bar: boolean) => ({
  shouldUseDarkColors: app,
  shouldUseDarkColorsForSystemIntegratedUI: bar,
  themeSource: 'system' as 'system' | 'light' | 'dark',
});

describe('the colour of the bar', () => {
  for (const [what, app, bar, platform, desktop, isDark] of [
    ['that of the Windows taskbar, whatever theme the app has', false, true, 'win32', '', true],
    ['that of a light Windows taskbar', true, false, 'win32', '', false],
    ['dark on GNOME', false, false, 'linux', 'ubuntu:GNOME', true],
    ['dark on an unknown desktop', false, false, 'linux', '', true],
  ] as const)
    it(`is ${what}`, () => assert.equal(barColour(theme(app, bar), platform, desktop)(), isDark));

  it("is the desktop's on KDE, even while the app has its own theme", () => {
    const plasma = theme(false, false);
    const isDark = barColour(plasma, 'linux', 'KDE');
    assert.equal(isDark(), false);
    plasma.themeSource = 'dark';
    plasma.shouldUseDarkColors = true;
    assert.equal(isDark(), false);
    plasma.themeSource = 'system';
    assert.equal(isDark(), true);
  });
});
