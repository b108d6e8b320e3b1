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
    it(`has editing and zoom, but no developer tools, on ${platform}`, () => {
      const found = roles(applicationMenu(platform, () => assert.fail('nobody asked')));
      assert.ok(found.includes('editMenu') && found.includes('zoomIn'), String(found));
      for (const role of ['reload', 'forceReload', 'toggleDevTools', 'viewMenu', 'help'])
        assert.ok(!found.includes(role), role);
    });
  }
});

describe('the file menu', () => {
  for (const platform of ['darwin', 'win32', 'linux'] as const) {
    it(`offers to share a folder or open a project, with shortcuts, on ${platform}`, () => {
      const asked: string[] = [];
      const menu = applicationMenu(platform, (channel) => void asked.push(channel));
      const items = menu.find(({ label }) => label === '&File')?.submenu;
      assert.ok(Array.isArray(items));
      const [share, open] = items;
      assert.deepEqual(
        [share, open].map((item) => [item?.label, item?.accelerator]),
        [
          ['Share a folder…', 'CommandOrControl+Shift+O'],
          ['Open a project…', 'CommandOrControl+O'],
        ],
      );
      for (const item of [share, open]) (item?.click as (() => void) | undefined)?.();
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

const MODEL: TrayModel = {
  icon: 'online',
  tooltip: 'Culvert: 1 tunnel online',
  entries: [
    {
      kind: 'menu',
      label: 'a & b',
      entries: [{ kind: 'action', label: 'Stop', action: { do: 'stop', key: 'k' } }],
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
  it('reports dropped files', () => {
    const { tray, seen } = setUp('darwin');
    tray.emit('drop-files', {}, ['/home/ann/site']);
    assert.deepEqual(seen.drops, ['/home/ann/site']);
  });

  it('shows the model, and runs the chosen action', () => {
    const { view, seen, template } = setUp('linux');
    view.show(MODEL);
    assert.deepEqual(seen.images, ['online']);
    const [first, second, third] = template();
    assert.equal(first?.label, 'a && b');
    assert.equal(second?.type, 'separator');
    assert.equal(third?.enabled, false);
    const [stop] = first.submenu as MenuItemConstructorOptions[];
    const click = stop?.click as () => void;
    click();
    assert.deepEqual(seen.acts, [{ do: 'stop', key: 'k' }]);
  });

  it('sets a new menu on Linux for each change, and only then', () => {
    const { view, seen } = setUp('linux');
    view.show(MODEL);
    view.show({ ...MODEL });
    assert.equal(seen.menus, 1);
    view.show({ ...MODEL, tooltip: 'other' });
    assert.equal(seen.menus, 2);
  });

  it('opens the window at a click elsewhere, and the menu at a right click', () => {
    const { view, tray, seen } = setUp('win32');
    view.show(MODEL);
    tray.emit('click');
    tray.emit('right-click');
    assert.deepEqual([seen.clicks, seen.popUps, seen.menus], [1, 1, 0]);
  });

  it('paints the same icon again when the desktop becomes dark', () => {
    const { view, seen } = setUp('linux');
    view.show(MODEL);
    view.repaint();
    assert.deepEqual(seen.images, ['online', 'online']);
  });
});

const pathOf = (image: NativeImage): string => (image as unknown as { path: string }).path;

describe('trayImages', () => {
  it('are for the colour of the bar, and a template on macOS', () => {
    const templates: boolean[] = [];
    const load = (path: string): NativeImage =>
      ({ path, setTemplateImage: (is: boolean) => void templates.push(is) }) as unknown as NativeImage;
    assert.equal(pathOf(trayImages('/a', 'linux', () => true, load)('idle')), '/a/tray-idle-dark.png');
    assert.equal(pathOf(trayImages('/a', 'win32', () => false, load)('online')), '/a/tray-online-light.png');
    assert.equal(
      pathOf(trayImages('/a', 'darwin', () => true, load)('offline')),
      '/a/tray-offline-light.png',
    );
    assert.deepEqual(templates, [true]);
  });
});

const theme = (app: boolean, bar: boolean) => ({
  shouldUseDarkColors: app,
  shouldUseDarkColorsForSystemIntegratedUI: bar,
  themeSource: 'system' as 'system' | 'light' | 'dark',
});

describe('barColour', () => {
  it('is that of the Windows taskbar, whatever theme the app has', () => {
    assert.equal(barColour(theme(false, true), 'win32', '')(), true);
    assert.equal(barColour(theme(true, false), 'win32', '')(), false);
  });

  it('is dark on Linux', () => {
    assert.equal(barColour(theme(false, false), 'linux', 'ubuntu:GNOME')(), true);
    assert.equal(barColour(theme(false, false), 'linux', '')(), true);
  });

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
